"""Joins by the ids of units in PostgreSQL: without a claim where equal ids are the same ids."""

import numpy as np
import pytest

import dpcore
from dpcore import Schema
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin.parts import Dataset
from dpcore_tables.databases import postgresql, queries
from dpcore_tables.databases.address import with_query

COLUMNS = Schema.from_toml("""[columns]
x = { kind = "numeric", lower = 0, upper = 90 }
paid = { kind = "label", classes = [0, 1] }
""")
SCHEMA = COLUMNS.with_units("pid", 4)
JOIN = "select pid, x, paid from visits join people using (pid)"
ON = "select v.pid, x, paid from visits v join people p on v.pid = p.pid"
KINDS = {
    "int": "int", "bigint": "bigint", "uuid": "uuid", "text": "text", "text C": 'text COLLATE "C"',
}  # fmt: skip
UNLIKE = {
    "numeric": ("numeric", "numeric"),
    "float": ("float8", "float8"),
    "char": ("char(4)", "char(4)"),
    "varchar": ("varchar(9)", "varchar(9)"),
    "two types": ("int", "bigint"),
    "domain": ("t.id", "t.id"),
    "folded": ("text COLLATE t.folded", "text COLLATE t.folded"),
}


def made(server, of_visits, of_people=None, visits=(), people=()):
    """Make two tables, and return the address of the database."""
    execute = server.connection.execute
    execute("DROP SCHEMA IF EXISTS t CASCADE; CREATE SCHEMA t; CREATE DOMAIN t.id AS int")
    execute(
        "CREATE COLLATION t.folded (provider = icu, locale = 'und-u-ks-level2',"
        " deterministic = false)"
    )
    execute(f"CREATE TABLE t.visits (pid {of_visits}, x int, day int)")
    execute(f"CREATE TABLE t.people (pid {of_people or of_visits}, paid int, day int)")
    for table, rows in (("visits", visits), ("people", people)):
        server.connection.cursor().executemany(f"INSERT INTO t.{table} VALUES (%s, %s, 1)", rows)
    return f"{server.database}&options=-csearch_path%3Dt"


def read(address, query, claimed=False, schema=SCHEMA):
    return Dataset.from_file(with_query(address, query, claimed), schema)


@pytest.mark.parametrize("kind", KINDS)
def test_a_join_by_ids_that_are_the_same_needs_no_claim(server, kind):
    names = [f"00000000-0000-0000-0000-00000000000{k}" if kind == "uuid" else str(k) for k in "123"]
    visits = [(names[0], 10), (names[0], 20), (names[1], 30), (None, 5)]
    people = [(names[0], 1), (names[1], 0), (names[2], 1), (None, 1)]
    address = made(server, KINDS[kind], None, visits, people)
    for query in (JOIN, ON, f"{ON} and v.day = p.day and (x < 99 or paid = 2) where x > 1"):
        data = read(address, query)
        assert data.typed_by == "checked query of types of units"
        assert sorted(data.y.tolist()) == [-1, 1, 1] and len({*data.units}) == 2
    three = f"{ON} join people q on (q.pid = v.pid) and q.day > 0"
    assert len(read(address, three.replace(" x, paid", " x, p.paid")).y) == 3
    model = dpcore.fit(with_query(address, JOIN, False), schema=SCHEMA, epsilon=1.0, delta=1e-6)
    told = model.privacy["sentence"]
    assert "by the query's text, each row of its result comes from rows of its unit alone" in told


@pytest.mark.parametrize("kinds", UNLIKE)
def test_ids_that_may_be_equal_and_not_the_same_need_the_claim(server, kinds):
    address = made(server, *UNLIKE[kinds], [(7, 10)], [(7, 1)])
    for query in (JOIN, ON):
        with pytest.raises(InvalidInputError, match="joined by 'pid', whose types.*-claim"):
            read(address, query)
        assert len(read(address, query, claimed=True).y) == 1


OTHERS = [
    "select pid, x, paid from visits left join people using (pid)",
    "select pid, x, paid from visits right join people using (pid)",
    "select pid, x, paid from visits full join people using (pid)",
    "select pid, x, paid from visits natural join people",
    "select v.pid, x, paid from visits v cross join people p",
    "select v.pid, x, paid from visits v, people p where v.pid = p.pid",
    "select v.pid, x, paid from visits v join people p on v.day = p.day",
    "select v.pid, x, paid from visits v join people p using (day)",
    "select pid, x, paid from visits join people using (pid, day)",
    "select v.pid, x, paid from visits v join people p on v.pid = p.pid or x > 3",
    "select v.pid, x, paid from visits v join people p on not (v.pid = p.pid)",
    "select v.pid, x, paid from visits v join people p on v.pid <= p.pid",
    "select v.pid, x, paid from visits v join people p on v.pid = p.pid + 0",
    "select v.pid, x, paid from visits v join people p on v.pid = v.pid",
    "select v.pid, x, paid from visits v join people p on v.pid is not distinct from p.pid",
    "select v.pid, x, paid from visits v join people p on v.pid = p.day",
    "select v.pid, x, q.paid from visits v join people p on v.pid = p.pid join people q"
    " on q.day = v.day",
    "select v.pid, x, paid from visits v(x, pid, day) join people p on v.pid = p.pid",
    "select pid, sum(x) as x, paid from visits join people using (pid) group by pid, paid",
    "select pid, sum(x) over () as x, paid from visits join people using (pid)",
    "select distinct pid, x, paid from visits join people using (pid)",
    "select pid, x, paid from visits join people using (pid) limit 3",
    "select pid, x, paid from visits join people using (pid) where x in (select day from people)",
    "select pid, x, paid from visits join (select * from people) as p using (pid)",
    "select pid, x, paid from visits join lateral (select paid) as p on true",
    "select v.day as pid, x, paid from visits v join people p on v.pid = p.pid",
    "select v.pid + 0 as pid, x, paid from visits v join people p on v.pid = p.pid",
    "select pid::bigint, x, paid from visits join people using (pid)",
    "select * from visits join people using (pid)",
    "select v.*, paid from visits v join people p on v.pid = p.pid",
    "select x, paid from visits join people using (pid)",
    "select v.pid, x, paid from visits v join visits v on v.pid = v.pid",
    "select pid, x, paid from visits join people tablesample system (50) using (pid)",
    'select "PID" as pid, x, paid from visits join people using ("PID")',
    "select v.pid, p.pid, x, paid from visits v join people p on v.pid = p.pid",
    "select v.pid, p.day::int as pid, x, paid from visits v join people p on v.pid = p.pid",
    "select t.visits.pid, x, paid from t.visits join t.people on t.visits.pid = t.people.pid",
]


