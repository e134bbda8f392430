"""A source with a fault: one line, nothing charged to a ledger, no store left behind."""

import sqlite3

import duckdb
import openpyxl
import pytest
from canaries import WORD, leaks_of, raised_by

import dpcore
from dpcore import Schema, Weights
from dpcore.errors import DpcoreError
from dpcore_ledger import TableLedger, Terms
from dpcore_tables.databases.address import with_query
from dpcore_tables.store import convert

SCHEMA = Schema.from_toml("""[columns]
id = { kind = "drop" }
age = { kind = "numeric", lower = 0, upper = 90 }
paid = { kind = "label", classes = [0, 1] }
""")
UNITS = SCHEMA.with_units("id", 2)
NAMES, ROWS = ["id", "age", "paid"], [(k, 20 + k, k % 2) for k in range(40)]
ODD = (7, WORD, 1)
QUERY = "select id, age, paid from people"


def sqlite(path, names, rows):
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE people ({', '.join(names)})")
        connection.executemany(f"INSERT INTO people VALUES ({', '.join('?' * len(names))})", rows)
    connection.close()
    return with_query(f"sqlite:///{path}", QUERY, False)


def duck(path, names, rows):
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE people ({', '.join(f'{n} VARCHAR' for n in names)})")
        connection.executemany(f"INSERT INTO people VALUES ({', '.join('?' * len(names))})", rows)
    return with_query(f"duckdb:///{path}", QUERY.replace("paid", "paid::int as paid"), False)


def excel(path, names, rows):
    book = openpyxl.Workbook()
    for row in [names, *rows]:
        book.active.append(row)
    book.save(f"{path}.xlsx")
    return f"{path}.xlsx"


def text(path, names, rows):
    lines = [",".join(map(str, row)) for row in [names, *rows]]
    path.with_suffix(".csv").write_bytes("\n".join(lines).encode("cp1252"))
    return str(path.with_suffix(".csv"))


def faulty(write, path, fault):
    names, rows = NAMES, ROWS
    if fault == "odd cell":
        rows = [*ROWS, ODD]
    elif fault == "vanished":
        names, rows = [NAMES[0], NAMES[2]], [(row[0], row[2]) for row in ROWS]
    elif fault == "no id":
        rows = [*ROWS, ("" if write is not excel else None, 20, 1)]
    elif fault == "not UTF-8":
        rows = [*ROWS, ("é", 20, 1)]
    elif fault == "odd weight":
        rows = [*ROWS, (-1, 20, 1)]
    source = write(path, names, rows)
    if fault == "cut":
        (file,) = path.parent.iterdir()
        file.write_bytes(file.read_bytes()[:600])
    return source


FAULTS = [(write, fault) for write in (sqlite, duck, excel) for fault in ("odd cell", "vanished")]
FAULTS += [(sqlite, "cut"), (duck, "cut"), (excel, "cut"), (text, "not UTF-8")]
FAULTS += [(write, "odd weight") for write in (text, sqlite, duck, excel)]
FAULTS += [(write, "no id") for write in (sqlite, excel, text)]


@pytest.mark.parametrize(("write", "fault"), FAULTS, ids=lambda x: getattr(x, "__name__", x))
def test_a_fault_ends_in_a_line_before_a_charge_and_leaves_no_store(tmp_path, write, fault):
    ledger, folder = tmp_path / "table.ledger", tmp_path / "rows"
    TableLedger.create(str(ledger), Terms.of(9.0, 1e-6)).close()
    folder.mkdir()
    source, schema = faulty(write, folder / "rows", fault), UNITS if fault == "no id" else SCHEMA
    before, files = ledger.read_bytes(), sorted(folder.iterdir())
    options = {"schema": schema, "epsilon": 1.0, "delta": 1e-6, "ledger": str(ledger)}
    weight = "id" if fault == "odd weight" else None
    if weight:
        options["sample_weight"] = Weights(weight, bound=2.0)
    acts = [
        lambda: dpcore.fit(source, **options),
        lambda: convert(source, folder / "rows.dpcore", schema, weight=weight),
    ]
    for act in acts:
        error = raised_by(act)
        assert isinstance(error, DpcoreError) and "\n" not in str(error), error
        assert leaks_of(error) == []
    assert ledger.read_bytes() == before and sorted(folder.iterdir()) == files


@pytest.mark.parametrize("write", [sqlite, duck, excel, text], ids=lambda x: x.__name__)
def test_the_same_without_a_fault_is_charged(tmp_path, write):
    ledger = tmp_path / "table.ledger"
    TableLedger.create(str(ledger), Terms.of(9.0, 1e-6)).close()
    before, source = ledger.read_bytes(), write(tmp_path / "rows", NAMES, ROWS)
    schema = SCHEMA if write is not duck else UNITS
    model = dpcore.fit(source, schema=schema, epsilon=1.0, delta=1e-6, ledger=str(ledger))
    assert model.privacy["private"] and ledger.read_bytes() != before
