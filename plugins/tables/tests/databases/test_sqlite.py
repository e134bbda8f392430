"""Queries of SQLite files: cell by cell, in one transaction, refused before a charge."""

import os
import shlex
import signal
import sqlite3
import stat
import tempfile

import numpy as np
import pytest
from canaries import NUMBER, WORD, leaks_of, raised_by
from features import load_features
from golden.command import dpcore as command

import dpcore
from dpcore import Schema
from dpcore.errors import DataError, DpcoreError, InvalidInputError
from dpcore.plugin.parts import Dataset
from dpcore_tables.databases import rows as database_rows
from dpcore_tables.databases.address import with_query
from dpcore_tables.statistics import check_schema
from dpcore_tables.store import convert

SCHEMA = """[columns]
age = { kind = "numeric", lower = 0, upper = 90 }
city = { kind = "categorical", categories = ["Bern", "Basel", "7"] }
paid = { kind = "label", classes = [0, 1] }
"""
TABLE = "CREATE TABLE people (id INTEGER PRIMARY KEY, age, city TEXT, paid INT)"
ALL = "select age, city, paid from people"
ROWS = [(40, "Bern", 1), (40.5, "7", 0), ("31", "Genf", "1"), (b"7", "Basel", 0)]


def write(path, rows=ROWS, table=TABLE):
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(table)
        connection.executemany("INSERT INTO people (age, city, paid) VALUES (?, ?, ?)", rows)
    connection.close()
    return f"sqlite:///{path}"


def read(address, query=ALL, claimed=False, **others):
    schema = others.pop("schema", SCHEMA)
    return Dataset.from_file(
        with_query(address, query, claimed), Schema.from_toml(schema), **others
    )


def features(address, query=ALL):
    address = with_query(address, query, False)
    return load_features(address, Schema.from_toml(SCHEMA)).toarray().tolist()


@pytest.fixture
def address(tmp_path):
    return write(tmp_path / "people.db")


def test_cells_are_read_as_those_of_a_text_file(address, tmp_path):
    (tmp_path / "rows.csv").write_text("age,city,paid\n40,Bern,1\n40.5,7,0\n31,Genf,1\n7,Basel,0\n")
    schema = Schema.from_toml(SCHEMA)
    text = Dataset.from_file(str(tmp_path / "rows.csv"), schema)
    assert features(address) == load_features(str(tmp_path / "rows.csv"), schema).toarray().tolist()
    assert (read(address).y == text.y).all()


ODD = [
    None, 0, -1, 2**63 - 1, -(2**63), 1.5, -0.0, 1e300, float("inf"), "", " 7 ", "1e999", "0x10",
    "nan", "Bérn", "１", "9" * 5000, b"7", b"\xff", b"", "7\x00",
]  # fmt: skip


@pytest.mark.parametrize("place", range(3))
def test_an_odd_cell_moves_no_other_row(address, tmp_path, place):
    """The rule of the data: a cell by itself."""
    before, n = _parts(read(address)), len(ROWS)
    connection = sqlite3.connect(tmp_path / "people.db")
    connection.execute("PRAGMA synchronous = OFF")
    for odd in ODD:
        row = [40, "Bern", 1]
        row[place] = odd
        with connection:
            connection.execute("DELETE FROM people WHERE id > ?", (n,))
            connection.execute("INSERT INTO people (age, city, paid) VALUES (?, ?, ?)", row)
        after = _parts(read(address, bad_rows="drop"))
        assert {len(part) for part in after} <= {n, n + 1}
        assert [part[:n].tobytes() for part in after] == [part.tobytes() for part in before], odd
    connection.close()


def _parts(data):
    (piece,) = data.X.pieces()
    return piece.numeric, piece.codes, data.y


def test_text_that_is_no_utf_8_is_a_cell_like_another(tmp_path):
    address = write(tmp_path / "people.db", ROWS[:1])
    connection = sqlite3.connect(tmp_path / "people.db")
    with connection:
        connection.execute(
            "INSERT INTO people (age, city, paid) VALUES (1, CAST(x'ff' AS TEXT), 0)"
        )
    connection.close()
    assert features(address)[1][1:4] == [0.0, 0.0, 0.0]


