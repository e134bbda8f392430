"""Queries of a PostgreSQL server: by declared types, in one snapshot, refused before a charge."""

import datetime
import logging
import os
import time
from contextlib import contextmanager

import pytest
from canaries import NUMBER, WORD, leaks_of, raised_by
from features import load_features

import dpcore
from dpcore import Schema
from dpcore.errors import DataError, DpcoreError, InvalidInputError
from dpcore.plugin.parts import Dataset
from dpcore_ledger import TableLedger, Terms
from dpcore_tables.databases import postgresql
from dpcore_tables.databases.address import with_query
from dpcore_tables.files import entry_of
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
TABLE = """DROP SCHEMA IF EXISTS t CASCADE; CREATE SCHEMA t;
CREATE TABLE t.people (id serial PRIMARY KEY, age numeric, city text, born date, member bool,
    paid int);
CREATE VIEW t.seen AS SELECT * FROM t.people LIMIT 1"""
DAY = datetime.date(1980, 5, 17)
ROWS = [(40, "Bern", DAY, True, 1), (40.5, "7", DAY, False, 0), (31, "Genf", DAY, True, 1)]
INSERT = "INSERT INTO t.people (age, city, born, member, paid) VALUES (%s, %s, %s, %s, %s)"


@pytest.fixture
def address(server):
    server.connection.execute(TABLE)
    for row in ROWS:
        server.connection.execute(INSERT, row)
    return f"{server.database}&options=-csearch_path%3Dt"


def read(address, query=ALL, claimed=False, **others):
    schema = Schema.from_toml(others.pop("schema", SCHEMA))
    return Dataset.from_file(with_query(address, query, claimed), schema, **others)


def features(address, query=ALL):
    address = with_query(address, query, False)
    return load_features(address, Schema.from_toml(SCHEMA)).toarray().tolist()


def test_cells_are_read_as_those_of_a_text_file(address, tmp_path):
    lines = [",".join(str(cell) for cell in row) for row in ROWS]
    (tmp_path / "rows.csv").write_text("\n".join(["age,city,born,member,paid", *lines, ""]))
    schema, data = Schema.from_toml(SCHEMA), read(address)
    text = load_features(str(tmp_path / "rows.csv"), schema).toarray().tolist()
    assert features(address) == text and data.y.tolist() == [1, -1, 1]
    assert (data.typed_by, data.name, data.read_by[0]) == (
        "checked query of types",
        "postgres",
        "dpcore_tables.databases.postgresql:open_postgresql",
    )
    assert entry_of("postgres://host/db?query=x").name == "postgresql"


ODD = {
    "age": ["NaN", "Infinity", "-Infinity", "1e400", "-0", f"1.{'3' * 60}", f"{'9' * 500}", None],
    "city": ["", " 7 ", "7.0", "Bérn", "１", None, "9" * 9999, "NULL", "\\N", "a\tb"],
    "born": ["infinity", "-infinity", "0044-03-15 BC", "12000-01-01", "0001-01-01", None],
    "member": [True, False, None],
    "paid": [0, 1, 2, -(2**31), None],
}


@pytest.mark.some_fast
@pytest.mark.parametrize("column", ODD)
def test_an_odd_cell_moves_no_other_row(address, server, column):
    """The rule of the data: a cell by itself."""
    before, n = _parts(read(address)), len(ROWS)
    for odd in ODD[column]:
        server.connection.execute("DELETE FROM t.people WHERE id > %s", (n,))
        server.connection.execute(INSERT, ROWS[0])
        setting = f"UPDATE t.people SET {column} = %s WHERE id > %s"
        server.connection.execute(setting, (odd, n))
        after = _parts(read(address, bad_rows="drop"))
        assert {len(part) for part in after} <= {n, n + 1}
        assert [part[:n].tobytes() for part in after] == [part.tobytes() for part in before], odd


def _parts(data):
    (piece,) = data.X.pieces()
    return piece.numeric, piece.codes, data.y


def test_declared_types_decide_and_no_cell(address, server):
    template = schema_template(with_query(address, f"{ALL} where age > 3", False), "paid")
    kinds = {"age": "numeric", "city": "categorical", "born": "date", "member": "boolean"}
    for column, kind in kinds.items():
        assert f'"{column}" = {{ kind = "{kind}"' in template
    assert "postgres" in template and "ann@" not in template and "select" not in template
    listed = SCHEMA.replace('categories = ["Bern", "Basel", "7"]', 'categories = ["07", "x"]')
    with pytest.raises(DataError, match="is of type"):
        read(address, ALL.replace("city", "paid * 1 as city"), schema=listed)


