"""Cells that are written beside scores are the file's own text."""

import io
import sqlite3

import pytest

from dpcore import Schema
from dpcore.errors import DataError, InvalidInputError
from dpcore_tables.databases import sqlite
from dpcore_tables.databases.address import with_query
from dpcore_tables.files.passthrough_column import PassthroughColumn, passthrough_column
from dpcore_tables.files.stream import feature_batches

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
    assert [*passthrough_column(str(tmp_path / "r.csv"), schema, "id")] == ["P1", "Zürich", "7"]


def kept(source, schema, name):
    """Return the texts of a column that are taken as rows are read, and the rows' features."""
    texts = passthrough_column(source, schema, name)
    assert isinstance(texts, PassthroughColumn)
    features = []
    for X, is_kept in feature_batches(source, schema, bad_rows="drop", texts=texts):
        n = len(X) if is_kept is None else is_kept.size
        features += [(next(texts), None if is_kept is None else is_kept[k]) for k in range(n)]
    return features


def query_of(path, rows):
    with sqlite3.connect(path / "r.db") as connection:
        connection.execute("CREATE TABLE people (id, x, y)")
        connection.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
    connection.close()
    return with_query(f"sqlite:///{path / 'r.db'}", "select id, x from people", False)


def test_a_query_is_asked_once_for_scores_and_the_column_beside_them(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite, "PIECE", 2)
    schema = Schema.from_dict({"columns": COLUMNS})
    rows = [("P1", 1, 0), ("Zürich", "odd", 0), (7, 3, 1), (7.0, 4, 1), (None, 5, 1)]
    source = query_of(tmp_path, rows)
    asked, opened = [], sqlite.SqliteDatabase.opened
    monkeypatch.setattr(
        sqlite.SqliteDatabase, "opened", lambda self: asked.append(1) or opened(self)
    )
    found = kept(source, schema, "id")
    assert [text for text, _ in found] == ["P1", "Zürich", "7", "7", ""] and asked == [1]
    assert [is_kept for _, is_kept in found[:2]] == [True, False]
    assert [text for text, _ in kept(source, schema, "x")] == ["1", "odd", "3", "4", "5"]
    with pytest.raises(InvalidInputError, match="no column 'name' to keep"):
        passthrough_column(source, schema, "name")


def test_a_cell_that_is_no_text_is_not_quoted(tmp_path):
    source = query_of(tmp_path, [(b"Ypsilanti\xff", 1, 0)])
    with pytest.raises(DataError, match="column 'id' has a cell that cannot be kept") as told:
        kept(source, Schema.from_dict({"columns": COLUMNS}), "id")
    assert "Ypsilanti" not in str(told.value)


@pytest.mark.parametrize("unit", [{}, {"unit": "id", "rows_per_unit": 2}])
def test_standard_input_is_read_once_too(monkeypatch, unit):
    text = b"id,y,x\n007,0,1\n1e2,1,2\n"
    schema = Schema.from_dict({**unit, "columns": COLUMNS})
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert [text for text, _ in kept("-", schema, "id")] == ["007", "1e2"]
    with pytest.raises(InvalidInputError, match="standard input can be read once only"):
        passthrough_column("-", schema, "x")
