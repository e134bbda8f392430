"""Ledgers in both stores: a file, and a database of a server that the tests start."""

import sqlite3
import sys
from pathlib import Path

import pytest

from dpcore_ledger import TableLedger, Terms

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path) -> str:
    """The name of a ledger that is not there yet, in either store."""
    if request.param == "sqlite":
        return str(tmp_path / "table.ledger")
    return request.getfixturevalue("server").address()


@pytest.fixture
def any_ledger(place):
    """A ledger of epsilon 2 in either store."""
    it = TableLedger.create(place, Terms.of(2.0, 1e-6))
    yield it
    it.close()


@pytest.fixture
def file_ledger(tmp_path) -> TableLedger:
    """One in a file, whose bytes a test is about."""
    return TableLedger.create(tmp_path / "table.ledger", Terms.of(2.0, 1e-6))


@pytest.fixture
def by_hand():
    """A function that changes a ledger, or looks into it, behind its back."""

    def execute(ledger: TableLedger, statement: str, values: tuple = ()) -> list:
        ledger.close()
        if ledger.path.startswith("postgresql:"):
            import psycopg

            base, _, schema = ledger.path.rpartition("&ledger=")
            with psycopg.connect(base, options=f"-c search_path={schema}") as connection:
                found = connection.execute(statement.replace("?", "%s"), values or None)
                return found.fetchall() if found.description else []
        file = sqlite3.connect(ledger.path)
        try:
            with file:
                return file.execute(statement, values).fetchall()
        finally:
            file.close()

    return execute
