"""Sheets of Excel files: cell by cell, by name, and refused before anything is charged."""

import datetime
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pytest
from canaries import raised_by
from features import load_features

from dpcore import Schema
from dpcore.errors import DataError, DpcoreError, InvalidInputError
from dpcore.plugin import Settings
from dpcore.plugin.commands import DataRequest, Run, make_plan
from dpcore.plugin.parts import Dataset
from dpcore_tables.files import entry_of
from dpcore_tables.files.passthrough_column import passthrough_column
from dpcore_tables.store import convert

SCHEMA = """[columns]
age = { kind = "numeric", lower = 0, upper = 90 }
city = { kind = "categorical", categories = ["Bern", "Basel", "7"] }
member = { kind = "boolean" }
born = { kind = "date", lower = "1900-01-01", upper = "2030-01-01" }
paid = { kind = "label", classes = [0, 1] }
"""
HEADS = ["age", "city", "member", "born", "paid"]
DAY = datetime.date(1980, 5, 17)
ROWS = [
    [40, "Bern", True, DAY, 1],
    [40.5, "7", False, datetime.datetime(1980, 5, 17, 0, 0), 0],
    ["31", "Genf", "yes", "1980-05-17", "1"],
]


def write(path, rows, heads=HEADS, sheets=("Members",)):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name in sheets:
        sheet = book.create_sheet(name)
        for row in [heads, *rows] if name == sheets[0] else [["other"]]:
            sheet.append(row)
    book.save(path)
    return str(path)


def read(source):
    return Dataset.from_file(source, Schema.from_toml(SCHEMA))


def features(source):
    return load_features(source, Schema.from_toml(SCHEMA)).toarray().tolist()


def test_cells_are_read_as_those_of_a_text_file(tmp_path):
    sheet = write(tmp_path / "rows.xlsx", ROWS)
    frame = pd.DataFrame([[str(c)[:10] if i == 3 else c for i, c in enumerate(r)] for r in ROWS])
    frame.columns = HEADS
    frame.to_csv(tmp_path / "rows.csv", index=False)
    text = str(tmp_path / "rows.csv")
    assert features(sheet) == features(text) and (read(sheet).y == read(text).y).all()


def test_a_row_alone_reads_as_among_others(tmp_path):
    whole = features(write(tmp_path / "all.xlsx", ROWS))
    for place, row in enumerate(ROWS):
        alone = features(write(tmp_path / f"{place}.xlsx", [row]))
        assert alone == [whole[place]]


ODD = [
    None, 0, -1, 2**53 + 1, 1.5, -0.0, 1e300, "", " 7 ", "1e999", "0x10", "nan", "Bérn", "１",
    "9" * 5000, True, False, DAY, datetime.time(7), datetime.timedelta(3), "=1/0", "#DIV/0!",
    datetime.datetime(1900, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59), "a\tb", "TRUE",
]  # fmt: skip


@pytest.mark.parametrize("place", range(5))
def test_odd_cells_move_no_other_row(tmp_path, place):
    """The rule of the data: a cell by itself."""
    odd = [[*ROWS[0][:place], cell, *ROWS[0][place + 1 :]] for cell in ODD]
    schema, n = Schema.from_toml(SCHEMA), len(ROWS)
    before = read(write(tmp_path / "rows.xlsx", ROWS))
    path = write(tmp_path / "odd.xlsx", [*ROWS, *odd])
    after = Dataset.from_file(path, schema, bad_rows="drop")
    assert n < len(after.y) <= n + len(odd)
    for mine, others in ((before.X.numeric, after.X.numeric), (before.X.codes, after.X.codes)):
        assert mine.tobytes() == others[:n].tobytes()
    assert (after.y[:n] == before.y).all()


@pytest.mark.parametrize("seed", range(8))
def test_a_mutated_file_ends_in_a_line_or_is_read(tmp_path, seed):
    rng, path = np.random.default_rng(seed), write(tmp_path / "rows.xlsx", ROWS)
    with zipfile.ZipFile(path) as old:
        parts = {name: bytearray(old.read(name)) for name in old.namelist()}
    part = parts[rng.choice(["xl/worksheets/sheet1.xml", "xl/workbook.xml", "xl/styles.xml"])]
    for place in rng.integers(0, len(part), 1 + seed):
        part[place] = rng.integers(256)
    with zipfile.ZipFile(path, "w") as new:
        for name, content in parts.items():
            new.writestr(name, bytes(content))
    error = raised_by(lambda: convert(path, tmp_path / "rows.dpcore", Schema.from_toml(SCHEMA)))
    assert error is None or isinstance(error, DpcoreError) and "\n" not in str(error)
    assert (tmp_path / "rows.dpcore").exists() == (error is None)
    assert len([*tmp_path.iterdir()]) == 1 + (error is None)


