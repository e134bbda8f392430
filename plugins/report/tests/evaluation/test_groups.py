"""Metrics by public groups: one histogram for all of them, and what follows from it."""

import re

import numpy as np
import pandas as pd
import pytest

from dpcore import Evaluation, Schema, fit
from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation, Settings
from dpcore.plugin.parts import LocalEngine, Sensitivity
from dpcore_lab.checks import check_query, make_rows
from dpcore_lab.made_tables.tables import make_problem
from dpcore_report.evaluation.group_counts import GroupCounts, GroupMoments
from dpcore_report.evaluation.group_metrics import gap_of, metrics_by_groups
from dpcore_report.evaluation.groups import OTHERS, Groups, groups_of
from dpcore_report.evaluation.prediction_moments import PredictionMoments
from dpcore_report.evaluation.table import Metrics
from dpcore_report.evaluation.text import evaluation_in_words

LOGISTIC, SOFTMAX, SQUARED = (
    Settings(loss=name).make_loss() for name in ("logistic", "softmax", "ridge")
)
ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
W = np.linspace(-2, 2, 5)
GROUPS = Groups("g", (0, 2), ("a", "b", OTHERS))
COLUMNS = {
    "g": {"kind": "categorical", "categories": ["a", "b"]},
    "x": {"kind": "numeric", "lower": 0, "upper": 1},
    "ok": {"kind": "boolean"},
}
LABELS = {
    "classes": {"kind": "label", "classes": ["no", "yes"]},
    "number": {"kind": "label", "lower": 0, "upper": 1},
}


class InAllGroups(GroupCounts):
    """Broken on purpose: a row counts in every group that it has a feature of."""

    def answer_block(self, block):
        whole = super().answer_block(block).reshape(self.shape)
        return (whole + whole.sum(axis=0)).ravel()


class OfOneGroup(GroupMoments):
    """Broken on purpose: states of a row that is replaced what holds within its group, in l1."""

    def sensitivity(self, relation):
        return Sensitivity(self.norm, 9.0, relation, super().sensitivity(relation).grid_bits)


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize(("kind", "loss"), [(GroupCounts, LOGISTIC), (GroupMoments, SQUARED)])
def test_sums_of_groups_are_within_their_sensitivity(kind, loss, norm):
    check_query(lambda problem: kind(problem, W, norm, GROUPS), loss)


@pytest.mark.slow
def test_counts_of_several_classes_are_within_their_sensitivity():
    def made(problem):
        return GroupCounts(problem, np.ones(problem.w_shape) * W, "l2", GROUPS)

    check_query(made, SOFTMAX)


@pytest.mark.slow
@pytest.mark.parametrize("broken", [(InAllGroups, LOGISTIC), (OfOneGroup, SQUARED)])
def test_a_row_of_several_groups_or_half_a_sensitivity_is_caught(broken):
    kind, loss = broken
    with pytest.raises(AssertionError, match="declared l1"):
        check_query(lambda problem: kind(problem, 20 * W, "l1", GROUPS), loss)


@pytest.mark.parametrize(
    ("norm", "relation", "counts", "moments"),
    [("l1", ADD, 1, 7), ("l2", ADD, 1, 7**0.5), ("l1", REPLACE, 2, 14), ("l2", REPLACE, 2, 15)],
)
def test_sensitivities_do_not_grow_with_the_groups(norm, relation, counts, moments):
    rows, roots = make_rows(5, seed=5), norm == "l2" and relation is REPLACE
    for kind, loss, bound in (
        (GroupCounts, LOGISTIC, counts),
        (GroupMoments, SQUARED, moments),
    ):
        made = kind(make_problem(rows, relation, loss), W, norm, GROUPS).sensitivity(relation)
        assert 0 <= made.bound - (bound**0.5 if roots else bound) < 1e-14


def test_groups_are_disjoint_and_together_all_rows():
    rows = make_rows(300, seed=5)
    table, problem = rows.table(), make_problem(rows, ADD, LOGISTIC)
    counts = LocalEngine(table).answer(GroupCounts(problem, W, "l2", GROUPS)) / 2**20
    X, y = rows.X, rows.y
    of = np.where(X[:, 2] > 0, 1, np.where(X[:, 0] > 0, 0, 2))
    said = np.concatenate([block.margins(W) for block in table.blocks]) > 0
    expected = [
        np.sum((of == g) & (y == c) & (said == s))
        for g in range(3)
        for c in (-1, 1)
        for s in (0, 1)
    ]
    assert counts.tolist() == expected and counts.sum() == 300
    numbers = make_problem(rows, ADD, SQUARED)
    parts = LocalEngine(table).answer(GroupMoments(numbers, W, "l2", GROUPS)).reshape(3, -1)
    whole = LocalEngine(table).answer(PredictionMoments(numbers, W))
    assert np.array_equal(parts.sum(axis=0), whole)


