"""Rows of a part: each row in one part of a column at most, by its own cell alone."""

from dataclasses import replace

import numpy as np
import pytest

from dpcore import Schema
from dpcore.data.dataset import Dataset
from dpcore.errors import InvalidInputError
from dpcore_tables.store import convert, write_rows

SCHEMA = Schema.from_dict(
    {
        "columns": {
            "age": {"kind": "numeric", "bins": [30, 60]},
            "region": {"kind": "categorical", "categories": ["north", "south", "north-east"]},
            "code": {"kind": "hashed", "buckets": 4},
            "y": {"kind": "label", "classes": ["no", "yes"]},
        }
    }
)
REGIONS = ["north", "south", "north-east"]
CELLS = [*REGIONS * 7, "", "North", "north ", "nor", "northsouth", "7", "NaN", "é", "north,south"]
"""Levels, and what is none of them."""


def table(path, cells, schema=SCHEMA) -> Dataset:
    quoted = (f'{20 + 7 * i % 60},"{cell}",c{i},{"yes" if i % 2 else "no"}' for i, cell in cells)
    path.write_text("\n".join(("age,region,code,y", *quoted)) + "\n")
    return Dataset.from_file(path, schema)


def numbered(cells):
    return list(enumerate(cells))


def parts_of_each_row(path, select=Dataset.of_part):
    """Return in how many parts each cell's row is, read alone and among all others."""
    whole = table(path, numbered(CELLS))
    among = sum(len(select(whole, f"region={name}").y) for name in REGIONS)
    alone = []
    for place, cell in numbered(CELLS):
        one = table(path, [(place, cell)])
        alone.append(sum(len(select(one, f"region={name}").y) for name in REGIONS))
    return alone, among


def check_parts_are_disjoint(path, select=Dataset.of_part):
    alone, among = parts_of_each_row(path, select)
    assert max(alone) == 1, "a row is in two parts"
    assert sum(alone) == among, "a row's part follows from other rows"


def test_each_row_is_in_one_part_at_most_by_its_own_cell(tmp_path):
    check_parts_are_disjoint(tmp_path / "rows.csv")
    alone, _ = parts_of_each_row(tmp_path / "rows.csv")
    assert alone[:21] == [1] * 21
    assert sum(alone[21:]) == sum(cell.strip() in REGIONS for cell in CELLS[21:])


def of_two_levels(dataset, name):
    """The broken twin: two levels share a part."""
    codes = dataset.X.codes[:, 1]
    level = REGIONS.index(name.partition("=")[2]) + int(dataset.X.layout.starts[1])
    return dataset.take((codes == level) | (codes == level + 1))


def by_the_commonest(dataset, name):
    """The broken twin: a private rule, by which a part has the rows of the commonest level."""
    codes = dataset.X.codes[:, 1]
    level = REGIONS.index(name.partition("=")[2])
    counts = np.bincount(codes)
    order = np.argsort(-counts, kind="stable")
    return dataset.take(codes == order[level])


@pytest.mark.parametrize("broken", [of_two_levels, by_the_commonest])
def test_parts_that_overlap_or_follow_from_other_rows_are_caught(tmp_path, broken):
    with pytest.raises(AssertionError):
        check_parts_are_disjoint(tmp_path / "rows.csv", broken)


def test_the_rows_of_parts_are_those_of_the_table_in_their_order(tmp_path):
    whole = table(tmp_path / "rows.csv", numbered(CELLS))
    dense = whole.X.toarray()
    names = list(whole.feature_names)
    for name in REGIONS:
        expected = dense[:, names.index(f"region={name}")] == 1.0
        part = whole.of_part(f"region={name}")
        assert np.array_equal(part.X.toarray(), dense[expected])
        assert np.array_equal(part.y, whole.y[expected])
        assert (part.part.column, part.part.name, part.part.of) == ("region", f"region={name}", 3)
    bins = [len(whole.of_part(f"age={name}").y) for name in ("<30", "[30,60)", ">=60")]
    assert sum(bins) == len(whole.y)
    assert whole.of_part(None) is whole


def test_a_store_has_the_same_parts(tmp_path):
    rows = table(tmp_path / "rows.csv", numbered(CELLS))
    convert(tmp_path / "rows.csv", tmp_path / "rows.dpcore", SCHEMA)
    stored = Dataset.from_file(tmp_path / "rows.dpcore", None)
    for name in REGIONS:
        of_store, of_file = (each.of_part(f"region={name}") for each in (stored, rows))
        assert np.array_equal(of_store.y, of_file.y)
        assert of_store.table().n_rows == len(of_file.y)


def test_a_part_without_rows_is_a_table(tmp_path):
    empty = table(tmp_path / "rows.csv", [(0, "north")]).of_part("region=south")
    assert empty.X.shape == (0, SCHEMA.n_features)
    assert empty.table().n_rows == 0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("region=west", "Did you mean region=south|Known: region=north, region=south"),
        ("regio=north", "Did you mean region"),
        ("y=yes", "no part"),
        ("code=1", "no part"),
        ("", "no part"),
    ],
)
def test_what_is_no_listed_level_is_refused(tmp_path, name, said):
    whole = table(tmp_path / "rows.csv", numbered(CELLS))
    with pytest.raises(InvalidInputError, match=said):
        whole.of_part(name)


def test_units_and_parts_of_parts_are_refused(tmp_path):
    whole = table(tmp_path / "rows.csv", numbered(CELLS))
    with pytest.raises(InvalidInputError, match="units of one row"):
        whole.of_part("region=north").of_part("age=<30")
    schema = replace(SCHEMA, columns=tuple(c for c in SCHEMA.columns if c.name != "code"))
    units = table(tmp_path / "rows.csv", numbered(CELLS), schema.with_units("code", 2))
    with pytest.raises(InvalidInputError, match="units of one row"):
        units.of_part("region=north")


def test_rows_of_a_query_that_is_not_known_have_no_parts(tmp_path):
    """By two queries a row may be in two parts, and by the schema alone they were one column's."""
    rows = table(tmp_path / "rows.csv", numbered(CELLS))
    pieces, old = [(rows.X, rows.y)], tmp_path / "old.dpcore"
    write_rows(pieces, old, SCHEMA, False, False, claim="checked query")
    with pytest.raises(InvalidInputError, match="of which query its rows are.*Convert its source"):
        Dataset.from_file(old, None).of_part("region=north")
    write_rows(pieces, old, SCHEMA, False, False, claim="checked query", query="a" * 64)
    assert Dataset.from_file(old, None).of_part("region=north").part.query == "a" * 64
