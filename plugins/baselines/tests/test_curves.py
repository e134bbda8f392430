"""Hats that a run counts or leaves out: the rule, the moments without them, and fits."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dpcore import Calibration, Evaluation, Intervals, OneVsRest, Schema, Unit, fit
from dpcore.plugin import InvalidInputError, NeighboringRelation, Problem
from dpcore.plugin.parts import LocalEngine, Table, dataset_from_arrays, load_registry
from dpcore_baselines.descent.curves import Curves
from dpcore_baselines.dp_gd import DpGd
from dpcore_baselines.losses.hinge import HingeSvm
from dpcore_baselines.losses.quantile import Quantile
from dpcore_baselines.queries.kept_columns import KeptColumns
from dpcore_baselines.queries.moments import ColumnMoments
from dpcore_baselines.queries.standardization import Standardization
from dpcore_baselines.queries.standardized import StandardizedGradientSum
from dpcore_lab.checks import check_query
from dpcore_tables.schemas import with_curves
from dpcore_tables.store import convert

RELATION = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
PROBLEM = Problem(
    HingeSvm(),
    0.0,
    20,
    2.0,
    2.0,
    RELATION,
    numbers=(0, 9),
    curves=((1, 8), (10, 8)),
    intercept=True,
)


@pytest.mark.parametrize(
    ("n", "u", "used"), [(1e5, 40.1, True), (1e5, 39.9, False), (1999, 200.0, False)]
)
def test_the_rule_asks_for_signal_and_rows(n, u, used):
    mu = u / n * math.sqrt(20)
    assert Curves.of(PROBLEM, n, mu).are_used is used
    assert Curves.of(PROBLEM, n, mu, "all").are_used
    assert not Curves.of(PROBLEM, n, mu, "none").are_used
    assert not Curves.of(replace(PROBLEM, curves=()), n, mu, "all").are_used


def selection(width, absent):
    scales = np.full(width, 64)
    scales[list(absent)] = 0
    return Standardization(scales, np.zeros(width, dtype=np.int64), None)


@pytest.mark.slow
def test_moments_without_some_columns_keep_their_sensitivity():
    check_query(lambda p: ColumnMoments(p, 0.5, 1.0, selection(p.n_features, [0])))


def test_columns_that_were_left_out_of_lengths_alone_would_be_caught(monkeypatch):
    def with_all(self, block):
        counted, kept = self.counted, replace(self, counted=None)
        object.__setattr__(kept, "counted", counted)
        norms = block.standardized_norms(counted)
        object.__setattr__(kept, "counted", None)
        c = np.minimum(1.0, self.clip / np.maximum(math.sqrt(2) * norms, 1e-9))
        sums = np.concatenate([block.weighted_sum(c), block.weighted_moments(c)])
        return np.ldexp(sums, 16 + self.bits).astype(np.int64)

    monkeypatch.setattr(ColumnMoments, "answer_block", with_all)
    with pytest.raises(AssertionError):
        check_query(lambda p: ColumnMoments(p, 0.25, 1.0, selection(p.n_features, [0])))


def test_sums_without_hats_are_those_of_rows_that_have_none():
    rng = np.random.default_rng(0)
    X = np.trunc(np.ldexp(rng.random((200, 20)), 14)) / 2.0**16
    bounds = {"row_norm": 2.0, "raw_norm_bound": 2.0, "capacity": 1000}
    lines = Curves.of(replace(PROBLEM, intercept=False, capacity=1000), 1e5, 0.0, "none")
    rest = [0, 9, 18, 19]
    assert lines.kept.tolist() == rest and lines.counted.numbers == (0, 1)
    table = Table.from_matrix(X, np.ones(200), **bounds)
    few = LocalEngine(Table.from_matrix(X[:, rest], np.ones(200), **bounds))
    got = LocalEngine(table).answer(lines.moments(0.3, 1.0))
    # Norms of a map are bounded a little more loosely, by 2^-28.
    assert np.allclose(got, few.answer(ColumnMoments(lines.counted, 0.3)), rtol=1e-6)
    columns = Standardization(np.full(4, 128), np.zeros(4, dtype=np.int64), None)
    asked = np.array([0.5, -1, 0.25, 0]), columns, 0.2, 1.0
    gradients = lines.gradients(StandardizedGradientSum, *asked)
    alone = StandardizedGradientSum(lines.counted, *asked)
    assert gradients.start().shape == (4,) and gradients.kind == alone.kind
    assert np.allclose(LocalEngine(table).answer(gradients), few.answer(alone), rtol=1e-6)


@pytest.mark.slow
def test_some_coordinates_of_a_sum_keep_its_sensitivity():
    check_query(lambda p: KeptColumns(ColumnMoments(p, 0.5, 1.0), (0,)))


def test_more_than_a_projection_of_a_sum_would_be_caught(monkeypatch):
    monkeypatch.setattr(KeptColumns, "_of", lambda self, answer: 2 * answer)
    with pytest.raises(AssertionError):
        check_query(lambda p: KeptColumns(ColumnMoments(p, 0.5, 1.0), (0,)))


def test_a_map_that_is_no_selection_is_refused():
    for scales in ([64, 128], [64, 65]):
        map_ = Standardization(np.array(scales), np.zeros(2, dtype=np.int64), None)
        with pytest.raises(InvalidInputError, match="takes columns as they are or not"):
            ColumnMoments(replace(PROBLEM, n_features=2, numbers=(), curves=()), 1.0, 1.0, map_)


def test_the_columns_that_count_have_the_facts_of_a_schema_without_knots():
    counted = Curves.of(PROBLEM, 1e5, 0.0, "none").counted
    assert (counted.n_features, counted.numbers, counted.curves) == (4, (0, 1), ())
    assert counted.raw_norm_bound == math.sqrt(2)
    assert Curves.of(PROBLEM, 1e5, 0.0, "all").counted is PROBLEM
    columns = Standardization(np.full(20, 128), np.zeros(20, dtype=np.int64), None)
    assert Curves(PROBLEM, 100.0, True).width(columns, 9.0) == 20
    scales = {u: set(Curves(PROBLEM, u, True).scales[1:9]) for u in (40.0, 45.0, 60.0, 1e3)}
    assert scales == {40.0: {1 / 3}, 45.0: {0.5}, 60.0: {1.0}, 1e3: {1.0}}
    assert set(Curves(PROBLEM, 45.0, True).scales[[0, 9, 18, 19]]) == {1.0}
    assert set(Curves(PROBLEM, 45.0, True, "all").scales) == {1.0}
    assert Curves(PROBLEM, 100.0, True).details() == {"curves": 2, "u_with_hats": 100.0}
    assert Curves(replace(PROBLEM, curves=()), 100.0, False).details() == {}


@pytest.mark.parametrize(
    ("facts", "asked", "may"),
    [
        ({}, "auto", True),
        ({}, "none", False),
        ({"numbers": ()}, "auto", False),
        ({"numbers": ()}, "all", True),
        ({"row_norm": 1.0}, "auto", False),
        ({"row_norm": 1.0}, "all", True),
        ({"rows_per_unit": 2}, "auto", False),
        ({"rows_per_unit": 2}, "all", True),
        ({"one_vs_rest": True}, "auto", False),
        ({"n0": 1999}, "auto", False),
        ({"n0": 2000}, "auto", True),
        ({"n0": 10**6, "loss": Quantile()}, "auto", False),
        ({"n0": 10**6, "loss": Quantile()}, "all", True),
    ],
)
def test_hats_that_nobody_chose_are_for_what_was_tried(facts, asked, may):
    problem, optimizer = replace(PROBLEM, curves=(), **facts), DpGd(curves=asked)
    # u is 42.9 and 35.8 with 2,000 rows and 20 columns.
    budget = load_registry().load("accountant", "gdp").of_native_budget(0.096, 1e-6)
    assert optimizer.takes_curves(problem, budget) is may
    less = load_registry().load("accountant", "gdp").of_native_budget(0.08, 1e-6)
    assert not DpGd().takes_curves(replace(problem, n0=2000), less)


def bent_rows(n, seed=0):
    x, z = np.random.default_rng(seed).random((2, n))
    return pd.DataFrame({"x": x, "z": z, "y": (np.abs(x - 0.5) < 0.25).astype(int)})


COLUMNS = {name: {"kind": "numeric", "lower": 0, "upper": 1.25} for name in "xz"}
LINES = Schema.from_dict({"columns": COLUMNS | {"y": {"kind": "label", "classes": [0, 1]}}})
CURVES = with_curves(LINES)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["logistic", "hinge-svm", "huber-svm"])
def test_curves_fit_what_lines_cannot(loss):
    rows = bent_rows(4000)
    options = {"loss": loss, "epsilon": 5.0, "delta": 1e-6, "seed": 3}
    scores = []
    for params in ({}, {"curves": "none"}):
        model = fit(rows, schema=CURVES, params=params, **options)
        scores.append(np.mean((model.decision_function(rows) > 0) == (rows["y"] == 1)))
    assert scores[0] > 0.93
    assert scores[1] < 0.62


@pytest.mark.parametrize("words", [{}, {"relation": "replace-one"}, {"n0": 1000}])
def test_a_run_that_leaves_hats_out_is_that_of_lines(words):
    rows, schema = bent_rows(1000), replace(LINES, rows=words.pop("n0", None))
    given = {"epsilon": 0.5, "delta": 1e-6, "seed": 3, **words}
    model = fit(rows, schema=schema, **given)
    plain = fit(rows, schema=schema, params={"curves": "none"}, **given)
    assert model.w.tolist() == plain.w.tolist() and model.schema == plain.schema == schema
    assert (model.status, dict(model.details)) == (plain.status, dict(plain.details))
    assert model.ledger == plain.ledger
    knots = fit(rows, schema=with_curves(schema), **given)
    assert knots.w[knots.w != 0].tolist() == plain.w.tolist()


def test_numbers_are_curves_where_nobody_chose_it():
    rows = bent_rows(4000)
    model = fit(rows, schema=LINES, epsilon=5.0, delta=1e-6, seed=3)
    assert model.schema == CURVES
    assert "2 numeric columns have curves, since the signal" in model.status
    knots = fit(rows, schema=CURVES, epsilon=5.0, delta=1e-6, seed=3)
    assert model.w.tolist() == knots.w.tolist()
    assert np.mean(model.predict(rows) == rows["y"]) > 0.93


def test_the_choice_is_one_of_three():
    with pytest.raises(InvalidInputError, match="Expected curves='some'"):
        DpGd(curves="some")


def real_rows(n, seed=0):
    x, z = np.random.default_rng(seed).random((2, n))
    return pd.DataFrame({"x": x, "z": z, "y": np.abs(x - 0.5) * 2})


def test_numbers_to_predict_follow_curves_or_are_refused():
    columns = COLUMNS | {"y": {"kind": "label", "lower": 0, "upper": 1}}
    schema = with_curves(Schema.from_dict({"columns": columns}))
    rows, options = real_rows(4000), {"epsilon": 5.0, "delta": 1e-6, "seed": 3}
    model = fit(rows, schema=schema, algo="dp-gd", **options)
    # Lines explain nothing of a target that falls and rises again.
    assert np.corrcoef(model.predict(rows), rows["y"])[0, 1] > 0.9
    with pytest.raises(InvalidInputError, match="gram-ridge fits lines"):
        fit(rows, schema=schema, **options)


def test_several_classes_follow_curves():
    rows = bent_rows(3000)
    rows["y"] = np.where(rows["x"] < 0.3, "low", np.where(rows["x"] < 0.7, "mid", "top"))
    columns = COLUMNS | {"y": {"kind": "label", "classes": ["low", "mid", "top"]}}
    schema = with_curves(Schema.from_dict({"columns": columns}))
    model = fit(rows, schema=schema, epsilon=5.0, delta=1e-6, seed=3)
    assert "2 numeric columns have curves" in model.status
    assert np.mean(model.predict(rows) == rows["y"]) > 0.9


@pytest.mark.some_fast
@pytest.mark.parametrize("params", [{}, {"clip_unit": True}, {"curves": "none"}])
def test_units_and_weights_take_knots_as_they_take_columns(params):
    rows = bent_rows(6000).assign(who=np.arange(6000) // 2)
    schema = CURVES.with_units("who", 2)
    options = {"epsilon": 8.0, "delta": 1e-6, "seed": 3, "params": params}
    odds = fit(rows, schema=schema, **options).decision_function(rows)
    is_right = np.mean((odds > 0) == (rows["y"] == 1))
    assert is_right > 0.9 if params != {"curves": "none"} else is_right < 0.65
    if "clip_unit" not in params:
        rows = rows.drop(columns="who")
        weighted = fit(rows, schema=CURVES, class_weight={"1": 2.0}, **options)
        assert len(weighted.status) > 0 and weighted.details["curves"] == 2 * (not params)


def test_rows_held_out_are_scored_with_the_curves_of_the_model():
    rows = bent_rows(6000)
    also = [Evaluation(share=0.2, test_fraction=0.3), Calibration(share=0.05)]
    given = {"schema": LINES, "epsilon": 8.0, "delta": 1e-6, "seed": 3}
    model = fit(rows, also=also, **given)
    assert model.schema == CURVES and "curves" in model.status
    exact = 100 * np.mean(model.predict(rows) == rows["y"])
    assert 100 * model.evaluation["accuracy"]["value"] == pytest.approx(exact, abs=3.0)


@pytest.mark.some_fast
@pytest.mark.parametrize(
    "words",
    [
        {"also": [Intervals(share=0.3)]},
        {"loss": OneVsRest("logistic")},
        {"class_weight": {"1": 2.0}},
        {"unit": Unit("who", rows=2)},
        {"algo": "dp-agd"},
        {"row_norm": 0.5},
    ],
)
def test_runs_whose_numbers_stay_lines(words):
    rows = bent_rows(4000).assign(who=np.arange(4000))
    rows = rows if "unit" in words else rows.drop(columns="who")
    schema = replace(LINES, norm=words.pop("row_norm", None))
    if "loss" in words:
        rows["y"] = np.where(rows["x"] < 0.3, "low", np.where(rows["x"] < 0.7, "mid", "top"))
        label = {"y": {"kind": "label", "classes": ["low", "mid", "top"]}}
        schema = Schema.from_dict({"columns": COLUMNS | label})
    model = fit(rows, schema=schema, epsilon=8.0, delta=1e-6, seed=3, **words)
    assert model.schema.n_features == 3
    # What a step costs was not said: accuracy fell by 18 points beside intervals.
    is_said = "Numbers are straight lines beside the step intervals." in model.status
    assert is_said == ("also" in words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"also": [Intervals(share=0.3)]}, "the run has the step intervals"),
        ({"class_weight": "balanced"}, "the run has the step balanced"),
        ({"columns": dict.fromkeys("xz", COLUMNS["x"] | {"upper": 1})}, "other than 0 and 1"),
        ({"row_norm": 0.5}, r"scaled down to a length of 0.5 \(row_norm\), where .* 1.732 long"),
    ],
)
def test_curves_that_were_asked_for_and_cannot_be_had_are_refused(words, said):
    label = {"y": {"kind": "label", "classes": [0, 1]}}
    schema = Schema.from_dict({"columns": COLUMNS | words.pop("columns", {}) | label})
    schema = replace(schema, norm=words.pop("row_norm", None))
    given = {"schema": schema, "epsilon": 8.0, "params": {"curves": "all"}}
    with pytest.raises(InvalidInputError, match=f"There are no curves where .*{said}.* leave out"):
        fit(bent_rows(50), **given, **words)


def test_an_array_whose_rows_are_scaled_down_has_no_curves_by_wish():
    rows = bent_rows(50)
    given = {"classes": (0, 1), "bounds": (0, 1.25), "epsilon": 8.0, "params": {"curves": "all"}}
    with pytest.raises(InvalidInputError, match="scaled down to a length of 1 "):
        fit(rows[["x", "z"]].to_numpy(), rows["y"].to_numpy(), **given)
    model = fit(rows[["x", "z"]].to_numpy(), rows["y"].to_numpy(), row_norm=None, **given)
    assert model.schema.n_features == 19


def test_a_store_and_an_array_take_the_curves_of_a_frame(tmp_path):
    rows = bent_rows(4000)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    convert(tmp_path / "rows.csv", tmp_path / "rows.dpcore", schema=LINES)
    given = {"epsilon": 5.0, "delta": 1e-6, "seed": 3}
    frame = fit(rows, schema=LINES, **given)
    stored = fit(str(tmp_path / "rows.dpcore"), **given)
    bounds, X = (0, 1.25), rows[["x", "z"]].to_numpy()
    array = fit(X, rows["y"].to_numpy(), classes=(0, 1), bounds=bounds, row_norm=None, **given)
    assert frame.w.tolist() == stored.w.tolist() == array.w.tolist()
    assert np.array_equal(array.predict_proba(X), frame.predict_proba(rows))


def test_no_budget_is_too_small_for_curves_that_is_not_for_lines():
    rows = bent_rows(50)
    for j in range(18):
        rows[f"x{j}"] = rows["x"]
    columns = {name: COLUMNS["x"] for name in rows.columns if name != "y"}
    schema = Schema.from_dict({"columns": columns | {"y": {"kind": "label", "classes": [0, 1]}}})
    model = fit(rows, schema=schema, epsilon=1e-7)
    assert model.schema == schema
    with pytest.raises(InvalidInputError, match="does not fit the 64-bit grid"):
        fit(rows, schema=schema, epsilon=1e-7, params={"curves": "all"})


def test_sums_of_a_descent_hold_their_sensitivity_between_released_bounds():
    """Of tables that differ in one row, in whole numbers, with hats and without."""
    private = {"kind": "numeric", "lower": "private", "upper": "private"}
    label = {"y": {"kind": "label", "classes": [0, 1]}}
    waiting = with_curves(Schema.from_dict({"columns": {"x": private, "z": private, **label}}))
    x, z = [column.between(-0.5, 0.75 + 2.0**-5) for column in waiting.unbounded]
    schema = replace(waiting, columns=(x, z, waiting.label))
    assert not schema.unbounded and schema.curve_features == waiting.curve_features
    rows, most = bent_rows(100), 0.0
    problem = replace(PROBLEM, n_features=19, numbers=(0, 9), curves=schema.curve_features)
    problem = replace(problem, raw_norm_bound=schema.raw_norm_bound, row_norm=schema.row_norm)
    for odd in ([1e300, 0.75 + 2.0**-5, 1], [-0.5, 0.1, 0], [0.25, -3.0, 1]):
        tables = {"all": [*rows.values.tolist(), odd], "less": rows.values.tolist()}
        tables["other"] = [*rows.values.tolist(), [0.75, -0.25, 1 - odd[2]]]
        engines = {
            name: LocalEngine(
                dataset_from_arrays(pd.DataFrame(cells, columns=[*"xzy"]), schema=schema).table()
            )
            for name, cells in tables.items()
        }
        for asked in ("all", "none"):
            curves = Curves.of(problem, 1e5, 0.0, asked)
            scales = np.full(curves.kept.size, 64)
            map_ = Standardization(scales, np.zeros_like(scales), None)
            w = np.linspace(-4, 4, 19)[curves.kept]
            gradients = curves.gradients(StandardizedGradientSum, w, map_, 0.1, 1.0)
            for query in (curves.moments(0.5, 1.0), curves.moments(9.0, 1.0), gradients):
                found = {name: engine.answer(query) for name, engine in engines.items()}
                for other, relation in (("less", RELATION), ("other", REPLACE)):
                    stated = query.sensitivity(relation)
                    change = (found["all"] - found[other]).tolist()
                    square = sum(step**2 for step in change)
                    bound = (Fraction(stated.bound) * 2**stated.grid_bits) ** 2
                    assert square <= bound
                    most = max(most, float(Fraction(square) / bound))
    assert 0.98 < most


@pytest.mark.parametrize("kept", [(0, 0), (1, 0), (-1,), (20,), (0.5,)])
def test_columns_are_kept_once_each(kept):
    # One place many times over would count as often in the distance, and once in what is charged.
    moments = ColumnMoments(PROBLEM, 1.0)
    assert KeptColumns(moments, (0, 2)).kept == (0, 2)
    with pytest.raises((InvalidInputError, TypeError)):
        KeptColumns(moments, kept)