def test_types_of_every_sort_are_read(address, server):
    server.connection.execute(
        "CREATE TYPE t.mood AS ENUM ('Bern', 'sad'); CREATE DOMAIN t.small AS int;"
        "CREATE TABLE t.odd (age t.small, city t.mood, born timestamptz, member bool, paid int8,"
        ' a json, b int[], c bytea, d interval, e uuid, f "char", g char(9), h float4);'
        "INSERT INTO t.odd VALUES (40, 'Bern', '1980-05-17 01:00+02', true, 1, '[1]', '{1}',"
        " 'x', '1 day', gen_random_uuid(), 'x', 'x', 0.1)"
    )
    first = features(address, ALL.replace("people", "odd"))
    assert first[0][:4] == features(address)[0][:4]
    sources = dict.fromkeys("abcdefgh", "city")
    for name in sources:
        query = ALL.replace("city", f"{name} as city").replace("people", "odd")
        if name != "h":
            assert len(read(address, query).y) == 1
    day_before = load_features(
        with_query(address, ALL.replace("people", "odd"), False), Schema.from_toml(SCHEMA)
    ).toarray()
    assert day_before[0, 4] < features(address)[0][4]  # The day in UTC is the one before.


REFUSED = {
    "select agee, city, born, member, paid from people": "no column 'agee' in the table",
    "select ctid, age, city, born, member, paid from people": "no column 'ctid' in the table",
    "select people, age, city, born, member, paid from people": "no column 'people' in the table",
    'select "Age", city, born, member, paid from people': "no column 'Age' in the table .* is text",
    "select age, city, born, member, paid from persons": "no table 'persons'",
    'select age, city, born, member, paid from "People"': "no table 'People'",
    "select age, city, born, member, paid from t.seen": "'seen' is no plain table but, say, a view",
    "select age, city, born, member, paid from pg_catalog.pg_stats": "is no plain table",
    "select stanullfrac as age from pg_catalog.pg_statistic": "is no plain table",
    "select age, city from people": "no column 'born'|no label column",
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_is_not_there_is_said_in_a_line(address, query):
    with pytest.raises(DpcoreError, match=REFUSED[query]) as caught:
        read(address, query)
    assert "\n" not in str(caught.value)


CLAIMED = {
    "select agee from people": 'cannot answer the query: column "agee" does not exist',
    "select age from persons": 'cannot answer the query: relation "persons" does not exist',
    "select my_own(age) from people": "cannot answer the query: function my_own",
    "select age::mood from people": 'cannot answer the query: type "mood" does not exist',
}


@pytest.mark.parametrize("query", CLAIMED)
def test_what_the_server_cannot_answer_is_said_in_a_line(address, query):
    with pytest.raises(InvalidInputError, match=CLAIMED[query]) as caught:
        read(address, query, claimed=True)
    assert "\n" not in str(caught.value)


def test_names_are_folded_as_the_server_does(address):
    assert len(read(address, ALL.upper().replace("SELECT AGE", "SELECT p.AGE") + " p").y) == 3
    assert len(read(address, ALL.replace("age", '"age"').replace("people", 't."people"')).y) == 3


def test_nothing_can_be_written(address, server):
    server.connection.execute(
        "CREATE FUNCTION t.mine(x numeric) RETURNS numeric LANGUAGE plpgsql AS"
        " $$ BEGIN DELETE FROM t.people; RETURN x; END $$"
    )
    query = ALL.replace("age", "mine(age) as age")
    with pytest.raises(DataError, match="SQLSTATE 25006"):
        read(address, query, claimed=True)
    with pytest.raises(InvalidInputError, match="functions, operators or casts of its own"):
        read(address)  # A listed name may be one of them: lower(age) that reads the table.
    assert len(read(address, claimed=True).y) == 3


def test_a_table_with_policies_of_rows_needs_the_claim(address, server):
    server.connection.execute("ALTER TABLE t.people ENABLE ROW LEVEL SECURITY")
    with pytest.raises(InvalidInputError, match="is no plain table"):
        read(address)


def test_a_part_that_is_a_foreign_table_needs_the_claim(address, server):
    execute = server.connection.execute
    execute(
        "CREATE FOREIGN DATA WRAPPER elsewhere; CREATE SERVER far FOREIGN DATA WRAPPER elsewhere"
    )
    execute("CREATE TABLE t.part () INHERITS (t.people)")
    try:
        assert len(read(address).y) == 3
        execute("CREATE FOREIGN TABLE t.far_part () INHERITS (t.part) SERVER far")
        with pytest.raises(InvalidInputError, match="'people' is no plain table"):
            read(address)
    finally:
        execute("DROP FOREIGN DATA WRAPPER elsewhere CASCADE")


@pytest.mark.parametrize(
    ("kind", "name", "how"),
    [
        ("OPERATOR", "@@@", "(rightarg = int, function = int4abs)"),
        ("CAST", "(text AS bool)", "WITH INOUT"),
    ],
)
def test_operators_and_casts_of_its_own_need_the_claim(address, server, kind, name, how):
    server.connection.execute(f"CREATE {kind} {name} {how}")
    try:
        with pytest.raises(InvalidInputError, match="operators or casts of its own"):
            read(address)
    finally:
        server.connection.execute(f"DROP {kind} {name} {'(NONE, int)' if '@' in name else ''}")


@pytest.mark.parametrize("name", ["Äa", "\u212a1"])
def test_a_name_that_folds_in_two_ways_is_refused(address, server, monkeypatch, name):
    small, execute = name.lower(), server.connection.execute
    execute(f'CREATE TABLE t."{small}" AS SELECT * FROM t.people')
    execute(f'CREATE VIEW t."{name}" AS SELECT * FROM t.people LIMIT 1')
    with pytest.raises(InvalidInputError, match="capital letter beyond A to Z"):
        read(address, ALL.replace("people", name))
    assert len(read(address, ALL.replace("people", f'"{small}"')).y) == 3
    with pytest.raises(InvalidInputError, match="no plain table"):
        read(address, ALL.replace("people", f'"{name}"'))
    monkeypatch.setattr(postgresql, "folded", lambda each, _: each.lower())
    assert len(read(address, ALL.replace("people", name)).y) == 1  # the broken twin: the view


def _fails(message):
    return (
        "CREATE FUNCTION t.fails(x numeric) RETURNS numeric LANGUAGE plpgsql AS $$ BEGIN "
        f"RAISE EXCEPTION {message}; RETURN x; END $$"
    )


def test_no_error_carries_a_cell(address, server, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    server.connection.execute(INSERT, (NUMBER, WORD, DAY, True, 1))
    server.connection.execute(_fails("'% of %', x, (select max(city) from t.people)"))
    schema = Schema.from_toml(SCHEMA)
    queries = {
        ALL.replace("age", "city::numeric as age"): "SQLSTATE 22P02",
        ALL.replace("age", f"1 / (age - {NUMBER}) as age"): "SQLSTATE 22012",
        ALL.replace("age", "fails(age) as age"): "SQLSTATE P0001",
        ALL.replace("paid from", f"paid + {NUMBER - 1}::int8 as paid from"): "row 1 of the result",
    }
    acts = {
        "load": lambda asked: Dataset.from_file(asked, schema),
        "fit": lambda asked: dpcore.fit(asked, schema=schema, epsilon=1.0),
        "convert": lambda asked: convert(asked, tmp_path / "rows.dpcore", schema),
        "units": lambda asked: dpcore.fit(
            asked.replace("select", "select%20id,", 1),
            schema=schema,
            epsilon=1.0,
            unit="id",
            rows_per_unit=1,
        ),
    }
    for query, told in queries.items():
        for way, act in acts.items():
            asked = with_query(address, query, True)
            error = raised_by(lambda act=act, asked=asked: act(asked))
            assert isinstance(error, DataError) and told in str(error), (way, query, error)
            assert leaks_of(error) == [] and "\n" not in str(error), (way, query)
    assert os.listdir(tmp_path) == [] and WORD not in caplog.text and "select" not in caplog.text


def test_missing_rights_are_said_in_a_line(address, server):
    server.connection.execute("DROP ROLE IF EXISTS bea; CREATE ROLE bea LOGIN")
    server.connection.execute("GRANT USAGE ON SCHEMA t TO bea")
    with pytest.raises(DataError, match="may not read what the query names"):
        read(address.replace("ann@", "bea@"))
    server.connection.execute("GRANT SELECT (age) ON t.people TO bea")
    with pytest.raises(DataError, match="may not read what the query names"):
        read(address.replace("ann@", "bea@"))
    server.connection.execute("GRANT SELECT ON t.people TO bea")
    assert len(read(address.replace("ann@", "bea@")).y) == 3


def test_what_cannot_be_reached_is_said_in_a_line(address):
    for wrong in (
        address.replace("/postgres", "/nowhere"),
        address.replace("ann@", "nobody@"),
        "postgresql://ann@/postgres?host=%2Fnowhere",
        "postgresql://127.0.0.1:1/postgres",
    ):
        with pytest.raises(DataError, match="cannot be reached") as caught:
            read(wrong)
        assert "\n" not in str(caught.value)
    for wrong in ("postgresql://ann@a@b/c", "postgresql://h/d?x=1"):
        with pytest.raises(InvalidInputError, match="address|no address"):
            read(wrong)


@contextmanager
def in_the_midst(monkeypatch, act):
    """Fetch one row at a time, and act after the first."""
    monkeypatch.setattr("dpcore_tables.databases.postgresql.PIECE", 1)
    from dpcore_tables.databases import rows

    table, seen = rows.RawTable, []

    def made(*of):
        if len(seen) == 1:
            act()
        seen.append(of)
        return table(*of)

    monkeypatch.setattr(rows, "RawTable", made)
    yield seen


def _end_others(server):
    ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name='dpcore'"
    server.connection.execute(ended)
    time.sleep(0.2)


def test_a_lost_connection_leaves_nothing(address, server, tmp_path, monkeypatch):
    with in_the_midst(monkeypatch, lambda: _end_others(server)) as seen:
        schema = Schema.from_toml(SCHEMA)
        asked = with_query(address, ALL, False)
        with pytest.raises(DataError, match="the connection was lost before all rows") as caught:
            convert(asked, tmp_path / "rows.dpcore", schema)
        assert leaks_of(caught.value) == [] and os.listdir(tmp_path) == []
        seen.clear()
        with pytest.raises(DataError, match="the connection was lost before all rows"):
            dpcore.fit(asked, schema=schema, epsilon=1.0)


@pytest.mark.some_fast
@pytest.mark.parametrize("step", range(9))
def test_a_connection_lost_at_any_step_leaves_nothing(address, server, tmp_path, monkeypatch, step):
    """Steps: settings, functions, the table, the query, and a fetch for each row and after them."""
    import psycopg

    steps = []

    def counted(act):
        def counting(*of, **words):
            steps.append(act.__name__)
            if len(steps) == step + 1:
                _end_others(server)
            return act(*of, **words)

        return counting

    monkeypatch.setattr("dpcore_tables.databases.postgresql.PIECE", 1)
    for of, name in (
        (psycopg.Connection, "execute"),
        (psycopg.ServerCursor, "execute"),
        (psycopg.ServerCursor, "fetchmany"),
    ):
        monkeypatch.setattr(of, name, counted(getattr(of, name)))
    asked, out = with_query(address, ALL, False), tmp_path / "rows.dpcore"
    error = raised_by(lambda: convert(asked, out, Schema.from_toml(SCHEMA)))
    if step == 8:
        assert error is None and len(steps) == 8
        return
    assert isinstance(error, DataError) and "\n" not in str(error) and leaks_of(error) == []
    assert "the connection was lost" in str(error) and os.listdir(tmp_path) == []


def test_all_rows_are_of_one_moment(address, server, monkeypatch):
    def changed():
        server.connection.execute("DELETE FROM t.people WHERE id = 3")
        server.connection.execute(INSERT, ROWS[0])
        server.connection.execute("UPDATE t.people SET age = 90")

    before = _parts(read(address))
    with in_the_midst(monkeypatch, changed):
        after = _parts(read(address))
    assert [part.tobytes() for part in after] == [part.tobytes() for part in before]


def test_a_column_that_vanishes_is_said_in_a_line(address, server):
    schema = Schema.from_toml(SCHEMA)
    server.connection.execute("ALTER TABLE t.people DROP COLUMN city CASCADE")
    with pytest.raises(InvalidInputError, match="no column 'city' in the table"):
        read(address)
    with pytest.raises(DataError, match="no column 'city'"):
        Dataset.from_file(with_query(address, "select * from people", False), schema)


def test_a_query_that_takes_too_long_is_ended(address, server):
    query = ALL.replace("age", "slow(age) as age")
    server.connection.execute(
        "CREATE FUNCTION t.slow(x numeric) RETURNS numeric LANGUAGE sql VOLATILE AS"
        " 'SELECT x FROM pg_sleep(60)'"
    )
    asked = address.replace("search_path%3Dt", "search_path%3Dt%20-cstatement_timeout%3D200")
    with pytest.raises(DataError, match="statement_timeout"):
        read(asked, query, claimed=True)


def test_a_locked_table_is_waited_for_no_longer_than_said(address, server, monkeypatch):
    from dpcore_tables.databases import postgresql

    monkeypatch.setitem(postgresql._SETTINGS, "lock_timeout", "100ms")
    with server.connection.transaction():
        server.connection.execute("LOCK TABLE t.people")
        with pytest.raises(DataError, match="another transaction has locked it"):
            read(address)


def test_a_charge_is_made_after_all_rows_are_read(address, server, tmp_path, monkeypatch):
    place = str(tmp_path / "table.ledger")
    TableLedger.create(place, Terms.of(2.0, 1e-6)).close()
    asked, schema = with_query(address, ALL, False), Schema.from_toml(SCHEMA)

    def fitted():
        return dpcore.fit(asked, schema=schema, epsilon=1.0, ledger=place)

    before = (tmp_path / "table.ledger").read_bytes()
    with in_the_midst(monkeypatch, lambda: _end_others(server)):
        with pytest.raises(DataError, match="the connection was lost"):
            fitted()
    assert (tmp_path / "table.ledger").read_bytes() == before
    monkeypatch.undo()
    assert fitted().privacy["private"]
    after = (tmp_path / "table.ledger").read_bytes()
    assert after != before and b"people" not in after and b"postgresql" not in after


@pytest.mark.parametrize("place", [13, 15, 17])
def test_a_table_of_altered_bytes_is_refused_in_a_line(address, server, tmp_path, place):
    """Bytes of the head of a page: of the others some end the server itself."""
    # The server writes the file anew beside its buffers, which would hide what is altered.
    server.connection.execute("CREATE TABLE t.bare AS SELECT * FROM t.people")
    server.connection.execute("VACUUM FULL t.bare")
    server.connection.execute("CHECKPOINT")
    ((name,),) = server.connection.execute("SELECT pg_relation_filepath('t.bare')").fetchall()
    content = bytearray((server.folder / "data" / name).read_bytes())
    content[place] ^= 0xFF
    (server.folder / "data" / name).write_bytes(content)
    TableLedger.create(str(tmp_path / "table.ledger"), Terms.of(9.0, 1e-6)).close()
    before, schema = (tmp_path / "table.ledger").read_bytes(), Schema.from_toml(SCHEMA)
    asked = with_query(address, ALL.replace("people", "bare"), False)
    words = {"epsilon": 1.0, "delta": 1e-6, "ledger": str(tmp_path / "table.ledger")}
    for act in (
        lambda: dpcore.fit(asked, schema=schema, **words),
        lambda: convert(asked, tmp_path / "rows.dpcore", schema),
    ):
        error = raised_by(act)
        assert isinstance(error, DataError) and "SQLSTATE XX001" in str(error), error
        assert "\n" not in str(error) and leaks_of(error) == []
    assert (tmp_path / "table.ledger").read_bytes() == before
    assert os.listdir(tmp_path) == ["table.ledger"]


@pytest.mark.slow
def test_a_killed_server_leaves_nothing(tmp_path, monkeypatch):
    from postgresql_server import Server

    server = Server()
    try:
        server.connection.execute(TABLE)
        for row in ROWS:
            server.connection.execute(INSERT, row)
        asked = with_query(f"{server.database}&options=-csearch_path%3Dt", ALL, False)

        def kill():
            server.process.kill()
            server.process.wait()
            _wait_for_backends(server)

        with in_the_midst(monkeypatch, kill):
            with pytest.raises(DataError, match="the connection was lost before all rows"):
                convert(asked, tmp_path / "rows.dpcore", Schema.from_toml(SCHEMA))
        assert os.listdir(tmp_path) == []
        with pytest.raises(DataError, match="cannot be reached"):
            Dataset.from_file(asked, Schema.from_toml(SCHEMA))
    finally:
        server.stop()


def _wait_for_backends(server):
    """Wait until the processes of a killed server have noticed."""
    time.sleep(2.0)
