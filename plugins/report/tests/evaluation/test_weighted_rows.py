"""Sums over weighted rows held out: a row counts its part of the largest weight, and no more."""

from dataclasses import replace

import numpy as np
import pytest

from dpcore import Evaluation, Weights, fit
from dpcore.plugin import NeighboringRelation, Settings
from dpcore.plugin.parts import LocalEngine
from dpcore_lab.checks import make_rows
from dpcore_lab.made_tables.tables import make_problem
from dpcore_report.evaluation.class_counts import ClassCounts
from dpcore_report.evaluation.group_counts import GroupCounts, GroupMoments
from dpcore_report.evaluation.groups import OTHERS, Groups
from dpcore_report.evaluation.prediction_moments import PredictionMoments
from dpcore_report.evaluation.score_counts import ScoreCounts
from dpcore_report.evaluation.text import evaluation_in_words

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
LARGEST, STEPS = 4.0, 2.0**20
TWO = np.linspace(-2, 2, 5)
THREE = np.stack([TWO, TWO[::-1], np.zeros(5)])
GROUPS = {"groups": Groups("g", (0, 2), ("a", "b", OTHERS))}
QUERIES = [
    (ScoreCounts, "logistic", TWO, {}),
    (ClassCounts, "softmax", THREE, {}),
    (GroupCounts, "softmax", THREE, GROUPS),
    (GroupCounts, "logistic", TWO, GROUPS),
    (PredictionMoments, "ridge", TWO, {}),
    (GroupMoments, "ridge", TWO, GROUPS),
]
EACH = pytest.mark.parametrize(("kind", "loss", "w", "given"), QUERIES)


class Uncut(ScoreCounts):
    """Broken on purpose: a row counts what its weight says, however large that is."""

    def _counts(self, block):
        return np.ldexp(block.y["weight"] / self.largest_weight, 20).astype(np.int64)


def answered(rows, kind, loss, w, given, largest=LARGEST, relation=ADD, norm="l2"):
    """Return the sums of rows, and what one row is said to move them by at most."""
    problem = make_problem(rows, relation, Settings(loss=loss).make_loss())
    query = kind(problem, w, norm, largest_weight=largest, **given)
    return LocalEngine(rows.table()).answer(query) / STEPS, query.sensitivity(relation).bound


def weighted(loss, weights):
    rows = make_rows(len(weights), seed=5, n_classes=3 if loss == "softmax" else 2)
    return replace(rows, weights=weights)


@EACH
def test_rows_of_the_largest_weight_count_once_and_others_their_part(kind, loss, w, given):
    rows = weighted(loss, np.full(60, LARGEST))
    whole, _ = answered(replace(rows, weights=None), kind, loss, w, given, None)
    assert (answered(rows, kind, loss, w, given)[0] == whole).all() and whole.any()
    half, _ = answered(replace(rows, weights=rows.weights / 2), kind, loss, w, given)
    assert half == pytest.approx(whole / 2, abs=60 / STEPS)
    parts = np.random.default_rng(2).uniform(0, LARGEST, 60)
    total, _ = answered(replace(rows, weights=parts), kind, loss, w, given)
    single = [
        answered(replace(rows.take(np.array([at])), weights=None), kind, loss, w, given, None)[0]
        for at in range(60)
    ]
    assert total == pytest.approx(parts / LARGEST @ np.array(single), abs=120 / STEPS)


@EACH
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_no_row_moves_more_than_is_stated_whatever_its_weight(kind, loss, w, given, norm):
    # Some weights are beyond the bound, as no data set has them.
    rows = weighted(loss, np.linspace(0, 1.5 * LARGEST, 30))
    asked = {"kind": kind, "loss": loss, "w": w, "given": given, "norm": norm}
    found = [answered(rows.take(np.array([at])), **asked) for at in range(30)]
    order = 1 if norm == "l1" else 2
    moved = [np.linalg.norm(each, order) for each, _ in found]
    assert 0.4 < max(moved) <= found[0][1]
    pairs = [np.linalg.norm(one - other, order) for one, _ in found for other, _ in found]
    stated = answered(rows, **asked, relation=REPLACE)[1]
    assert max(moved) <= max(pairs) <= stated


