"""Queries of DuckDB: by declared types, of its files and of Parquet, and never of guessed text."""

import datetime
import os

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from canaries import NUMBER, WORD, leaks_of, raised_by
from features import load_features

import dpcore
from dpcore import Schema
from dpcore.errors import DataError, DpcoreError, InvalidInputError
from dpcore.plugin.parts import Dataset
from dpcore_tables.databases import duckdb as duckdb_reader
from dpcore_tables.databases.address import with_query
from dpcore_tables.schemas.template import schema_template
from dpcore_tables.store import convert

SCHEMA = """[columns]
age = { kind = "numeric", lower = 0, upper = 90 }
city = { kind = "categorical", categories = ["Bern", "Basel", "7"] }
born = { kind = "date", lower = 1900-01-01, upper = 2030-01-01 }
member = { kind = "boolean" }
paid = { kind = "label", classes = [0, 1] }
"""
ALL = "select age, city, born, member, paid from people"
TABLE = "CREATE TABLE people (id INT, age DOUBLE, city VARCHAR, born DATE, member BOOL, paid INT)"
DAY = datetime.date(1980, 5, 17)
ROWS = [(40, "Bern", DAY, True, 1), (40.5, "7", DAY, False, 0), (31, "Genf", DAY, True, 1)]


def write(path, rows=ROWS, more=()):
    with duckdb.connect(str(path)) as connection:
        connection.execute(TABLE)
        for number, row in enumerate(rows):
            connection.execute("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", [number, *row])
        for statement in more:
            connection.execute(statement)
    return f"duckdb:///{path}"


@pytest.fixture
def address(tmp_path):
    return write(tmp_path / "people.duckdb")


def read(address, query=ALL, claimed=False, **others):
    schema = Schema.from_toml(others.pop("schema", SCHEMA))
    return Dataset.from_file(with_query(address, query, claimed), schema, **others)


def features(address, query=ALL):
    address = with_query(address, query, False)
    return load_features(address, Schema.from_toml(SCHEMA)).toarray().tolist()


def _parts(data):
    (piece,) = data.X.pieces()
    return piece.numeric, piece.codes, data.y


def test_cells_are_read_as_those_of_a_text_file(address, tmp_path):
    lines = [",".join(str(cell) for cell in row) for row in ROWS]
    (tmp_path / "rows.csv").write_text("\n".join(["age,city,born,member,paid", *lines, ""]))
    schema, data = Schema.from_toml(SCHEMA), read(address)
    text = load_features(str(tmp_path / "rows.csv"), schema).toarray().tolist()
    assert features(address) == text and data.y.tolist() == [1, -1, 1]
    assert (data.typed_by, data.name) == ("checked query of types", "people.duckdb")
    template = schema_template(with_query(address, ALL, False), "paid")
    assert '"age" = { kind = "numeric"' in template and '"born" = { kind = "date"' in template


ODD = {
    0: [float("nan"), float("inf"), -0.0, 1e300, None],
    1: ["", " 7 ", "7.0", "Bérn", "１", None, "9" * 9999, "NULL", "a\tb", "a\x00b"],
    2: ["infinity", "-infinity", "0044-03-15 (BC)", "12000-01-01", None],
    3: [None],
    4: [2, -(2**31), None],
}


@pytest.mark.some_fast
@pytest.mark.parametrize("place", ODD)
def test_an_odd_cell_moves_no_other_row(address, tmp_path, place):
    """The rule of the data: a cell by itself."""
    before, n = _parts(read(address)), len(ROWS)
    for odd in ODD[place]:
        row = [n, *ROWS[0]]
        row[1 + place] = odd
        with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
            connection.execute("DELETE FROM people WHERE id >= ?", [n])
            connection.execute("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", row)
        after = _parts(read(address, bad_rows="drop"))
        assert {len(part) for part in after} <= {n, n + 1}
        assert [part[:n].tobytes() for part in after] == [part.tobytes() for part in before], odd


@pytest.fixture
def parquet(tmp_path):
    for number, row in enumerate(ROWS):
        names = ["age", "city", "born", "member", "paid"]
        cells = [float(row[0]), *row[1:]]
        table = pa.table({name: [cell] for name, cell in zip(names, cells, strict=True)})
        pq.write_table(table, tmp_path / f"part{number}.parquet")
    return tmp_path


