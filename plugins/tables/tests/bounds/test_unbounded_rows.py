"""Rows whose columns wait for bounds: asked as they are, then what encoding at once makes them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from dpcore import Schema
from dpcore.errors import BadRowError, InvalidInputError
from dpcore.fitting.rows.unbounded import bounded_schema, encoded_rows, unbounded_rows
from dpcore.plugin.parts import Dataset, dataset_from_arrays
from dpcore_lab.compare.admission import admit
from dpcore_lab.compare.settings import Comparison
from dpcore_tables.bounds.counts import BinCounts
from dpcore_tables.coded import CodedRows
from dpcore_tables.statistics import open_session
from dpcore_tables.store import convert

WAITING = {
    "age": {"kind": "numeric", "lower": "private", "upper": "private"},
    "pay": {"kind": "numeric", "lower": 0, "upper": "private", "fill": 7.5, "indicator": True},
    "day": {"kind": "numeric", "lower": -1, "upper": 1},
    "gap": {"kind": "numeric", "lower": "private", "upper": 3, "indicator": True},
    "city": {"kind": "categorical", "categories": ["Bern", "Basel"]},
    "label": {"kind": "label", "classes": [0, 1]},
}
BOUNDS = {"age": (-4.0, 70.5), "pay": (0.0, 1 / 3), "gap": (-2.0, 3.0)}
ROWS = """age,pay,day,gap,city,label
17,,0.3,-1e300,Bern,0
-3.25,1e6,-0.0,,Basel,1
1e12,0.1,7,0.123456789,,1
0.1,1e-300,1,2.5,Bern,0
"""


def schema_of(*names, columns=WAITING):
    return Schema.from_dict({"columns": {name: columns[name] for name in (*names, "label")}})


DENSE, CODED = schema_of("age", "pay", "day", "gap"), schema_of("age", "pay", "gap", "city")


@pytest.fixture
def path(tmp_path):
    (tmp_path / "rows.csv").write_text(ROWS)
    return tmp_path / "rows.csv"


def loaded(path, schema):
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    names = [column.name for column in schema.columns]
    frame[names].to_csv(path.parent / "some.csv", index=False)
    return Dataset.from_file(path.parent / "some.csv", schema)


def same(one, other):
    assert type(one) is type(other)
    pairs = [(one, other)]
    if isinstance(one, CodedRows):
        pairs = [(one.numeric, other.numeric), (one.codes, other.codes)]
    for a, b in pairs:
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes() and not a.flags.writeable


@pytest.mark.parametrize("schema", [DENSE, CODED])
def test_rows_are_encoded_as_they_would_have_been_at_once(path, schema):
    waiting, known = loaded(path, schema), bounded_schema(schema, BOUNDS)
    assert not known.unbounded and known.feature_names == schema.feature_names
    assert (known.raw_norm_bound, known.n_features) == (schema.raw_norm_bound, schema.n_features)
    same(encoded_rows(waiting, known).X, loaded(path, known).X)
    some = np.array([True, False, False, True])
    same(encoded_rows(waiting.take(some), known).X, loaded(path, known).take(some).X)
    assert encoded_rows(waiting, known).table().n_rows == 4
    at_once = loaded(path, known)
    assert encoded_rows(at_once, known) is at_once


@pytest.mark.parametrize("schema", [DENSE, CODED])
def test_cells_are_counted_as_the_source_has_them(path, schema):
    waiting = loaded(path, schema)
    block = next(unbounded_rows(waiting).blocks())
    assert block.column(0).tolist() == [17.0, -3.25, 1e12, 0.1]
    assert block.column(1)[1:].tolist() == [1e6, 0.1, 1e-300] and np.isnan(block.column(1)[0])
    assert block.column(2)[[0, 2, 3]].tolist() == [-1e300, 0.123456789, 2.5]
    query = BinCounts(len(schema.unbounded))
    # Each at two levels; one cell each of pay and gap is empty.
    assert unbounded_rows(waiting).answer(query).sum() == 2 * (4 + 3 + 3)
    halves = (waiting.take(np.arange(4) < 2), waiting.take(np.arange(4) >= 2))
    parts = sum(unbounded_rows(half).answer(query) for half in halves)
    assert parts.tolist() == unbounded_rows(waiting).answer(query).tolist()


@pytest.mark.parametrize("name", ["age", "day"])
def test_a_target_may_wait_beside_columns_or_alone(path, name):
    label = {"kind": "label", "lower": "private", "upper": 20.0}
    schema = schema_of(name, columns=WAITING | {"label": label})
    assert Schema.from_toml(schema.to_toml()) == schema and schema.label.is_real
    path.write_text(ROWS.replace(",0\n", ",-7.25\n"))
    waiting, known = loaded(path, schema), bounded_schema(schema, BOUNDS | {"label": (-3.0, 20.0)})
    cells = next(unbounded_rows(waiting).blocks()).column(len(schema.unbounded) - 1)
    assert cells.tolist() == waiting.y.tolist() == [-7.25, 1.0, 1.0, -7.25]
    at_once = loaded(path, known)
    same(encoded_rows(waiting, known).y, at_once.y)
    same(encoded_rows(waiting, known).X, at_once.X)
    assert known.label.scale == (8.5, 11.5) and at_once.y.min() == -1.0


def test_a_target_of_unnamed_features_may_wait():
    label = {"kind": "label", "lower": "private", "upper": "private"}
    schema = Schema.from_dict({"width": 2, "columns": {"label": label}})
    waiting = dataset_from_arrays(csr_matrix(np.eye(2)), [3.0, 500.0], schema=schema)
    assert next(unbounded_rows(waiting).blocks()).column(0).tolist() == [3.0, 500.0]
    known = encoded_rows(waiting, bounded_schema(schema, {"label": (0.0, 1000.0)}))
    assert known.y.tolist() == [-0.994, 0.0] and known.X is waiting.X
    with pytest.raises(InvalidInputError, match="classes or private bounds"):
        Schema.from_dict({"width": 2, "columns": {"label": label | {"classes": [0, 1]}}})


def test_a_cell_that_is_no_finite_number_is_a_bad_row(path):
    path.write_text(ROWS + "inf,1,0,0,Bern,0\n")
    with pytest.raises(BadRowError, match="line 6, column 'age'"):
        loaded(path, DENSE)
    dropped = Dataset.from_file(path.parent / "some.csv", DENSE, bad_rows="drop")
    assert dropped.X.shape[0] == 4


def test_the_schema_says_which_bounds_are_private():
    assert [c.name for c in DENSE.unbounded] == ["age", "pay", "gap"]
    for again in (Schema.from_toml(DENSE.to_toml()), Schema.from_dict(DENSE.to_dict())):
        assert again == DENSE
    bare = {
        "age": {"kind": "numeric"},
        "pay": {"kind": "numeric", "upper": "FILL-IN", "lower": 0, "fill": 7.5, "indicator": True},
        "gap": {"kind": "numeric", "lower": "FILL-IN", "upper": 3, "indicator": True},
        "cut": {"kind": "numeric", "bins": [1, 2]},
    }
    columns = WAITING | bare
    asked = Schema.from_dict({"columns": columns}, private_bounds=True)
    assert asked.unbounded == DENSE.unbounded
    with pytest.raises(InvalidInputError, match="lower in column 'age'"):
        Schema.from_dict({"columns": columns})
    with pytest.raises(InvalidInputError, match="the schema has none"):
        Schema.from_dict({"columns": {n: WAITING[n] for n in ("day", "label")}}, True)
    stars = {"a*": WAITING["age"], "label": WAITING["label"]}
    named = Schema.from_dict({"columns": stars}).for_names(["a1", "a2", "label"])
    assert [column.name for column in named.unbounded] == ["a1", "a2"]


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ({"lower": "private", "upper": 9, "scale": "log"}, "public bounds.*beside scale"),
        ({"lower": "private", "bins": [1, 2]}, "public bounds.*beside bins"),
        ({"lower": "private", "upper": 2e12}, "upper of column 'x'.*within 2\\^40 of 0"),
        ({"lower": "private"}, "Missing upper in column 'x'"),
        ({"lower": "Private", "upper": 1}, "lower of column 'x' to be a finite number"),
    ],
)
def test_bounds_that_cannot_be_private_are_refused(column, reason):
    columns = {"x": {"kind": "numeric"} | column, "y": WAITING["label"]}
    with pytest.raises(InvalidInputError, match=reason):
        Schema.from_dict({"columns": columns})


def test_whoever_needs_encoded_rows_refuses(path, tmp_path):
    waiting = loaded(path, DENSE)
    needed = "bounds of column 'age' are private.*Here bounds have to be public"
    with pytest.raises(InvalidInputError, match=needed):
        waiting.table()
    with pytest.raises(InvalidInputError, match=needed):
        convert(tmp_path / "some.csv", tmp_path / "rows.dpcore", DENSE)
    assert not (tmp_path / "rows.dpcore").exists()
    convert(tmp_path / "some.csv", tmp_path / "rows.dpcore", bounded_schema(DENSE, BOUNDS))
    with pytest.raises(InvalidInputError, match=needed):
        Dataset.from_file(tmp_path / "rows.dpcore", DENSE)
    with pytest.raises(InvalidInputError, match=needed):
        open_session(tmp_path / "some.csv", schema=DENSE)
    (tmp_path / "schema.toml").write_text(DENSE.to_toml())
    files = {"data": (str(tmp_path / "some.csv"),), "schema": str(tmp_path / "schema.toml")}
    with pytest.raises(InvalidInputError, match=needed):
        admit(Comparison(("auto",), epsilons=(1.0,), folds=2, **files))


def test_columns_of_an_array_may_wait():
    X = np.array([[1.0, -2e20], [3.0, 5.0]])
    data = dataset_from_arrays(X, [1, -1], private_bounds=True, row_norm=None)
    assert data.X[:, :2].tolist() == X.tolist() and len(data.schema.unbounded) == 2
    with pytest.raises(InvalidInputError, match="bounds or private_bounds"):
        dataset_from_arrays(X, [1, -1], private_bounds=True, bounds=(0, 1))


def test_more_rows_of_a_unit_than_are_used_are_not_asked():
    keys = {"columns": {name: WAITING[name] for name in ("age", "label")}}
    units = Schema.from_dict({**keys, "unit": "id", "rows_per_unit": 2})
    frame = pd.DataFrame({"id": ["a", "b", "a"], "age": [1.0, 2.0, 3.0], "label": [0, 1, 0]})
    data = dataset_from_arrays(frame, schema=units)
    assert unbounded_rows(data).answer(BinCounts(1)).sum() == 2 * 3
    with pytest.raises(InvalidInputError, match="at most rows_per_unit=2"):
        unbounded_rows(replace(data, units=np.zeros(3, dtype=np.int64)))
    bounded = encoded_rows(data, bounded_schema(units, {"age": (0.0, 4.0)}))
    assert bounded.units.tolist() == data.units.tolist() and bounded.schema.units == units.units
