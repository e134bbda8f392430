"""Joins by the ids of units in SQLite and DuckDB: without a claim where types hold every cell."""

import sqlite3

import duckdb
import numpy as np
import pytest

import dpcore
from dpcore import Schema
from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import Dataset
from dpcore_tables.databases import duckdb as duckdb_reader
from dpcore_tables.databases import sqlite as sqlite_reader
from dpcore_tables.databases.address import with_query

COLUMNS = Schema.from_toml("""[columns]
x = { kind = "numeric", lower = 0, upper = 90 }
paid = { kind = "label", classes = [0, 1] }
""")
SCHEMA = COLUMNS.with_units("pid", 4)
JOIN = "select pid, x, paid from visits join people using (pid)"
ON = "select v.pid, x, paid from visits v join people p on v.pid = p.pid"
OPENED = {"sqlite": sqlite3.connect, "duckdb": duckdb.connect}


def made(folder, scheme, of_visits, of_people=None, visits=(), people=(), strict=" STRICT"):
    """Make two tables in a new file, and return its address."""
    path = folder / f"t.{scheme}"
    path.unlink(missing_ok=True)
    opened, end = OPENED[scheme](str(path)), strict if scheme == "sqlite" else ""
    opened.execute(f"CREATE TABLE visits (pid {of_visits}, x INT, day INT){end}")
    opened.execute(f"CREATE TABLE people (pid {of_people or of_visits}, paid INT, day INT){end}")
    for table, rows in (("visits", visits), ("people", people)):
        if rows:
            opened.executemany(f"INSERT INTO {table} VALUES (?, ?, 1)", [*rows])
    opened.commit()
    opened.close()
    return f"{scheme}:///{path}"


def read(address, query, claimed=False, schema=SCHEMA):
    return Dataset.from_file(with_query(address, query, claimed), schema)


ALIKE = [
    *(("sqlite", kind) for kind in ("INT", "INTEGER", "TEXT")),
    *(("duckdb", kind) for kind in ("INT", "BIGINT", "UTINYINT", "VARCHAR", "UUID")),
]


@pytest.mark.some_fast
@pytest.mark.parametrize(("scheme", "kind"), ALIKE)
def test_a_join_by_ids_that_are_the_same_needs_no_claim(tmp_path, scheme, kind):
    ids = [f"00000000-0000-0000-0000-00000000000{k}" if kind == "UUID" else k for k in (1, 2, 3)]
    ids = [str(each) for each in ids] if kind in ("TEXT", "VARCHAR") else ids
    visits = [(ids[0], 10), (ids[0], 20), (ids[1], 30), (None, 5)]
    people = [(ids[0], 1), (ids[1], 0), (ids[2], 1), (None, 1)]
    address = made(tmp_path, scheme, kind, None, visits, people)
    for query in (JOIN, ON, f"{ON} and v.day = p.day and (x < 99 or paid = 2) where x > 1"):
        data = read(address, query)
        assert data.typed_by.startswith("checked query") and data.typed_by.endswith(" of units")
        assert sorted(data.y.tolist()) == [-1, 1, 1] and len({*data.units}) == 2
    three = f"{ON} join people q on (q.pid = v.pid) and q.day > 0"
    assert len(read(address, three.replace(" x, paid", " x, p.paid")).y) == 3
    with pytest.raises(InvalidInputError, match="has a JOIN"):
        read(address, JOIN, schema=COLUMNS.with_units("pid", 4, unit_missing="row"))


@pytest.mark.parametrize("scheme", OPENED)
def test_the_statement_says_what_is_proved(tmp_path, scheme):
    rows = [(k, k % 2) for k in range(9)]
    address = made(tmp_path, scheme, "INT", None, rows, rows)
    model = dpcore.fit(with_query(address, JOIN, False), schema=SCHEMA, epsilon=1.0, delta=1e-6)
    told = model.privacy["sentence"]
    assert "by the query's text, each row of its result comes from rows of its unit alone" in told


UNLIKE = [
    ("sqlite", "INT", "TEXT"),
    ("sqlite", "REAL", None),
    ("sqlite", "ANY", None),
    ("sqlite", "BLOB", None),
    ("sqlite", "TEXT COLLATE NOCASE", None),
    ("sqlite", "TEXT", "TEXT COLLATE RTRIM"),
    ("sqlite", "INT", "INT AS (day) STORED"),
    ("duckdb", "INT", "BIGINT"),
    ("duckdb", "VARCHAR", "INT"),
    ("duckdb", "VARCHAR COLLATE NOCASE", None),
    ("duckdb", "VARCHAR", "VARCHAR COLLATE NOACCENT"),
    ("duckdb", "DOUBLE", None),
    ("duckdb", "DECIMAL(5, 1)", None),
    ("duckdb", "HUGEINT", None),
    ("duckdb", "DATE", None),
]