def test_parquet_files_are_tables(address, parquet):
    for name in (f"'{parquet}/part*.parquet'", f"read_parquet('{parquet}/part*.parquet')"):
        query = ALL.replace("people", name)
        assert features("duckdb://", query) == features(address)
        assert read("duckdb://", query).name == "duckdb"
    for hidden in ("file_row_number", "filename", "rowid"):
        query = ALL.replace("city", f"{hidden} as city").replace("people", name)
        with pytest.raises(InvalidInputError, match=f"no column {hidden!r}"):
            read("duckdb://", query)
    with pytest.raises(DataError, match="cannot be opened"):
        read("duckdb://", ALL.replace("people", "'/nowhere/*.parquet'"))


GUESSED = [
    "'rows.csv'", "'rows.csv.gz'", '"rows.TSV"', "'rows.json'", "read_csv('rows.csv')",
    "read_csv_auto('rows.csv')", "read_csv('rows.csv', all_varchar = true)",
    "read_csv('rows.csv', auto_detect = true)", "read_json('rows.json')", "sniff_csv('rows.csv')",
    "read_json_auto('rows.json', auto_detect = false)",
]  # fmt: skip


@pytest.mark.parametrize("name", GUESSED)
def test_files_whose_types_duckdb_would_guess_are_refused(name):
    for claimed in (False, True):
        with pytest.raises(InvalidInputError, match="from the rows: name the file itself.*-claim"):
            read("duckdb://", ALL.replace("people", name), claimed)


def test_text_of_stated_columns_is_read(tmp_path):
    (tmp_path / "rows.csv").write_text("age|city\n40|Bern\n")
    query = (
        f"select * from read_csv('{tmp_path}/rows.csv', auto_detect = false, header = true, "
        "delim = '|', columns = {'age': 'VARCHAR', 'city': 'VARCHAR'})"
    )
    schema = '[columns]\nage = { kind = "numeric", lower = 0, upper = 90 }\n'
    schema += 'city = { kind = "label", classes = ["Basel", "Bern"] }\n'
    assert read("duckdb://", query, True, schema=schema).y.tolist() == [1.0]
    with pytest.raises(InvalidInputError, match="--row-wise-claim"):
        read("duckdb://", query, schema=schema)