def test_rows_are_read_once_into_a_file_without_a_name(address, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    os.mkdir(tmp_path / "temporary")
    opened = []
    monkeypatch.setattr(
        sqlite3, "connect", lambda *a, _of=sqlite3.connect, **k: opened.append(a) or _of(*a, **k)
    )
    schema = Schema.from_toml(SCHEMA)
    model = dpcore.fit(with_query(address, ALL, False), schema=schema, epsilon=1.0, seed=1)
    assert len(opened) == 1 and not os.listdir(tmp_path / "temporary")
    as_file = dpcore.fit(_csv(tmp_path), schema=schema, epsilon=1.0, seed=1)
    assert (model.coef == as_file.coef).all()


def _csv(folder):
    (folder / "same.csv").write_text("age,city,paid\n40,Bern,1\n40.5,7,0\n31,Genf,1\n7,Basel,0\n")
    return str(folder / "same.csv")


def test_the_file_of_rows_is_its_owners_alone(address, monkeypatch):
    made = []
    temporary = tempfile.TemporaryFile
    monkeypatch.setattr(
        tempfile, "TemporaryFile", lambda *a, **k: made.append(temporary(*a, **k)) or made[-1]
    )
    data = read(address)
    (file,) = made
    assert file.closed
    status = os.fstat(data.X.store._file)
    assert stat.S_IMODE(status.st_mode) == 0o600 and status.st_nlink == 0


def test_pieces_do_not_show(tmp_path, monkeypatch):
    rows = [(i % 90, "Bern", i % 2) for i in range(50)]
    address = write(tmp_path / "people.db", rows)
    whole = features(address)
    monkeypatch.setattr("dpcore_tables.databases.sqlite.PIECE", 7)
    assert features(address) == whole and len(whole) == 50
    empty = write(tmp_path / "empty.db", [])
    assert len(read(empty).y) == 0 and database_rows.PIECE > 7


def told(*asked):
    """Return the exit status and all that a command prints."""
    done = command(shlex.join(["dpcore", *map(str, asked)]))
    return done.status, done.out + done.err


def test_the_statement_says_what_a_row_is(address, tmp_path):
    (tmp_path / "schema.toml").write_text(SCHEMA)
    asked = ["train", "--data", address, "--query", f"{ALL} where city <> '{WORD}'"]
    asked += ["--schema", tmp_path / "schema.toml", "--epsilon", 1]
    status, text = told(*asked, "--out", tmp_path / "model.json")
    assert status == 0, text
    assert "given that, by the query's text, each row of its result, which is what is" in text
    assert "column types" not in text  # A cell of SQLite has the type that it has itself.
    saved = (tmp_path / "model.json").read_text()
    assert WORD not in saved + text and "people" not in saved
    assert "on people.db:" in text
    assert dpcore.load_model(tmp_path / "model.json").privacy["typed_by"] == "checked query"


def test_a_store_of_a_query_says_so_too(address, tmp_path):
    schema = Schema.from_toml(SCHEMA)
    convert(with_query(address, f"{ALL} limit 2", True), tmp_path / "rows.dpcore", schema)
    stored = Dataset.from_file(str(tmp_path / "rows.dpcore"), None)
    assert stored.typed_by == "claimed query" and len(stored.y) == 2
    model = dpcore.fit(str(tmp_path / "rows.dpcore"), epsilon=1.0)
    said = model.privacy["sentence"]
    assert "given the claim on the query that each row of its result" in said


def test_rows_of_units_are_bounded(tmp_path):
    address = write(tmp_path / "people.db", [(age, "Bern", 1) for age in range(9)])
    connection = sqlite3.connect(tmp_path / "people.db")
    with connection:
        connection.execute("CREATE TABLE visits (id INT, n INT)")
        connection.execute("INSERT INTO visits SELECT id % 3, id FROM people")
    connection.close()
    schema = 'unit = "id"\nrows_per_unit = 2\n' + SCHEMA
    query = "select id, age, city, paid from people join visits using (id)"
    data = read(address, query, claimed=True, schema=schema)
    assert data.typed_by == "claimed query of units" and np.bincount(data.units).max() == 2
    with pytest.raises(InvalidInputError, match="a JOIN: other rows"):
        read(address, query, schema=SCHEMA)


REFUSED = {
    "select agee, city, paid from people": "no column 'agee' in the table",
    "select rowid as age, city, paid from people": "no column 'rowid' in the table",
    "select age, city, paid from persons": "no table 'persons'",
    "select age, city, paid from seen": "'seen' is no plain table but, say, a view",
    "select age, city, paid from main.seen": "is no plain table",
    "select age, city, paid from other.people": "no table 'people'",
    "select age, city from people": "no label column 'paid'",
    "select age, age, city, paid from people": "duplicate column name 'age'",
    "select age, city, paid, id from people": "column 'id' is not in the schema",
    "select age, city, paid from words": "is no plain table",
    "select id as age, block as city, 1 as paid from words_data": "is no plain table",
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_is_not_there_is_said_in_a_line(address, tmp_path, query):
    connection = sqlite3.connect(tmp_path / "people.db")
    with connection:
        connection.execute("CREATE VIEW seen AS SELECT * FROM people LIMIT 1")
        connection.execute("CREATE VIRTUAL TABLE words USING fts5 (age, city, paid)")
    connection.close()
    with pytest.raises(DpcoreError, match=REFUSED[query]) as caught:
        read(address, query)
    assert "\n" not in str(caught.value)
    if "agee" in query:
        with pytest.raises(
            InvalidInputError, match="cannot answer the query: no such column: agee"
        ):
            read(address, query, claimed=True)


def test_a_column_that_vanishes_is_said_in_a_line(address, tmp_path):
    assert len(read(address).y) == 4
    connection = sqlite3.connect(tmp_path / "people.db")
    with connection:
        connection.execute("ALTER TABLE people DROP COLUMN city")
    connection.close()
    for query in (ALL, ALL.replace("city, ", "")):
        asked = with_query(address, query, False)
        with pytest.raises(DpcoreError, match="no column 'city'") as caught:
            convert(asked, tmp_path / "rows.dpcore", Schema.from_toml(SCHEMA))
        assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == ["people.db"]


def test_nothing_is_written(address, tmp_path):
    before = (tmp_path / "people.db").read_bytes()
    with pytest.raises(InvalidInputError):
        read(address, "insert into people values (1, 2, 3, 4)", claimed=True)
    read(address)
    assert (tmp_path / "people.db").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["people.db"]


def test_files_that_are_none_are_refused_in_a_line(address, tmp_path):
    content = (tmp_path / "people.db").read_bytes()
    odd = {
        "no.db": (None, "no such file"),
        "text.db": (b"age,city\n" * 99, "no SQLite file"),
        "cut.db": (content[: len(content) // 2], "damaged|cannot be read|the query ended"),
        "odd.db": (content.replace(b"Bern", b"\xff" * 4), None),
        "damaged.db": (content[:4096] + b"\x00" * 200 + content[4296:], "damaged|ended|no table"),
    }
    for name, (of_file, told) in odd.items():
        if of_file is not None:
            (tmp_path / name).write_bytes(of_file)
        error = raised_by(lambda name=name: read(f"sqlite:///{tmp_path / name}"))
        if told is not None:
            assert isinstance(error, DpcoreError), name
            with pytest.raises(type(error), match=told):
                raise error
            assert leaks_of(error) == []
    with pytest.raises(DataError, match="no such file"):
        read(f"sqlite:///{tmp_path}")
    for wrong in ("sqlite://people.db", "sqlite://", "sqlite:///", "sqlite:///p.db?mode=rw"):
        with pytest.raises(InvalidInputError, match="sqlite:///FILE"):
            read(wrong)


@pytest.mark.some_fast
@pytest.mark.parametrize("byte", range(100, 8192, 389))
def test_a_mutated_file_ends_in_a_line_or_is_read(address, tmp_path, byte):
    content = bytearray((tmp_path / "people.db").read_bytes())
    content[byte % len(content)] ^= 0xFF
    (tmp_path / "people.db").write_bytes(content)
    error = raised_by(lambda: read(address))
    assert error is None or isinstance(error, DpcoreError) and "\n" not in str(error)
    assert error is None or leaks_of(error) == []


def test_a_locked_file_is_said_to_be(address, tmp_path, monkeypatch):
    monkeypatch.setattr("dpcore_tables.databases.sqlite._WAIT", 0.01)
    writer = sqlite3.connect(tmp_path / "people.db", isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    with pytest.raises(DataError, match="another program is writing it"):
        read(address)
    writer.execute("ROLLBACK")
    writer.close()
    assert len(read(address).y) == 4


def test_a_long_query_can_be_interrupted(address):
    def interrupted(*_):
        raise KeyboardInterrupt

    numbers = "with recursive c (x) as (select 1 union all select x + 1 from c)"
    before = signal.signal(signal.SIGALRM, interrupted)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(DataError, match="the query was interrupted"):
            read(address, f"{numbers} select count(*) as age, 1 as city, 1 as paid from c", True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_no_error_carries_a_cell(tmp_path):
    rows = [*ROWS, (WORD, WORD, NUMBER), (NUMBER, f"${WORD}", 1)]
    address = write(tmp_path / "people.db", rows)
    schema = Schema.from_toml(SCHEMA)
    queries = [
        ("select json_extract('{}', city) as age, city, paid from people", True),
        ("select abs(-9223372036854775807 - paid) as age, city, paid from people", True),
        (ALL, False),
    ]
    acts = {
        "load": lambda asked: Dataset.from_file(asked, schema),
        "fit": lambda asked: dpcore.fit(asked, schema=schema, epsilon=1.0),
        "convert": lambda asked: convert(asked, tmp_path / "rows.dpcore", schema),
        "units": lambda asked: dpcore.fit(asked, schema=schema, epsilon=1.0, unit="age"),
    }
    for query, claimed in queries:
        for way, act in acts.items():
            error = raised_by(lambda act=act, q=query, c=claimed: act(with_query(address, q, c)))
            assert isinstance(error, DpcoreError) and leaks_of(error) == [], (way, query)
    assert not (tmp_path / "rows.dpcore").exists()
    assert not (tmp_path / ".rows.dpcore.partial").exists()


def test_commands_that_read_rows_twice_refuse_a_query(address, tmp_path):
    schema = Schema.from_toml(SCHEMA)
    asked = with_query(address, ALL, False)
    assert check_schema(asked, schema).rows == 4
    with pytest.raises(InvalidInputError, match="reads the rows twice"):
        check_schema(asked, schema, epsilon=1.0)


def test_commands_take_a_query(address, tmp_path):
    (tmp_path / "schema.toml").write_text(SCHEMA)
    options = ["--query", ALL, "--schema", str(tmp_path / "schema.toml")]

    code, text = told("train", "--data", address, *options, "--out", tmp_path / "model.json")
    assert code == 0, text
    # Neither scores nor what the owner looks at promise anything of a row: no claim is needed.
    sorted_rows = ["--query", "select age, city, paid from people order by age limit 3"]
    code, text = told("predict", tmp_path / "model.json", "--data", address, *sorted_rows)
    assert code == 0 and len(text.splitlines()) == 4
    code, text = told("schema", "--check", address, tmp_path / "schema.toml", *sorted_rows)
    assert code == 0 and "3 rows" in text
    assert told("schema", address, *sorted_rows)[0] == 0
    for name in ("train", "convert"):
        asked = ["--data", address] if name == "train" else [address, tmp_path / "o.dpcore"]
        code, text = told(name, *asked, *options[2:], *sorted_rows)
        assert code == 2 and "--row-wise-claim" in text
    code, template = told("schema", address, "--query", ALL)
    assert code == 0 and '"age" = { kind = "FILL-IN"' in template and ALL not in template
    assert '"city" = { kind = "categorical"' in template  # as its column is declared
    assert told("convert", address, tmp_path / "rows.dpcore", *options)[0] == 0
    assert told("schema", "--check", address, tmp_path / "schema.toml", *options[:2])[0] == 0
    code, text = told("train", "--data", "adult.csv", *options)
    assert code == 2 and "are of a database" in text
    code, text = told("train", "--data", address, "--query", ALL)
    assert code == 2 and "write one from `dpcore schema` with the same --query" in text
    code, text = told("train", "--data", address, *options, "--engine", "dask")
    assert code == 2 and "no query of a database" in text and "dpcore convert" in text
    code, text = told("train", "--data", address, *options, "--out", tmp_path / "people.db")
    assert code == 2 and (tmp_path / "people.db").read_bytes()[:6] == b"SQLite"


def test_no_refusal_quotes_the_query(address, tmp_path):
    (tmp_path / "schema.toml").write_text(
        SCHEMA.replace("city = ", "id = { kind = 'drop' }\ncity = ")
    )
    where = f"where city <> '{WORD}'"
    options = ["--query", f"select id, age, city, paid from people {where}"]
    options += ["--schema", tmp_path / "schema.toml"]
    refused = {
        "no column 'paid' of weights": (address, ["--weight", "paid", "--weight-bound", 5]),
        "No installed reader has the scheme 'other'": ("other:///people", []),
        "no query of a database": (address, ["--engine", "dask"]),
        "There is no ledger": (address, ["--ledger", tmp_path / "none.ledger"]),
        "no such file": (address + "x", []),
    }
    for said, (asked, more) in refused.items():
        code, text = told("train", "--data", asked, *options, *more)
        assert code == 2 and said in text, text
        assert WORD not in text and "select" not in text, text
