"""What the owner of a cell that has no reading is advised."""

import pytest

from dpcore import Schema
from dpcore.errors import DataError
from dpcore_tables.files import encoded_batches

LABEL = {"y": {"kind": "label", "classes": [0, 1]}}


def refusal(folder, column, cell, **keys):
    """Return the message about a table with one bad cell."""
    (folder / "f.csv").write_text(f"x;y\n{cell};1\n")
    schema = Schema.from_dict({"columns": {"x": column, **LABEL}, "separator": ";", **keys})
    with pytest.raises(DataError) as caught:
        next(iter(encoded_batches(folder / "f.csv", schema)))
    return str(caught.value)


@pytest.mark.parametrize(
    ("cell", "keys", "advice"),
    [
        ("12,5", {}, 'decimal = "," in'),
        ("-1.212,5", {}, 'decimal = "," with thousands = "." in'),
        ("1,234", {}, 'decimal = "," or thousands = "," in'),
        ("1,234,567.5", {}, 'thousands = "," in'),
        ("1 234", {}, 'thousands = " " in'),
        ("1 234,5", {}, 'decimal = "," with thousands = " " in'),
        ("12.5", {"decimal": ","}, 'decimal = "." in'),
        ("1.234", {"decimal": ","}, 'decimal = "." or thousands = "." in'),
    ],
)
def test_a_number_in_another_notation_names_the_keys_and_not_the_cell(tmp_path, cell, keys, advice):
    told = refusal(tmp_path, {"kind": "numeric", "lower": 0, "upper": 1}, cell, **keys)
    assert f"looks like a number in another notation: {advice} the schema" in told
    assert cell not in told


@pytest.mark.parametrize("cell", ["1,2,3", "12,5 kg", "a,b", "1.2.3"])
def test_other_texts_are_no_number_in_any(tmp_path, cell):
    told = refusal(tmp_path, {"kind": "numeric", "lower": 0, "upper": 1}, cell)
    assert "not a finite number" in told and "notation" not in told


@pytest.mark.parametrize("cell", ["2023-09-12", "12.9.2023", "2023/9/12", "2023-09-12T10:00"])
def test_a_date_among_numbers_names_the_kind_and_not_the_cell(tmp_path, cell):
    column = {"kind": "numeric", "lower": 0, "upper": 1}
    for keys in ({}, {"decimal": ",", "thousands": "."}):
        told = refusal(tmp_path, column, cell, **keys)
        assert 'the cell looks like a date, and the column is numeric: kind = "date"' in told
        assert cell not in told
    assert "looks like a date" not in refusal(tmp_path, column, "1-2-3")


def test_a_word_is_quoted_only_if_it_is_on_the_public_list(tmp_path):
    column = {"kind": "numeric", "lower": 0, "upper": 1}
    assert 'the cell is "n/a"' in refusal(tmp_path, column, "n/a")
    told = refusal(tmp_path, column, "lots")
    assert "the cell is not a finite number" in told and "lots" not in told


def test_a_date_that_cannot_be_read_names_the_format(tmp_path):
    column = {"kind": "date", "lower": "2000-01-01", "upper": "2020-01-01"}
    told = refusal(tmp_path, column, "29.02.2004")
    assert 'no date that is written as 2024-02-29; format = "%d.%m.%Y"' in told
    told = refusal(tmp_path, {**column, "format": "%d.%m.%Y"}, "2004-02-29")
    assert "written as %d.%m.%Y, the column's format in the schema (" in told and "like" not in told
