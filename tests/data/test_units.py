"""Ids, and the rows of units: what is one unit, which of its rows are kept, and where they go."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpcore import Schema
from dpcore.data.dataset import Dataset
from dpcore.data.schema.notation import Notation
from dpcore.data.units import UnitIds, bounded, dense
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import dataset_from_arrays
from dpcore_tables.cells.ids import ids_of
from dpcore_tables.cells.typed import UnreadTypeError
from dpcore_tables.store import convert

NOTATION = Notation(missing=("", "NA"))
KEYS = {
    "unit": "id",
    "rows_per_unit": 2,
    "missing": ["", "NA"],
    "columns": {
        "x": {"kind": "numeric", "lower": 0, "upper": 1},
        "y": {"kind": "label", "classes": ["n", "p"]},
    },
}
SCHEMA = Schema.from_dict(KEYS)
ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE


def forms(cells):
    found, bad = ids_of(cells, NOTATION)
    return [False if fault else form for form, fault in zip(found, bad, strict=True)]


def objects(*cells):
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def chunked(*cells, type=None):
    return pa.chunked_array([pa.array(cells, type=type)])


def frame(ids):
    n = len(ids)
    return pd.DataFrame({"id": ids, "x": np.linspace(0, 1, n), "y": ["n", "p"] * (n // 2)})


def test_words_for_no_value_are_compared_with_ids_exactly():
    cells = objects("-9", -9, -9.0, " -9", "-09", -8)
    found, bad = ids_of(cells, Notation(missing=("", "-9")))
    assert found.tolist() == [None] * 4 + ["-09", "-8"] and not bad.any()
    large = 2**60 + 1  # Its float64 is that of 2^60.
    found, _ = ids_of(objects(large, 2**60), Notation(missing=(str(2**60),)))
    assert found.tolist() == [str(large), None]
    near = 2**53 - 1
    found, _ = ids_of(objects(near, near - 1), Notation(missing=(str(near),)))
    assert found.tolist() == [None, str(near - 1)]


@pytest.mark.parametrize(
    ("word", "texts", "numbers", "others"),
    [
        ("-9.0", ["-9.0", "-9", " -9.00"], [-9, -9.0, np.int8(-9), Decimal("-9.0")], ["-09", -8.0]),
        ("-99.", ["-99."], [-99.0], ["-99", "-9"]),
        ("0.0", ["0", "-0.0"], [0, -0.0], ["00", 1]),
        ("07", ["07"], [7, 7.0], ["7", "007"]),
        ("+7", ["+7"], [7, 7.0], ["7", "07"]),
        ("-9.9", ["-9.9"], [-9.9], [-10]),
        (" NA ", ["NA"], [], ["na"]),
        ("1e99999999999999999999", ["1e99999999999999999999"], [], [1]),
    ],
)
def test_a_word_for_no_value_is_none_in_all_of_its_forms(word, texts, numbers, others):
    # "-9.0" was listed, and its rows were one unit, by the id "-9".
    notation = Notation(missing=("", word))
    found, bad = ids_of(objects(*texts, *numbers, *others), notation)
    absent = len(texts) + len(numbers)
    assert found[:absent].tolist() == [None] * absent and not bad.any()
    assert None not in found[absent:].tolist()
    for cells in (chunked(*texts), chunked(*texts).dictionary_encode()):
        assert ids_of(cells, notation)[0].tolist() == [None] * len(texts)


def test_whole_numbers_in_text_are_read_as_the_schema_writes_them():
    written = Notation(decimal=",", thousands=".")
    cells = ["1", "1.000", "1000", "1.000,00", "7,0", "7", "7.0", "12.34", "-1.000.000"]
    expected = ["1", "1000", "1000", "1000", "7", "7", "7.0", "12.34", "-1000000"]
    found, bad = ids_of(chunked(*cells), written)
    assert found.tolist() == expected and not bad.any()
    found, _ = ids_of(objects("1.000", "7,0", "7.0", 7.0), Notation(decimal=","))
    assert found.tolist() == ["1.000", "7", "7.0", "7"]
    found, _ = ids_of(objects("-9,0", -9.0, "-9.0"), Notation(missing=("-9,0",), decimal=","))
    assert found.tolist() == [None, None, "-9.0"]


def test_a_number_too_long_to_write_is_a_bad_row_at_its_place():
    # str() of it raised a bare ValueError.
    with pytest.raises(DataError, match="row 2"):
        dataset_from_arrays(frame(objects("a", 10**5000)), schema=SCHEMA)


def test_one_id_has_one_form_whatever_the_source():
    expected = ["7", "-3"]
    assert forms(objects("7", " -3\t")) == forms(objects(7, np.int32(-3))) == expected
    assert forms(objects(7.0, np.float64(-3))) == forms(chunked(7.0, -3.0)) == expected
    assert forms(chunked(7, -3)) == forms(chunked(" 7", "-3 ")) == expected
    assert forms(chunked("7 ", "-3").dictionary_encode()) == expected
    assert forms(chunked(7, -3, type=pa.int8())) == expected


def test_ids_are_compared_exactly_beside_blanks_around_them():
    cells = ("007", "7", "a b", "ab", "A", "a", "7.0", "\u00a07")
    assert forms(chunked(*cells)) == ["007", "7", "a b", "ab", "A", "a", "7", "7"]
    large = 2**63 - 1
    assert forms(chunked(large, large - 1)) == [str(large), str(large - 1)]


@pytest.mark.parametrize("empty", ["", "  ", "NA", " NA ", None, np.nan, pd.NA, Decimal("NaN")])
def test_what_is_no_value_is_no_id(empty):
    assert forms(objects("a", empty)) == ["a", None]
    if isinstance(empty, (str, type(None))):
        assert forms(chunked("a", empty)) == ["a", None]
        assert forms(chunked("a", empty).dictionary_encode()) == ["a", None]


@pytest.mark.parametrize(
    "cell",
    [1.5, 2.0**53, np.inf, np.float32(7), True, np.True_, date(2020, 1, 1), Decimal(7), b"\xff"],
)
def test_cells_that_may_be_two_ids_in_one_are_none(cell):
    assert forms(objects("a", cell)) == ["a", False]


@pytest.mark.parametrize("kind", [pa.bool_(), pa.float32(), pa.date32(), pa.decimal128(5, 0)])
def test_declared_types_that_hold_no_ids_are_refused_whatever_the_cells(kind):
    with pytest.raises(UnreadTypeError, match="expected text or whole numbers"):
        ids_of(pa.chunked_array([pa.array([], kind)]), NOTATION)


def test_units_are_numbered_across_pieces_and_rows_without_an_id_are_never_pooled():
    ids = UnitIds()
    ids.add(objects("a", None, "b"))
    ids.add(objects("b", None, "a", "c"))
    assert ids.units().tolist() == [0, 1, 2, 2, 3, 0, 4]


def test_at_most_k_rows_of_each_are_kept_and_all_of_the_others():
    units = np.array([0, 1, 0, 2, 0, 1, 0, 0])
    kept = bounded(units, 2)
    assert np.bincount(units[kept]).tolist() == [2, 2, 1]
    assert bounded(units, 5).all()
    assert bounded(units[:0], 1).shape == (0,)


def test_every_choice_of_a_units_rows_is_equally_likely():
    rng = np.random.default_rng(0)
    units = np.repeat(np.arange(3000), 3)
    kept = bounded(units, 1, rng.bytes).reshape(-1, 3)
    # 3000 draws of chance 1/3: a deviation of .0086, five of which are .043.
    assert np.abs(kept.mean(axis=0) - 1 / 3).max() < 0.043


def test_a_unit_more_moves_no_row_of_another():
    rng = np.random.default_rng(1)
    units, words = rng.integers(0, 40, 200), rng.integers(0, 2**63, 200, dtype=np.uint64)
    kept = bounded(units, 2, lambda n: words.tobytes())
    at = np.sort(rng.integers(0, 200, 9))
    more = np.insert(units, at, 77)
    coins = np.insert(words, at, rng.integers(0, 2**63, 9, dtype=np.uint64))
    with_more = bounded(more, 2, lambda n: coins.tobytes())
    assert np.array_equal(with_more[more != 77], kept)
    assert with_more[more == 77].sum() == 2


def test_ids_that_differ_by_blanks_are_one_unit():
    data = dataset_from_arrays(frame(["p", " p", "p ", "p\t", "q", "q"]), schema=SCHEMA)
    assert data.n_units == 2
    assert np.bincount(data.units).tolist() == [2, 2]
    # A broken twin that compares cells as they stand lets p have four rows.
    assert len(set(frame(["p", " p", "p ", "p\t", "q", "q"]).id)) == 5


def test_rows_without_an_id_are_refused_with_their_place(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,x,y\na,.1,n\n NA ,.2,p\na,.3,p\n")
    told = r"line 3, column 'id': the cell is empty.*a schema says so: unit = \"id\", rows_per_unit"
    with pytest.raises(DataError, match=told):
        Dataset.from_file(path, SCHEMA)
    path_of_fractions = tmp_path / "f.parquet"
    frame([1.5, 2.0]).to_parquet(path_of_fractions)
    with pytest.raises(
        DataError, match="row 1, column 'id': the cell is no id of a unit: expected"
    ):
        Dataset.from_file(path_of_fractions, SCHEMA)
    assert Dataset.from_file(path, SCHEMA, bad_rows="drop").units.tolist() == [0, 0]


def test_rows_without_an_id_are_units_by_themselves_if_so_asked():
    schema = Schema.from_dict({**KEYS, "rows_per_unit": 1, "unit_missing": "row"})
    ids = ["a", "a", None, "", "NA", np.nan, "a", " "]
    data = dataset_from_arrays(frame(ids), schema=schema)
    assert np.bincount(data.units).tolist() == [1] * 6
    # A broken twin that pools them keeps one row of the five: another person's row decides which.
    pooled = UnitIds()
    pooled.add(objects(*(id or "" for id in ids_of(objects(*ids), NOTATION)[0])))
    assert bounded(pooled.units(), 1).sum() == 2


def test_files_frames_and_parquet_have_the_same_units(tmp_path):
    ids = [str(i % 5) for i in range(20)]
    table = frame(ids)
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    whole = Schema.from_dict({**KEYS, "rows_per_unit": 4})
    found = [Dataset.from_file(tmp_path / name, whole).units for name in ("t.csv", "t.parquet")]
    found.append(dataset_from_arrays(table.astype({"id": int}), schema=whole).units)
    assert all(np.array_equal(units, np.repeat(np.arange(5), 4)) for units in found)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_a_unit_is_on_one_side_of_a_split(relation):
    ids = [str(i % 30) for i in range(60)]
    data = dataset_from_arrays(frame(ids), schema=SCHEMA)
    numbered = Dataset("n", data.X, np.where(data.units % 2, 1.0, -1.0), SCHEMA, units=data.units)
    kept, held_out = numbered.split(0.5, relation, 3)
    assert kept.n_units + held_out.n_units == 30
    assert np.bincount(kept.units).tolist() == [2] * kept.n_units
    if relation is REPLACE:
        assert held_out.n_units == 15


def test_a_table_of_more_rows_of_a_unit_than_are_used_is_refused():
    data = dataset_from_arrays(frame(["a", "b"] * 2), schema=SCHEMA)
    assert data.table().units.tolist() == [0, 0, 1, 1]
    too_many = Dataset("n", data.X, data.y, SCHEMA, units=np.zeros(4, dtype=np.int64))
    with pytest.raises(InvalidInputError, match="at most rows_per_unit=2"):
        too_many.table()


def test_rows_that_come_without_ids_are_refused(tmp_path):
    data = dataset_from_arrays(frame(["a", "b"]), schema=SCHEMA)
    with pytest.raises(InvalidInputError, match="units by 'id'"):
        Dataset("n", data.X, data.y, SCHEMA)
    with pytest.raises(InvalidInputError, match="An array has no column 'id'"):
        dataset_from_arrays(np.zeros((2, 1)), ["n", "p"], schema=SCHEMA)
    frame(["a", "b"]).to_csv(tmp_path / "t.csv", index=False)
    convert(tmp_path / "t.csv", tmp_path / "t.dpcore", SCHEMA.with_units(None))
    with pytest.raises(InvalidInputError, match="has no units by 'id'"):
        Dataset.from_file(tmp_path / "t.dpcore", SCHEMA)


def test_units_are_numbered_without_a_gap():
    assert dense(np.array([5, 2, 5, 9])).tolist() == [1, 0, 1, 2]


def test_a_schema_of_units_reads_back_and_drops_the_column():
    assert Schema.from_toml(SCHEMA.to_toml()) == SCHEMA == Schema.from_dict(SCHEMA.to_dict())
    claimed = Schema.from_dict({**KEYS, "unit_in_one_file": True})
    assert Schema.from_toml(claimed.to_toml()) == claimed != SCHEMA
    assert claimed.with_units(None) == SCHEMA.with_units(None) and claimed.units == SCHEMA.units
    assert SCHEMA.feature_names == ("x", "intercept")
    assert Schema.from_dict({**KEYS, "columns": {**KEYS["columns"], "id": {"kind": "drop"}}})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows_per_unit": None}, "Expected rows_per_unit beside unit"),
        ({"unit": None}, "Expected unit = COLUMN"),
        ({"unit": None, "rows_per_unit": None, "unit_in_one_file": True}, "Expected unit = COLUMN"),
        ({"unit_in_one_file": "yes"}, "wrong type"),
        ({"unit": "x"}, "is no feature and no label"),
        ({"unit": "y"}, "is no feature and no label"),
        ({"unit_missing": "pool"}, "refuse or row"),
        ({"rows_per_unit": 0}, "1 <= rows_per_unit=0"),
        ({"rows_per_unit": "2"}, "wrong type"),
    ],
)
def test_a_schema_of_units_that_contradicts_itself_is_refused(change, message):
    keys = {key: value for key, value in {**KEYS, **change}.items() if value is not None}
    with pytest.raises(InvalidInputError, match=message):
        Schema.from_dict(keys)
