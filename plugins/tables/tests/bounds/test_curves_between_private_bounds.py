"""Numbers with hats between bounds that are released first: rows, charges, the rule, the model."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dpcore import Calibration, Evaluation, Intervals, PrivateBounds, Schema, Unit, fit, load_model
from dpcore.fitting.rows.unbounded import bounded_schema, encoded_rows, unbounded_rows
from dpcore.plugin import (
    ClippedGradientSum,
    InvalidInputError,
    NeighboringRelation,
    Problem,
    Settings,
)
from dpcore.plugin.commands import DataRequest, Run, make_plan
from dpcore.plugin.parts import Dataset, LocalEngine, Logistic, dataset_from_arrays
from dpcore_baselines.queries.moments import ColumnMoments
from dpcore_tables.bounds import choice
from dpcore_tables.bounds.choice import CountNoise, are_defaults, bounds_of
from dpcore_tables.bounds.counts import BinCounts
from dpcore_tables.bounds.unbounded_rows import UnboundedCells
from dpcore_tables.coded import CodedRows
from dpcore_tables.curves import curved_schema
from dpcore_tables.schemas import with_curves

PRIVATE = {"kind": "numeric", "lower": "private", "upper": "private"}
COLUMNS = {
    "age": PRIVATE,
    "pay": {**PRIVATE, "lower": 0, "fill": 7.5, "indicator": True},
    "day": {"kind": "numeric", "lower": -1, "upper": 2},
    "city": {"kind": "categorical", "categories": ["Bern", "Basel"]},
}
LABEL = {"label": {"kind": "label", "classes": [0, 1]}}
BOUNDS = {"age": (-4.0, 70.5), "pay": (0.0, 1 / 3)}
ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE


def schema_of(*names, knots=None):
    keys = {} if knots is None else {"knots": knots}
    columns = {name: COLUMNS[name] | ({} if name == "city" else keys) for name in names or COLUMNS}
    return Schema.from_dict({"columns": columns | LABEL})


def cells(n, seed=0):
    rng = np.random.default_rng(seed)
    pay = np.where(rng.random(n) < 0.2, np.nan, rng.exponential(0.2, n))
    columns = {"age": rng.normal(40, 30, n), "pay": pay, "day": rng.uniform(-2, 3, n)}
    columns |= {"city": rng.choice(["Bern", "Basel", "Genf"], n), "label": rng.integers(0, 2, n)}
    return pd.DataFrame(columns)


def rows_of(frame, schema):
    return dataset_from_arrays(frame[[c.name for c in schema.columns]], None, schema=schema)


@pytest.mark.parametrize("names", [("age",), ("age", "pay", "day"), ("pay", "day", "city")])
@pytest.mark.parametrize("knots", [8, None], ids=["of the schema", "of the run"])
def test_rows_get_the_hats_that_they_would_have_had_at_once(names, knots):
    frame, asked = cells(300), schema_of(*names, knots=knots)
    hatted = curved_schema(asked)
    known = bounded_schema(hatted, {name: BOUNDS[name] for name in names if name in BOUNDS})
    assert hatted == schema_of(*names, knots=8) and not known.unbounded
    assert known.n_features == hatted.n_features and known.square == hatted.square
    assert (known.number_features, known.curve_features) == (
        hatted.number_features,
        hatted.curve_features,
    )
    assert len(known.curve_features) == len(names) - ("city" in names)
    found, at_once = encoded_rows(rows_of(frame, asked), known).X, rows_of(frame, known).X
    assert isinstance(found, CodedRows) and isinstance(at_once, CodedRows)
    for part in ("numeric", "codes"):
        one, other = getattr(found, part), getattr(at_once, part)
        assert one.dtype == other.dtype and one.tobytes() == other.tobytes()
    assert np.array_equal(found.layout.hats, at_once.layout.hats) and len(found.layout.hats)
    assert np.square(found.toarray()).sum(axis=1).max() <= known.square


def test_the_schema_says_knots_beside_private_bounds():
    schema = schema_of(knots=5)
    assert Schema.from_toml(schema.to_toml()) == schema
    assert Schema.from_dict(schema.to_dict()) == schema
    assert [c.between(0.0, 1.0).knots for c in schema.unbounded] == [5, 5]
    assert with_curves(schema) == schema and with_curves(schema_of(), 5) == schema
    bare = {"age": {"kind": "numeric", "knots": 5}} | LABEL
    asked = Schema.from_dict({"columns": bare}, private_bounds=True)
    assert asked == schema_of("age", knots=5)
    # Empty cells of their own have no number that hats could follow from.
    shown = Schema.from_dict({"columns": {"age": PRIVATE | {"indicator": True}} | LABEL})
    assert curved_schema(shown) == with_curves(shown) == shown


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"knots": 2}, "3 to 64 knots"),
        ({"knots": 0}, "3 to 64 knots"),
        ({"knots": [0, 1]}, "public bounds, not private ones, beside knots"),
        ({"knots": 8, "scale": "log"}, "beside scale"),
        ({"knots": 8, "indicator": True}, "Expected a fill of column 'age' beside its indicator"),
    ],
)
def test_knots_that_private_bounds_cannot_have_are_refused(keys, said):
    with pytest.raises(InvalidInputError, match=said):
        Schema.from_dict({"columns": {"age": PRIVATE | keys} | LABEL})


def one_value(cell, n=10**4):
    return BinCounts(1).answer_block(UnboundedCells([np.full(n, cell)])).astype(np.float64)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("cell", "known"), [(1.02, np.nextafter(1.03125, 0)), (-1e-9, -5e-324)])
def test_a_released_bound_leaves_room_for_knots_beside_the_known_one(
    sign, cell, known, monkeypatch
):
    none, cell, known = CountNoise(0.0, True, 1), sign * cell, sign * known
    asked = (known, None) if sign > 0 else (None, known)
    found = bounds_of(one_value(cell), none, *asked)
    moved = known + sign * max(1.0, abs(known))
    assert found == ((known, moved) if sign > 0 else (moved, known))
    assert are_defaults(one_value(cell), none, *asked)
    column = schema_of("age", knots=64).unbounded[0]
    assert column.between(*found).knots == 64
    # A bound by a hair beyond the known one was refused after it had been charged.
    monkeypatch.setattr(choice, "_is_beyond", lambda bound, known: bound > known)
    with pytest.raises(InvalidInputError, match="too near each other"):
        column.between(*bounds_of(one_value(cell), none, *asked))


def queries_of(schema):
    """Questions of rows of the schema."""
    length = schema.raw_norm_bound
    problem = Problem(
        *(Logistic(), 0.0, schema.n_features, length, length, ADD),
        numbers=schema.number_features,
        curves=schema.curve_features,
        intercept=True,
    )
    w = np.linspace(-1, 1, schema.n_features) * 4
    for clip in (0.25, 5.0):
        yield from (ColumnMoments(problem, clip), ClippedGradientSum(problem, w, clip))


def check_neighbours(schema, queries, frame, odd):
    """Raise AssertionError unless the answers of tables that differ in a row are as near as stated,
    in whole numbers. Returns by how much of the bound they differ at most."""
    most = 0.0
    engine_of = {}
    for name in ("all", "less", "other"):
        rows = {"all": frame, "less": frame[:-1], "other": pd.concat([frame[:-1], odd])}[name]
        encoded = encoded_rows(rows_of(rows, schema_of()), schema)
        engine_of[name] = LocalEngine(encoded.table(), threads=1)
    for query in queries:
        found = {name: engine.answer(query) for name, engine in engine_of.items()}
        for other, relation in (("less", ADD), ("other", REPLACE)):
            stated = query.sensitivity(relation)
            change = (found["all"] - found[other]).tolist()
            square = sum(step**2 for step in change)
            bound = (Fraction(stated.bound) * 2**stated.grid_bits) ** 2
            assert square <= bound, (type(query).__name__, relation)
            most = max(most, float(Fraction(square) / bound) ** 0.5)
    return most


def test_answers_of_neighbours_are_as_near_as_stated():
    """At bounds that were released, a row that is far beyond, at a knot, or empty."""
    schema = bounded_schema(curved_schema(schema_of()), BOUNDS)
    frame = cells(200)
    most = 0.0
    for age, pay, day, city in (
        (1e300, -1e300, 2.0, "Bern"),
        (-4.0 + 74.5 / 7, np.nan, 0.5, "Genf"),
        (70.5, 1 / 3, 2.0, "Basel"),
        (33.2, 0.1, -0.3, "Basel"),
    ):
        last = pd.DataFrame([{"age": age, "pay": pay, "day": day, "city": city, "label": 1}])
        odd = pd.DataFrame([{"age": -age, "pay": 0.2, "day": -1.0, "city": "Bern", "label": 0}])
        table = pd.concat([frame, last])
        most = max(most, check_neighbours(schema, [*queries_of(schema)], table, odd))
    assert 0.99 < most <= 1.0


def test_a_row_with_hats_may_be_longer_than_any_of_lines():
    schema = bounded_schema(curved_schema(schema_of()), BOUNDS)
    lines = bounded_schema(schema_of(), BOUNDS)
    assert schema.square == lines.square + 3
    frame = pd.DataFrame([{"age": 70.5, "pay": 1 / 3, "day": 2.0, "city": "Basel", "label": 1}])
    length = np.square(rows_of(frame, schema).X.toarray()).sum()
    assert lines.square < length <= schema.square


def test_cells_in_waiting_are_counted_as_those_of_lines():
    asked, hatted, frame = schema_of(), schema_of(knots=8), cells(500)
    query = BinCounts(2)
    of_lines = unbounded_rows(rows_of(frame, asked)).answer(query)
    assert np.array_equal(of_lines, unbounded_rows(rows_of(frame, hatted)).answer(query))
    less = unbounded_rows(rows_of(frame[:-1], hatted)).answer(query)
    change = (of_lines - less).tolist()
    assert sum(step**2 for step in change) <= query.sensitivity(ADD).bound ** 2
    moved = unbounded_rows(replace(rows_of(frame, asked), schema=curved_schema(asked)))
    assert np.array_equal(of_lines, moved.answer(query))


def bent(n, seed=0):
    x, z = np.random.default_rng(seed).random((2, n)) * 50
    return pd.DataFrame({"x": x, "z": z, "y": (np.abs(x - 25) < 12).astype(int)})


def bent_schema(n0=None, **keys):
    columns = {name: PRIVATE | keys for name in "xz"} | {"y": LABEL["label"]}
    return replace(Schema.from_dict({"columns": columns}), rows=n0)


GIVEN = {"epsilon": 5.0, "delta": 1e-6, "seed": 3}


def test_numbers_are_curves_between_released_bounds(tmp_path):
    rows = bent(4000)
    asked = GIVEN | {"schema": bent_schema()}
    model = fit(rows, **asked)
    assert "2 numeric columns have curves, since the signal" in model.status
    assert np.mean(model.predict(rows) == rows["y"]) > 0.93
    assert [column.knots for column in model.schema.features] == [8, 8]
    for column in model.schema.features:
        assert model.released_bounds[column.name] == (column.lower, column.upper)
        assert 0 <= column.lower < 3 and 47 < column.upper < 53
    assert model.ledger[0]["kind"] == "bounds" and model.privacy["releases"]["bounds"] == 1
    knots = fit(rows, **GIVEN, schema=bent_schema(knots=8))
    assert knots.w.tolist() == model.w.tolist() and knots.schema == model.schema
    assert knots.ledger == model.ledger
    model.save(tmp_path / "model.json")
    again, other = load_model(tmp_path / "model.json"), bent(500, 1)
    assert again.schema == model.schema and not again.schema.unbounded
    assert again.released_bounds == model.released_bounds
    assert np.array_equal(again.predict_proba(other), model.predict_proba(other))
    lines = fit(rows, **asked, params={"curves": "none"})
    assert lines.released_bounds == model.released_bounds and lines.schema.n_features == 3
    assert np.mean(lines.predict(rows) == rows["y"]) < 0.65


@pytest.mark.parametrize("words", [{}, {"relation": "replace-one"}])
@pytest.mark.parametrize("n", [1000, 3000])
def test_a_run_that_leaves_hats_out_is_that_of_lines(words, n):
    """Too few rows, or too small a budget."""
    rows = bent(n)
    given = {"epsilon": 0.5 if n == 1000 else 0.03, "delta": 1e-6, "seed": 3, **words}
    given["schema"] = bent_schema()
    model = fit(rows, **given)
    plain = fit(rows, params={"curves": "none"}, **given)
    assert model.w.tolist() == plain.w.tolist() and model.schema == plain.schema
    assert not model.schema.unbounded and model.schema.n_features == 3
    assert model.status == plain.status and set(model.details) == set(plain.details)
    # Of columns that are left out, norms are bounded a little more loosely, by 2^-28.
    assert model.details["clip"] == pytest.approx(plain.details["clip"], rel=1e-7)
    assert model.privacy["spent"] == pytest.approx(plain.privacy["spent"], rel=1e-7)
    assert model.privacy["sentence"] == plain.privacy["sentence"]
    assert model.privacy["releases"] == plain.privacy["releases"]
    assert model.released_bounds == plain.released_bounds


def test_what_bounds_cost_counts_in_the_rule():
    """u is of what is left: with a tenth to bounds a budget that is just enough is not."""
    rows, public = bent(3000), {"kind": "numeric", "lower": 0, "upper": 50}
    public = Schema.from_dict({"columns": dict.fromkeys("xz", public) | {"y": LABEL["label"]}})
    given, us = {"delta": 1e-6, "seed": 3, "epsilon": 0.23}, {}
    for share in (Fraction(0), Fraction(1, 10), Fraction(1, 2)):
        schema = replace(bent_schema() if share else public, rows=3000)
        steps = [PrivateBounds(share)] if share else []
        model = fit(rows, schema=schema, also=steps, params={"curves": "all"}, **given)
        us[share] = model.details["u_with_hats"]
        left = float(1 - share) * model.privacy["budget"]
        assert us[share] == pytest.approx(3000 * np.sqrt(left / 19), rel=1e-3)
        auto = fit(rows, schema=schema, also=steps, **given)
        assert ("2 numeric columns have curves" in auto.status) is (not share)
        assert auto.schema.n_features == (3 if share else 19)
    assert us[0] > 40 > us[Fraction(1, 10)]


def test_curves_that_cannot_be_had_are_refused_before_a_charge():
    charged = []
    schema, all_of_them = bent_schema(), {"curves": "all"}
    for words, said in (
        ({"also": [Intervals(share=0.3)]}, "the run has the step intervals"),
        ({"schema": replace(schema, norm=0.5)}, "scaled down to a length of 0.5"),
    ):
        given = {"schema": schema, "epsilon": 8.0, "params": all_of_them, **words}
        with pytest.raises(InvalidInputError, match=f"There are no curves where .*{said}") as told:
            fit(bent(50), **given)
        charged += [note for note in getattr(told.value, "__notes__", ()) if "Charged" in note]
    assert not charged


def test_curves_by_wish_of_units_and_a_target_with_private_bounds():
    rows = bent(4000).assign(who=np.arange(4000) // 2)
    asked = GIVEN | {"schema": bent_schema(), "params": {"curves": "all"}}
    model = fit(rows, unit=Unit("who", rows=2), **asked)
    assert "2 numeric columns have curves, as set" in model.status
    assert np.mean(model.predict(rows) == rows["y"]) > 0.9
    target = pd.DataFrame({"x": rows["x"], "z": rows["z"], "y": 100 * np.abs(rows["x"] - 25)})
    label = {"kind": "label", "lower": "private", "upper": "private"}
    asked["schema"] = Schema.from_dict({"columns": dict.fromkeys("xz", PRIVATE) | {"y": label}})
    model = fit(target, algo="dp-gd", **asked)
    assert set(model.released_bounds) == {"x", "z", "y"} and model.schema.n_features == 19
    assert np.corrcoef(model.predict(target), target["y"])[0, 1] > 0.9


def test_rows_held_out_are_scored_with_the_curves_of_the_model(tmp_path):
    rows = bent(6000)
    also = [PrivateBounds(), Evaluation(share=0.2, test_fraction=0.3), Calibration(share=0.05)]
    model = fit(rows, schema=bent_schema(), also=also, **(GIVEN | {"epsilon": 8.0}))
    assert "2 numeric columns have curves" in model.status
    exact = 100 * np.mean(model.predict(rows) == rows["y"])
    assert 100 * model.evaluation["accuracy"]["value"] == pytest.approx(exact, abs=3.0)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    bent(500, 1).to_csv(tmp_path / "test.csv", index=False)
    (tmp_path / "schema.toml").write_text(bent_schema().to_toml())
    asked = DataRequest(
        str(tmp_path / "rows.csv"), tmp_path / "schema.toml", test=tmp_path / "test.csv"
    )
    trained = Run.train(make_plan(Settings("dp-gd", epsilon=5.0, seed=1)), asked)
    assert trained.model.schema.n_features == 19
    exact = np.mean(trained.model.predict(bent(500, 1)) == bent(500, 1)["y"])
    assert trained.diagnostics["test_accuracy"] == pytest.approx(exact)
    assert Dataset.from_file(tmp_path / "rows.csv", bent_schema()).schema.unbounded