REFUSED = {
    "select agee, city, born, member, paid from people": "no column 'agee' in the table",
    "select rowid as age, city, born, member, paid from people": "no column 'rowid' in the table",
    "select age, city, born, member, paid from persons": "no table 'persons'",
    "select age, city, born, member, paid from seen": "'seen' is no plain table but, say, a view",
    "select age, city, born, member, paid from main.seen": "is no plain table",
    'select age, city, born, member, paid from "x.parquet"': "is no plain table",
    "select age, city, born, member, paid from other.people": "no table 'people'",
    "select age, city, born, member, paid from duckdb_tables": "no table 'duckdb_tables'",
    "select age, city, born, member, paid from facts": "no table 'facts'",
    "select age, city, born, member, paid from people using sample 1": "more than|TABLESAMPLE",
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_is_not_there_is_said_in_a_line(tmp_path, query):
    views = [
        f"CREATE VIEW {name} AS SELECT * FROM people LIMIT 1" for name in ("seen", '"x.parquet"')
    ]
    address = write(tmp_path / "people.duckdb", more=views)
    with pytest.raises(DpcoreError, match=REFUSED[query]) as caught:
        read(address, query)
    assert "\n" not in str(caught.value)


def test_what_duckdb_cannot_answer_is_said_in_a_line(address):
    for query in ("select agee from people", "select my_own(age) from people", "select a from u"):
        with pytest.raises(InvalidInputError, match="cannot answer the query") as caught:
            read(address, query, claimed=True)
        assert "\n" not in str(caught.value)


def test_files_that_are_none_are_refused_in_a_line(address, tmp_path):
    content = (tmp_path / "people.duckdb").read_bytes()
    (tmp_path / "text.duckdb").write_bytes(b"age,city\n" * 99)
    (tmp_path / "cut.duckdb").write_bytes(content[:5000])
    for name in ("no", "text", "cut"):
        error = raised_by(lambda name=name: read(f"duckdb:///{tmp_path}/{name}.duckdb"))
        assert isinstance(error, DataError) and "\n" not in str(error) and leaks_of(error) == []
    for wrong in ("duckdb://people.duckdb", "duckdb:///p?mode=rw"):
        with pytest.raises(InvalidInputError, match="duckdb:///FILE"):
            read(wrong)


@pytest.mark.some_fast
@pytest.mark.parametrize("seed", range(6))
def test_a_mutated_file_is_refused_in_a_line(address, tmp_path, seed):
    content = bytearray((tmp_path / "people.duckdb").read_bytes())
    used = [place for place, byte in enumerate(content) if byte]
    content[np.random.default_rng(seed).choice(used)] ^= 0xFF
    (tmp_path / "people.duckdb").write_bytes(content)
    asked, schema = with_query(address, ALL, False), Schema.from_toml(SCHEMA)
    error = raised_by(lambda: convert(asked, tmp_path / "rows.dpcore", schema))
    assert error is None or isinstance(error, DataError) and "\n" not in str(error)
    assert error is None or leaks_of(error) == [] and os.listdir(tmp_path) == ["people.duckdb"]


def test_a_column_that_vanishes_is_said_in_a_line(address, tmp_path):
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute("ALTER TABLE people DROP COLUMN city")
    for query in (ALL, ALL.replace("city, ", "")):
        with pytest.raises(DpcoreError, match="no column 'city'") as caught:
            read(address, query)
        assert "\n" not in str(caught.value)


def test_a_locked_file_is_said_to_be(address, tmp_path):
    with duckdb.connect(str(tmp_path / "people.duckdb")):
        with pytest.raises(DataError, match="another process has it open|no DuckDB file"):
            read(address)
    assert len(read(address).y) == 3


def test_nothing_is_written(address, tmp_path):
    before = (tmp_path / "people.duckdb").read_bytes()
    read(address)
    assert (tmp_path / "people.duckdb").read_bytes() == before
    assert os.listdir(tmp_path) == ["people.duckdb"]


@pytest.mark.slow
def test_no_error_carries_a_cell(tmp_path):
    row = (NUMBER, WORD, DAY, True, 1)
    address, schema = write(tmp_path / "people.duckdb", [*ROWS, row]), Schema.from_toml(SCHEMA)
    queries = {
        ALL.replace("age", "cast(city as int) as age"): "ConversionException",
        ALL.replace("age", f"error(city || '{NUMBER}') as age"): "InvalidInputException",
        ALL.replace("paid from", f"paid + {NUMBER} as paid from"): "row 1 of the result",
    }
    acts = {
        "load": lambda asked: Dataset.from_file(asked, schema),
        "fit": lambda asked: dpcore.fit(asked, schema=schema, epsilon=1.0),
        "convert": lambda asked: convert(asked, tmp_path / "rows.dpcore", schema),
    }
    for query, told in queries.items():
        for way, act in acts.items():
            asked = with_query(address, query, True)
            error = raised_by(lambda act=act, asked=asked: act(asked))
            assert isinstance(error, DataError) and told in str(error), (way, query, error)
            assert leaks_of(error) == [] and "\n" not in str(error), (way, query)
    assert os.listdir(tmp_path) == ["people.duckdb"]


def test_a_run_trains_on_parquet_files(parquet):
    query = ALL.replace("people", f"'{parquet}/*.parquet'")
    schema = Schema.from_toml(SCHEMA)
    model = dpcore.fit(with_query("duckdb://", query, False), schema=schema, epsilon=1.0, seed=1)
    same = dpcore.fit(str(parquet), schema=schema, epsilon=1.0, seed=1)
    assert (model.coef == same.coef).all()


def test_a_view_beside_tables_of_its_name_and_own_functions_need_the_claim(tmp_path):
    place = tmp_path / "views.duckdb"
    with duckdb.connect(str(place)) as opened:
        opened.execute("CREATE SCHEMA a; CREATE SCHEMA b")
        opened.execute("CREATE TABLE a.v (age INT); CREATE TABLE b.v (age INT)")
        opened.execute(
            "CREATE TABLE people (age INT); CREATE VIEW v AS SELECT max(age) FROM people"
        )
    with pytest.raises(InvalidInputError, match="no plain table"):
        read(f"duckdb:///{place}", "select age from v")
    with duckdb.connect(str(place)) as opened:
        opened.execute("CREATE MACRO lower(x) AS (SELECT max(age) FROM people)")
    with pytest.raises(InvalidInputError, match="functions of its own"):
        read(f"duckdb:///{place}", "select lower(age) as age from people")


def test_columns_that_are_drawn_each_time_are_refused(tmp_path):
    place = tmp_path / "drawn.duckdb"
    with duckdb.connect(str(place)) as opened:
        opened.execute("CREATE TABLE drawn (age INT, r DOUBLE GENERATED ALWAYS AS (random()))")
        opened.execute("CREATE TABLE twice (age INT, r INT GENERATED ALWAYS AS (2 * age))")
        opened.execute("CREATE VIEW seen AS SELECT age, random() AS r FROM twice")
        opened.execute("CREATE VIEW of_seen AS SELECT * FROM seen WHERE age > 0")
        opened.execute("CREATE MACRO jitter(x) AS x + random()")
        opened.execute(
            "CREATE TABLE odd (age INT, r INT, e ENUM('GENERATED', 'b'), s STRUCT(x INT))"
        )
        opened.execute("INSERT INTO odd VALUES (1, 2, 'b', NULL)")
        opened.execute("CREATE TABLE filled (age INT, r DOUBLE DEFAULT random())")
        opened.execute("INSERT INTO twice VALUES (1); INSERT INTO filled VALUES (1, 2)")
    schema = """[columns]
age = { kind = "numeric", lower = 0, upper = 90 }
r = { kind = "label", lower = 0, upper = 5 }
"""
    address = f"duckdb:///{place}"
    with pytest.raises(InvalidInputError, match="'jitter': .*another value each time"):
        read(address, "select jitter(age) as age, r from twice", True, schema=schema)
    for name in ("drawn", "seen", "of_seen"):
        for claimed in (False, True):
            with pytest.raises(InvalidInputError, match="another value each time") as caught:
                read(address, f"select age, r from {name}", claimed, schema=schema)
            assert f"'{name.removeprefix('of_')}'" in str(caught.value)
    for name in ("twice", "filled", "odd"):  # A default was drawn once, with its row.
        assert len(read(address, f"select age, r from {name}", True, schema=schema).y) == 1


def test_types_that_follow_from_the_names_of_folders_need_the_claim():
    for name in ("d/*/rows.parquet", "d/site=9/rows.parquet"):
        with pytest.raises(InvalidInputError, match="have types that follow from all names"):
            read("duckdb://", f"select age from '{name}'")


def test_columns_of_a_folder_that_is_read_whole_need_the_claim(tmp_path, monkeypatch):
    schema = """[columns]
age = { kind = "numeric", lower = 0, upper = 90 }
site = { kind = "categorical", categories = ["1", "2"] }
paid = { kind = "label", classes = [0, 1] }
"""

    def folder_of(name, *sites):
        for site in sites:
            folder = tmp_path / name / f"site={site}"
            folder.mkdir(parents=True)
            rows = duckdb.sql("SELECT 40 AS age, 0 AS paid")
            rows.write_parquet(str(folder / "f.parquet"))
            rows.write_csv(str(folder / "f.csv"))
        return str(tmp_path / name)

    def query(folder):
        return f"select age, site, paid from read_parquet('{folder}')"

    one, two = folder_of("one", "1"), folder_of("two", "1", "x")
    for folder in (one, two, f"{one}/**"):
        with pytest.raises(InvalidInputError, match="have types that follow from all names"):
            read("duckdb://", query(folder), schema=schema)
    texts = f"""select * from read_csv('{one}', auto_detect = false, header = true, delim = ',',
        quote = '', escape = '', columns = {{'age': 'VARCHAR', 'paid': 'VARCHAR'}})"""
    with pytest.raises(InvalidInputError, match="have types that follow from all names"):
        read("duckdb://", texts, schema=schema)
    flat = tmp_path / "flat"
    flat.mkdir()
    duckdb.sql("SELECT 40 AS age, '1' AS site, 0 AS paid").write_parquet(str(flat / "f.parquet"))
    assert len(read("duckdb://", query(flat), schema=schema).y) == 1
    monkeypatch.setattr(duckdb_reader, "_has_columns_of_folders", lambda *_: False)
    # The broken twin: site 1 is a number, or a text where there is a site x.
    sources = [with_query("duckdb://", query(folder), False) for folder in (one, two)]
    read_rows = [Dataset.from_file(source, Schema.from_toml(schema)) for source in sources]
    assert [len(rows.y) for rows in read_rows] == [1, 2]
    assert duckdb.sql(query(one)).types[1] != duckdb.sql(query(two)).types[1]