def test_rows_without_a_value_are_none(tmp_path):
    path = write(tmp_path / "rows.xlsx", [ROWS[0], [None] * 5, ROWS[1]])
    assert len(read(path).y) == 2


def test_a_sheet_is_read_by_its_name(tmp_path):
    path = write(tmp_path / "book.xlsx", ROWS, sheets=("Members", "Notes"))
    assert entry_of(f"excel://{path}#Members").name == "excel"
    assert len(read(f"excel://{path}#Members").y) == 3
    with pytest.raises(InvalidInputError, match=r"2 sheets: name one of 'Members', 'Notes' as exc"):
        read(path)
    with pytest.raises(InvalidInputError, match="no sheet 'Member'"):
        read(f"excel://{path}#Member")


@pytest.mark.parametrize(
    ("rows", "heads", "told"),
    [
        ([[*ROWS[0], "secret"]], HEADS, "row 2: a cell beside the columns. The names in row 1"),
        ([ROWS[0]], [*HEADS[:4], None], "no label column 'paid'|beside the columns"),
        ([ROWS[0]], [None, *HEADS[1:]], "expected the names of the columns in the first row"),
        ([ROWS[0]], [*HEADS[:4], "age"], "duplicate column name 'age'"),
        ([["secret", *ROWS[0][1:]]], HEADS, "row 2"),
        ([ROWS[0][:1] + ROWS[0][2:]], [HEADS[0], *HEADS[2:]], "no column 'city'"),
    ],
    ids=["beside", "no label", "no first name", "two", "no number", "a column is gone"],
)
def test_what_is_no_table_is_refused_without_its_cells(tmp_path, rows, heads, told):
    path = write(tmp_path / "rows.xlsx", rows, heads)
    with pytest.raises(DataError, match=told) as caught:
        read(path)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("value", ["1234567890", "-1e300"])
def test_a_cell_that_no_value_can_be_made_of_is_its_rows_own_fault(tmp_path, value):
    path = write(tmp_path / "rows.xlsx", ROWS)
    book = openpyxl.load_workbook(path)
    book["Members"]["D3"].number_format = "[h]:mm:ss" if value[0] == "1" else "yyyy-mm-dd"
    book["Members"]["D3"].value = 4711.0
    book.save(path)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "odd.xlsx", "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"4711", value.encode()))
    odd = str(tmp_path / "odd.xlsx")
    with pytest.raises(DataError, match="row 3") as caught:
        read(odd)
    assert value not in str(caught.value)
    assert len(Dataset.from_file(odd, Schema.from_toml(SCHEMA), bad_rows="drop").y) == 2


def test_cells_of_a_sheet_are_kept_beside_scores(tmp_path):
    path = write(tmp_path / "rows.xlsx", ROWS)
    schema = Schema.from_toml(SCHEMA)
    assert [*passthrough_column(path, schema, "age")] == ["40", "40.5", "31"]
    assert [*passthrough_column(path, schema, "city")] == ["Bern", "7", "Genf"]


def test_files_that_are_none_are_refused_in_a_line(tmp_path):
    whole = write(tmp_path / "rows.xlsx", ROWS)
    content = (tmp_path / "rows.xlsx").read_bytes()
    (tmp_path / "cut.xlsx").write_bytes(content[: len(content) // 2])
    (tmp_path / "text.xlsx").write_text("age,city\n")
    for name, told in (
        ("cut.xlsx", "not a whole"),
        ("text.xlsx", "not a whole"),
        ("no.xlsx", "No"),
    ):
        with pytest.raises(DataError, match=told):
            read(str(tmp_path / name))
    # A cell that is so far off that the sheet is larger than memory.
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(tmp_path / "far.xlsx", "w") as new:
        for name in old.namelist():
            part = old.read(name)
            new.writestr(name, part.replace(b'r="A3"', b'r="ZZZZZZ3999999"'))
    with pytest.raises(DataError, match="not a whole Excel file"):
        read(str(tmp_path / "far.xlsx"))


def test_a_run_trains_on_a_sheet(tmp_path):
    rng = np.random.default_rng(0)
    ages = rng.integers(20, 80, 300).tolist()
    path = write(tmp_path / "rows.xlsx", [[a, "Bern", True, DAY, int(a > 50)] for a in ages])
    (tmp_path / "schema.toml").write_text(SCHEMA)
    plan = make_plan(Settings("dp-gd", epsilon=5.0, params={"steps": 3}))
    model = Run.train(plan, DataRequest(path, tmp_path / "schema.toml")).model
    assert model.privacy["private"] and "types" not in model.privacy["sentence"]