@pytest.mark.some_fast
@pytest.mark.parametrize(("scheme", "of_visits", "of_people"), UNLIKE)
def test_ids_that_may_be_equal_and_not_the_same_need_the_claim(
    tmp_path, scheme, of_visits, of_people
):
    address = made(tmp_path, scheme, of_visits, of_people)
    for query in (JOIN, ON):
        with pytest.raises(InvalidInputError, match="joined by 'pid', whose types.*-claim"):
            read(address, query)


def test_a_field_with_the_name_of_the_ids_is_none_of_them(tmp_path):
    # A row of people, which is of one id, would be in rows of as many ids as the field has.
    address = made(tmp_path, "duckdb", "STRUCT(pid INT)", "INT")
    with duckdb.connect(address.removeprefix("duckdb:///")) as opened:
        opened.execute("ALTER TABLE visits RENAME pid TO info")
        opened.execute("ALTER TABLE visits ADD COLUMN pid INT")
        opened.execute("INSERT INTO visits VALUES ({'pid': 7}, 10, 1, 1), ({'pid': 8}, 20, 1, 1)")
        opened.execute("INSERT INTO people VALUES (1, 1, 1)")
    for field in ("info.pid", "v.info.pid", "info.pid AS pid", "main.v.pid"):
        with pytest.raises(InvalidInputError, match="has a JOIN"):
            read(address, f"select {field}, x, paid from visits v join people p on v.pid = p.pid")
    assert len({*read(address, ON).units}) == 1


def test_a_table_of_sqlite_that_holds_no_cell_to_its_type_needs_the_claim(tmp_path):
    visits, people = [("1", 10), (1, 20)], [(1, 1), ("1", 0)]  # Equal or not, by declared types.
    for kinds in (("", "INT"), ("INT", None)):
        address = made(tmp_path, "sqlite", *kinds, visits, people, strict="")
        with pytest.raises(InvalidInputError, match="INTEGER and TEXT in STRICT tables"):
            read(address, JOIN)


def test_a_sqlite_without_strict_tables_needs_the_claim(tmp_path, monkeypatch):
    address = made(tmp_path, "sqlite", "INT")
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
    with pytest.raises(InvalidInputError, match="INTEGER and TEXT in STRICT tables"):
        read(address, JOIN)


OTHERS = [
    "select pid, x, paid from visits left join people using (pid)",
    "select pid, x, paid from visits natural join people",
    "select v.pid, x, paid from visits v, people p where v.pid = p.pid",
    "select v.pid, x, paid from visits v join people p on v.day = p.day",
    "select v.pid, x, paid from visits v join people p on v.pid = p.pid or x > 3",
    "select v.pid, x, paid from visits v join people p on v.pid = p.pid + 0",
    "select v.pid, x, paid from visits v join people p on v.pid = v.pid",
    "select v.pid, x, paid from visits v join people p on v.pid is p.pid",
    'select v.pid, x, paid from visits v join people "V" on v.pid = "V".pid',
    "select distinct pid, x, paid from visits join people using (pid)",
    "select pid, x, paid from visits join people using (pid) limit 3",
    "select pid, sum(x) over () as x, paid from visits join people using (pid)",
    "select v.day as pid, x, paid from visits v join people p on v.pid = p.pid",
    "select v.pid + 0 as pid, x, paid from visits v join people p on v.pid = p.pid",
    'select v.pid, p.day as "PID", x, paid from visits v join people p on v.pid = p.pid',
    "select v.pid, p.pid, x, paid from visits v join people p on v.pid = p.pid",
    "select * from visits join people using (pid)",
    "select x, paid from visits join people using (pid)",
    "select v.pid, x, paid from visits v join people p on v.pid = p.pid collate nocase",
]


@pytest.mark.parametrize("scheme", OPENED)
def test_what_is_not_by_the_ids_alone_is_refused(tmp_path, scheme):
    address = made(tmp_path, scheme, "INT", None, [(1, 10)], [(1, 1)])
    for query in OTHERS:
        with pytest.raises(InvalidInputError, match="--row-wise-claim"):
            read(address, query)
    opened = OPENED[scheme](str(tmp_path / f"t.{scheme}"))
    opened.execute("CREATE VIEW seen AS SELECT pid, min(paid) OVER () AS paid FROM people")
    opened.commit()
    opened.close()
    with pytest.raises(InvalidInputError, match="no plain table"):
        read(address, JOIN.replace("people", "seen"))