def test_the_groups_of_a_column_are_its_public_values():
    schema = Schema.from_dict({"columns": {**COLUMNS, "y": LABELS["classes"]}})
    assert groups_of(schema, "g") == Groups("g", (0, 1), ("a", "b", OTHERS))
    assert groups_of(schema, "ok") == Groups("ok", (3,), ("true", "false"))
    for column in ("x", "y", "nothing"):
        with pytest.raises(InvalidInputError, match=f"feature.*, which '{column}' is not.*: g, ok"):
            groups_of(schema, column)


def test_metrics_without_noise_are_those_of_the_counts():
    counts = np.array([[[80.0, 20], [10, 90]], [[30, 20], [30, 20]], [[0, 0], [0, 0]]])
    groups, asked = Groups("g", (0, 1), ("a", "b", OTHERS)), (1e-9, 1)
    found = metrics_by_groups(counts, groups, ("no", "yes"), asked)
    assert found["accuracy"]["value"] == pytest.approx(220 / 300)
    each = found["by"]["groups"]
    values = {name: metric["value"] for name, metric in each["a"]["figures"].items()}
    assert values == pytest.approx(
        {"accuracy": 0.85, "said yes": 0.55, "recall no": 0.8, "recall yes": 0.9}
    )
    assert {metric["value"] for metric in each[OTHERS]["figures"].values()} == {None}
    gaps = {gap["figure"]: gap for gap in found["by"]["gaps"]}
    assert gaps["accuracy"]["value"] == pytest.approx(0.35)
    assert (gaps["accuracy"]["highest"], gaps["accuracy"]["lowest"]) == ("a", "b")
    # statsmodels 0.15.0: confint_proportions_2indep(170, 200, 50, 100, method="newcomb") has these
    # bounds. This one has a step of the grid of shares, .0005, more on either side.
    newcomb = (0.23868680912464024, 0.45528866304931287)
    assert (gaps["accuracy"]["low"], gaps["accuracy"]["high"]) == pytest.approx(newcomb, abs=1e-3)


def test_a_metric_that_noise_swallows_is_unknown_and_has_no_gap():
    counts = np.array([[[800.0, 200], [100, 900]], [[3.0, 2], [4, 2]]])
    found = metrics_by_groups(counts, Groups("g", (0,), ("a", "b")), ("no", "yes"), (20.0, 1))
    assert found["by"]["groups"]["a"]["figures"]["accuracy"]["value"] is not None
    assert found["by"]["groups"]["b"]["figures"]["accuracy"]["value"] is None
    said = evaluation_in_words(found, private=True)
    lines, (of_b,) = " ".join(said), [line.split() for line in said if line.startswith("    b ")]
    assert of_b[-4:] == ["unknown"] * 4
    assert "Gaps between groups are unknown" in lines and found["by"]["gaps"] == []


def test_the_gap_of_metrics_that_depend_on_each_other_is_wider():
    top, bottom = {"value": 0.8, "low": 0.7, "high": 0.9}, {"value": 0.5, "low": 0.4, "high": 0.6}
    apart, dependent = (gap_of(top, bottom, independent=each) for each in (True, False))
    assert apart["low"] == pytest.approx(0.3 - 0.02**0.5)
    assert dependent["low"] == pytest.approx(0.1) and dependent["high"] == pytest.approx(0.5)


@pytest.mark.slow
def test_intervals_of_gaps_cover():
    # 400 draws of 300 and 150 rows: the share of intervals without the gap is below 5 % plus three
    # of its own deviations, 8.3 %; by the noise alone, which is a tenth of it, it is far above.
    rng, truth, missed, narrow = np.random.default_rng(1), 0.8 - 0.6, 0, 0
    for _ in range(400):
        right = rng.binomial(300, 0.8), rng.binomial(150, 0.6)
        cells = np.array([[[k, n - k], [0, 0]] for k, n in zip(right, (300, 150), strict=True)])
        noisy = cells + rng.normal(0, 2.0, cells.shape)
        groups = Groups("g", (0,), ("a", "b"))
        gap = metrics_by_groups(noisy, groups, ("no", "yes"), (2.0, 1))["by"]["gaps"][0]
        missed += not gap["low"] <= truth <= gap["high"]
        narrow += abs(gap["value"] - truth) > 1.96 * 2.0 * 2**0.5 / 150
    assert missed / 400 < 0.083 < narrow / 400


