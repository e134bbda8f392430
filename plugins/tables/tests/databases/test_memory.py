"""The memory of a query's rows: that of some at a time, however many there are."""

import gc
import sqlite3
import tracemalloc
from contextlib import closing

import duckdb as driver
import pyarrow as pa
import pytest

from dpcore import Schema
from dpcore_tables.databases import duckdb, postgresql, sqlite
from dpcore_tables.databases.address import with_query
from dpcore_tables.databases.rows import PIECE
from dpcore_tables.raw.reader import ReadFacts
from dpcore_tables.store import convert

SCHEMA = Schema.from_toml("""[columns]
age = { kind = "numeric", lower = 0, upper = 90 }
paid = { kind = "label", classes = [0, 1] }
""")
QUERY = "select age, paid from people"


def in_sqlite(path, n, server):
    rows = "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < ?)"
    with closing(sqlite3.connect(path)) as opened:
        opened.execute("CREATE TABLE people (age, paid)")
        opened.execute(f"INSERT INTO people {rows} SELECT i % 90, i % 3 = 0 FROM t", (n,))
        opened.commit()
    return f"sqlite:///{path}"


def in_duckdb(path, n, server):
    with driver.connect(str(path)) as opened:
        cells = "i % 90 AS age, (i % 3 = 0)::INT AS paid"
        opened.execute(f"CREATE TABLE people AS SELECT {cells} FROM range({n}) t(i)")
    return f"duckdb:///{path}"


def in_postgresql(path, n, server):
    asked = f"SELECT i % 90 AS age, (i % 3 = 0)::int AS paid FROM generate_series(1, {n}) AS i"
    server.connection.execute("DROP SCHEMA IF EXISTS many CASCADE; CREATE SCHEMA many")
    server.connection.execute(f"CREATE TABLE many.people AS {asked}")
    return f"{server.database}&options=-csearch_path%3Dmany"


def peak_of(act):
    """Return the most bytes that Python, NumPy and Arrow had at once."""
    gc.collect()
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1] + (pool.max_memory() or 0)
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)


SOURCES = {
    "sqlite": (in_sqlite, sqlite, sqlite.open_sqlite),
    "postgresql": (in_postgresql, postgresql, postgresql.open_postgresql),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_reader_holds_some_rows_at_a_time(tmp_path, monkeypatch, request, name):
    write, module, open_source = SOURCES[name]
    server = request.getfixturevalue("server") if name == "postgresql" else None

    def peak(n, piece):
        monkeypatch.setattr(module, "PIECE", piece)
        source = write(tmp_path / f"{n} of {piece}", n, server)
        rows = open_source(with_query(source, QUERY, False), ReadFacts(SCHEMA))
        return peak_of(lambda: sum(piece.n_rows for piece in rows.pieces()))

    peak(1, 2**9)  # what is imported stays
    least = peak(2**10, 2**9)
    assert peak(2**12, 2**9) < 1.1 * least
    assert peak(2**12, 2**12) > 2 * least  # a reader that takes all rows at once


@pytest.mark.slow
def test_a_store_is_written_in_the_memory_of_some_blocks(tmp_path, monkeypatch):
    """DuckDB allocates its batches itself: what is counted is what is made of them."""

    def peak(n):
        source = with_query(in_duckdb(tmp_path / str(n), n, None), QUERY, False)
        return peak_of(lambda: convert(source, tmp_path / "rows.dpcore", SCHEMA))

    peak(1)
    least = peak(2 * PIECE)
    assert peak(16 * PIECE) < 1.1 * least
    monkeypatch.setattr(duckdb, "PIECE", 24 * PIECE)  # all rows at once
    assert peak(24 * PIECE) > 2 * least