def test_an_expression_that_sqlite_names_as_the_ids_is_none_of_them(tmp_path, monkeypatch):
    address = made(tmp_path, "sqlite", "INT", None, [(1, 10), (2, 20)], [(1, 1), (2, 0)])
    with sqlite3.connect(tmp_path / "t.sqlite") as opened:
        for table in ("visits", "people"):
            opened.execute(f'ALTER TABLE {table} RENAME pid TO "P.DAY+0"')
    # SQLite calls an expression by its text, and a column as its table does.
    query = """select v."p.day+0", p.day+0, x, paid from visits v
        join people p on v."p.day+0" = p."p.day+0" """
    listed = COLUMNS.to_toml().replace("[columns]", '[columns]\n"P.DAY+0" = { kind = "drop" }')
    schema = Schema.from_toml(listed).with_units("p.day+0", 4)
    with pytest.raises(InvalidInputError, match=r"another name than 'p\.day\+0'.*-claim"):
        read(address, query, schema=schema)
    named = "dpcore_tables.databases.queries.Query.require_named"
    monkeypatch.setattr(named, lambda self, names: None)
    assert len({*read(address, query, schema=schema).units}) == 1  # the broken twin: of two people


def test_ids_of_parquet_files_have_the_types_that_these_declare(tmp_path):
    with duckdb.connect() as opened:
        for table, more in (("visits", "x"), ("people", "paid")):
            opened.execute(
                f"COPY (SELECT k::INT AS pid, k AS {more} FROM range(2) AS made(k))"
                f" TO '{tmp_path}/{table}.parquet'"
            )
        others = f"{tmp_path}/others.parquet"
        opened.execute(f"COPY (SELECT k AS pid, k AS paid FROM range(2) AS m(k)) TO '{others}'")
    query = f"select v.pid, x, paid from '{tmp_path}/visits.parquet' v join "
    on = "on v.pid = p.pid"
    assert len(read("duckdb://", f"{query} '{tmp_path}/people.parquet' p {on}").y) == 2
    with pytest.raises(InvalidInputError, match="joined by 'pid', whose types"):
        read("duckdb://", f"{query} '{tmp_path}/others.parquet' p {on}")


def rows_of_others(folder, scheme, unit):
    """Return the result's rows of all other units, by the text that an id has."""
    opened = OPENED[scheme](str(folder / f"t.{scheme}"))
    rows = opened.execute(ON).fetchall()
    opened.close()
    return sorted(row for row in rows if str(row[0]) != unit)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", OPENED)
def test_all_rows_of_a_unit_move_no_other_units_rows(tmp_path, scheme):
    rng, ids = np.random.default_rng(5), ["a", "A", "b", " a", "ä", "1", "01"]
    text = {"sqlite": "TEXT", "duckdb": "VARCHAR"}[scheme]

    def moved(kind):
        """Return how often another unit's rows were others after one unit's were."""
        count = 0
        for unit in ids[:3]:
            visits = [(str(u), int(x)) for u, x in zip(rng.choice(ids, 30), range(30), strict=True)]
            people = [(u, k % 2) for k, u in enumerate(ids)]
            made(tmp_path, scheme, kind, None, visits, people)
            before = rows_of_others(tmp_path, scheme, unit)
            kept = [[row for row in rows if row[0] != unit] for rows in (visits, people)]
            made(tmp_path, scheme, kind, None, *([*rows, (unit, 99)] for rows in kept))
            count += rows_of_others(tmp_path, scheme, unit) != before
        return count

    assert moved(text) == 0
    assert moved(f"{text} COLLATE NOCASE") > 0  # "a" and "A" are equal there, and two units here


def test_a_collation_is_seen_by_the_text_that_makes_the_table(tmp_path, monkeypatch):
    for scheme, module in (("sqlite", sqlite_reader), ("duckdb", duckdb_reader)):
        kind = {"sqlite": "TEXT", "duckdb": "VARCHAR"}[scheme]
        rows = [("a", 1), ("A", 0)]
        address = made(tmp_path, scheme, f"{kind} COLLATE NOCASE", None, rows, rows)
        with pytest.raises(InvalidInputError, match="joined by 'pid'"):
            read(address, JOIN)
        monkeypatch.setattr(module, "_kind_of_ids", lambda *_, of=kind: of)  # the broken twin
        assert len(read(address, JOIN).y) == 4  # each person's row with the other's