def rows_of(kind, n=6000):
    rng = np.random.default_rng(0)
    g, x = np.where(rng.random(n) < 0.3, "a", "b"), rng.random(n)
    noise = np.where(g == "a", 1.2, 0.4) * (rng.random(n) - 0.5)
    y = np.clip(x + noise, 0, 1) if kind == "number" else np.where(x + noise > 0.5, "yes", "no")
    frame = pd.DataFrame({"g": g, "x": x, "ok": x > 0.3, "y": y})
    return frame, {"columns": {**COLUMNS, "y": LABELS[kind]}, "rows": n // 2}


@pytest.mark.parametrize("kind", LABELS)
def test_a_run_releases_them_once_for_its_share(kind):
    frame, schema = rows_of(kind)
    words = {"schema": schema, "epsilon": 8.0, "delta": 1e-6, "algo": "dp-gd", "seed": 1}
    words["loss"] = "ridge" if kind == "number" else "logistic"
    also = [Evaluation(share=0.3, test_fraction=0.5, by="g")]
    model = fit(frame, **words, also=also)
    last = model.ledger[-1]
    assert (last["kind"], last["count"]) == ("evaluation", 1)
    assert last["cost"] == pytest.approx(0.3 * model.privacy["budget"], rel=1e-6)
    by = model.evaluation["by"]
    assert [*by["groups"]] == ["a", "b", OTHERS]
    name, worse = ("rmse", "a") if kind == "number" else ("accuracy", "b")
    gap = next(each for each in by["gaps"] if each["figure"] == name)
    assert gap["highest"] == worse and gap["low"] > 0
    rows = [each["rows"]["value"] for each in by["groups"].values()]
    assert sum(rows) == pytest.approx(3000, abs=300) and rows[0] == pytest.approx(900, abs=150)
    lines = Evaluation.of(model).lines
    assert any(re.fullmatch(rf"  Gap in {name}, . over .: .*", line) for line in lines)


def test_a_column_without_groups_is_refused_before_a_charge():
    frame, schema = rows_of("classes", 200)
    with pytest.raises(
        InvalidInputError, match=r"--evaluate-by .*which 'x' is not; these are: g, ok"
    ) as refused:
        fit(frame, schema=schema, also=[Evaluation(share=0.2, test_fraction=0.5, by="x")])
    assert not hasattr(refused.value, "__notes__")


def test_groups_alone_ask_for_no_metrics():
    with pytest.raises(InvalidInputError, match="Expected a share of the budget"):
        Evaluation(by="g", test_fraction=0.5)


def cells_below(lines, head):
    """Return what stands below a head in a table of text, line by line."""
    (top,) = [at for at, line in enumerate(lines) if head in line]
    start = lines[top].index(head)
    return [line[start:] for line in lines[top + 1 :]]


def test_groups_are_a_table_whose_cells_stand_below_their_heads():
    counts = np.array([[[80.0, 20], [10, 90]], [[30, 20], [30, 20]]])
    odd = "a group\x1b"
    found = metrics_by_groups(counts, Groups("g", (0,), (odd, "b")), ("no", "yes"), (1e-9, 1))
    lines = [line for line in evaluation_in_words(found, private=True) if line.startswith("    ")]
    assert lines[1].startswith(r"    a group\x1b  200 [200, 200]  85.0 %")
    for head, first in (("accuracy", "85.0 % ["), ("recall yes", "90.0 % ["), ("said", "55.0 % [")):
        assert cells_below(lines, head)[0].startswith(first)
    # Of five classes there are more metrics than groups: a line for each metric.
    several = metrics_by_groups(
        np.full((2, 5, 5), 40.0), Groups("g", (0,), ("a", "b")), tuple("vwxyz"), (1e-9, 1)
    )
    lines = [line for line in evaluation_in_words(several, private=True) if line[:4] == "    "]
    assert lines[0].split() == ["g", "a", "b"] and len(lines) == 2 + 1 + 5 + 5
    assert lines[2].startswith("    accuracy    20.0 % [")
    # Of many of both: a part for every five columns, and all names of rows in each.
    names, many = tuple("abcdefg"), np.full((7, 5, 5), 40.0)
    wide = metrics_by_groups(many, Groups("g", range(6), names), tuple("vwxyz"), (1e-9, 1))
    lines = [line for line in evaluation_in_words(wide, private=True) if line[:4] == "    "]
    assert [line.split() for line in lines if line.startswith("    g ")] == [
        ["g", *"abcde"],
        ["g", *"fg"],
    ]
    assert len(lines) == 2 * (2 + 1 + 5 + 5) and max(map(len, lines)) < 140


def test_metrics_are_a_frame_with_a_row_for_each():
    counts = np.array([[[800.0, 200], [100, 900]], [[3.0, 2], [4, 2]]])
    found = metrics_by_groups(counts, Groups("g", (0,), ("<a>", "b")), ("no", "yes"), (20.0, 1))
    metrics = Metrics(found)
    frame = metrics.to_frame()
    assert [*frame.columns] == ["group", "figure", "of", "value", "low", "high"]
    at = frame.set_index(["group", "figure"])["value"]
    assert at["<a>", "accuracy"] == found["by"]["groups"]["<a>"]["figures"]["accuracy"]["value"]
    assert np.isnan(at["b", "accuracy"])
    recall = frame[(frame["figure"] == "recall") & (frame["of"] == "yes")]
    assert recall["low"].item() == found["recall"]["yes"]["low"]
    text = metrics._repr_html_()
    assert "<td>&lt;a&gt;</td><td>accuracy</td>" in text and "<td>unknown</td>" in text