def test_a_row_that_counts_its_whole_weight_is_caught():
    rows = weighted("logistic", np.array([1.5 * LARGEST]))
    sums, stated = answered(rows, Uncut, "logistic", TWO, {})
    assert np.linalg.norm(sums) > stated
    sums, stated = answered(rows, ScoreCounts, "logistic", TWO, {})
    assert np.linalg.norm(sums) == stated == 1


def test_the_count_of_a_row_that_is_replaced_has_a_width_of_its_own():
    rows = weighted("ridge", np.full(9, LARGEST))
    for largest, of_l1, of_l2 in ((None, 9.0, 15**0.5), (LARGEST, 10.0, 4.0)):
        given = replace(rows, weights=None) if largest is None else rows
        asked = given, PredictionMoments, "ridge", TWO, {}, largest, REPLACE
        stated = [answered(*asked, norm)[1] for norm in ("l1", "l2")]
        assert stated == pytest.approx([of_l1, of_l2])
    asked = rows, GroupMoments, "ridge", TWO, GROUPS, LARGEST, REPLACE
    assert [answered(*asked, norm)[1] for norm in ("l1", "l2")] == pytest.approx([14.0, 4.0])


def test_weights_are_not_left_out_by_mistake():
    rows = weighted("logistic", np.ones(5))
    with pytest.raises(TypeError):
        answered(rows, ScoreCounts, "logistic", TWO, {}, None)


@pytest.mark.parametrize("weight", [{}, {"largest_weight": 2.0}])
def test_sums_of_weights_are_not_called_rows(weight):
    of = {"value": 0.5, "low": 0.25, "high": 0.75}
    groups = {"column": "sex", "gaps": [], "groups": {"f": {"rows": of, "figures": {"recall": of}}}}
    named = dict.fromkeys(("held_out_rows", "accuracy", "constant_accuracy"), of)
    bins = [{"from": 0, "to": 0.1, "rows": of, "came_true": of}]
    told = {"constant_class": "no", "recall": {}, "verdict": "", "calibration": bins, "by": groups}
    _, _, of_bin, _, heads, *_ = evaluation_in_words({**named, **told, **weight}, private=True)
    unit = "times the largest weight" if weight else "rows"
    assert f"{unit}, came true" in of_bin and unit in heads
    assert ("rows" in of_bin + heads) != bool(weight)


@pytest.mark.slow
@pytest.mark.parametrize("real", [False, True])
def test_a_fit_of_weighted_rows_has_metrics_of_weighted_rows(real):
    # Half of the rows say the contrary, and weigh nothing.
    X = np.random.default_rng(2).random((8000, 1))
    y = (X[:, 0] if real else X[:, 0] > 0.5).astype(float)
    y[4000:] = 1 - y[4000:]
    weights = Weights(np.repeat([1.0, 0.0], 4000), bound=2.0)
    label = {"target_bounds": (0, 1)} if real else {"classes": (0, 1)}
    model = fit(
        *(X, y),
        **{"bounds": (0, 1), "row_norm": None, **label},
        sample_weight=weights,
        epsilon=400.0,
        also=[Evaluation(share=0.3, test_fraction=0.5)],
    )
    data, lines = Evaluation.of(model).data, Evaluation.of(model).lines
    assert data["largest_weight"] == 2.0
    assert lines[0].startswith("On rows held out that weigh ")
    assert "times the largest weight, 2, released" in lines[0]
    assert data["held_out_rows"]["value"] == pytest.approx(1000, abs=100)
    assert data["r2" if real else "accuracy"]["low"] > 0.8
    assert sum(model.privacy["releases"].values()) > 1 and model.privacy["private"]
