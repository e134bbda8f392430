"""Cells that are written beside scores are the file's own text."""

import pytest

from dpcore import Schema
from dpcore_tables.files.column_texts import column_texts

COLUMNS = {
    "y": {"kind": "label", "classes": [0, 1]},
    "x": {"kind": "numeric", "lower": 0, "upper": 9},
    "id": {"kind": "drop"},
}


@pytest.mark.parametrize("words", [{}, {"missing": ["", "NA"]}, {"missing": ["", "-9"]}])
def test_words_for_missing_cells_change_no_text(tmp_path, words):
    # With a number among them a reader gives bytes, and b'P1' was written.
    (tmp_path / "r.csv").write_text("id,y,x\nP1,0,1\nZürich,1,2\n7,1,3\n")
    schema = Schema.from_dict({**words, "columns": COLUMNS})
    assert [*column_texts(str(tmp_path / "r.csv"), schema, "id")] == ["P1", "Zürich", "7"]