@pytest.mark.parametrize("query", OTHERS)
def test_what_is_not_by_the_ids_alone_is_refused(server, query):
    address = made(server, "int", None, [(1, 10)], [(1, 1)])
    with pytest.raises(InvalidInputError, match="--row-wise-claim|TABLESAMPLE") as told:
        read(address, query)
    assert ("USING (pid)" in f"{told.value}") == ("a JOIN:" in f"{told.value}")


def test_a_second_column_of_the_name_of_the_ids_is_refused(server):
    address = made(server, "int", None, [(1, 10)], [(1, 1)])
    with pytest.raises(DataError, match="duplicate column name 'pid'"):
        read(address, ON.replace("x, paid", "x, p.pid::bigint, paid"))


def test_rows_that_are_units_by_themselves_and_no_units_at_all_need_the_claim(server):
    address = made(server, "text", None, [("", 10), ("1", 20)], [("", 1), ("1", 0)])
    for schema in (COLUMNS.with_units("pid", 4, unit_missing="row"), COLUMNS):
        with pytest.raises(InvalidInputError, match="has a JOIN"):
            read(address, JOIN, schema=schema)
    view = "CREATE VIEW t.seen AS SELECT pid, min(paid) OVER () AS paid FROM t.people"
    server.connection.execute(view)
    with pytest.raises(InvalidInputError, match="no plain table"):
        read(address, JOIN.replace("people", "seen"))


def test_a_column_of_another_name_to_the_server_is_none_of_the_ids(server, monkeypatch):
    address = made(server, "int", None, [(1, 10), (2, 20)], [(1, 1), (2, 0)])
    for table in ("visits", "people"):
        server.connection.execute(f'ALTER TABLE t.{table} RENAME pid TO "né"')
        server.connection.execute(f'ALTER TABLE t.{table} RENAME day TO "nÉ"')
    query, schema = (
        'select v."né", x, paid from visits v join people p on ',
        COLUMNS.with_units("né", 4),
    )
    assert len(read(address, f"{query} v.né = p.né", schema=schema).y) == 2
    with pytest.raises(InvalidInputError, match="has a JOIN"):
        read(address, f"{query} v.nÉ = p.nÉ", schema=schema)
    for module in (queries, postgresql):
        monkeypatch.setattr(
            module, "folded", lambda name, is_quoted: name if is_quoted else name.lower()
        )
    assert len(read(address, f"{query} v.nÉ = p.nÉ", schema=schema).y) == 4  # the broken twin


def test_an_operator_that_is_taken_for_equality_needs_the_claim(server):
    address = made(server, "int", None, [(1, 10), (2, 20)], [(1, 1), (2, 0)])
    made_of = "t.== (LEFTARG = int, RIGHTARG = int, FUNCTION = int4ne)"
    server.connection.execute(f"CREATE OPERATOR {made_of}")
    query = ON.replace("v.pid = p.pid", "v.pid == p.pid")
    with pytest.raises(InvalidInputError, match="operators or casts of its own"):
        read(address, query)
    assert len(read(address, query, claimed=True).y) == 2  # each person's row with the other's


def rows_of_others(server, query, unit):
    """Return the result's rows of all other units, by the text that an id has."""
    with server.connection.transaction():
        server.connection.execute("SET LOCAL search_path = t")
        rows = server.connection.execute(query).fetchall()
    return sorted(row for row in rows if str(row[0]) != unit)


def test_all_rows_of_a_unit_move_no_other_units_rows(server):
    rng, ids = np.random.default_rng(5), ["a", "A", "b", " a", "ä", "1", "01"]

    def moved(kind):
        """Return how often another unit's rows were others after one unit's were."""
        count = 0
        for unit in ids[:3]:
            visits = [(str(u), int(x)) for u, x in zip(rng.choice(ids, 30), range(30), strict=True)]
            people = [(u, k % 2) for k, u in enumerate(ids)]
            made(server, kind, None, visits, people)
            before = rows_of_others(server, ON, unit)
            for table in ("visits", "people"):
                server.connection.execute(
                    f'DELETE FROM t.{table} WHERE pid = %s COLLATE "C"', [unit]
                )
                row = (unit, int(rng.integers(9)))
                server.connection.execute(f"INSERT INTO t.{table} VALUES (%s, %s, 1)", row)
            count += rows_of_others(server, ON, unit) != before
        return count

    assert moved("text") == 0
    assert moved("text COLLATE t.folded") > 0  # "a" and "A" are equal there, and two units here
