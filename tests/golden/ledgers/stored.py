"""The rows of a ledger's tables, as whoever opens the file or the database finds them.

No seam of the project pins times, random ids and digests of files. They are replaced here, and all
digests after them computed anew, by formulas of this module's own, which hold for the stored rows
first: what comes out is a ledger that could have been, and every ``dpcore ledger`` reads it.
"""

import hashlib
import json
import re
import sqlite3
from contextlib import closing
from typing import NamedTuple

TABLES = {
    "entry": ("number", "kind", "at", "body", "digest"),
    "release": ("run", "place", "body", "digest"),
    "ended": ("run",),
}
_MARKS = ("application_id", "user_version")
_AT = "2026-01-02T03:04:05+00:00"
_TIMED = ("opened", "reserved", "outside", "raised")
_HEXADECIMAL = re.compile(r"[0-9a-f]+")


class Stored(NamedTuple):
    """The rows of each table, in order."""

    entry: list[tuple]
    release: list[tuple]
    ended: list[tuple]


def of_file(path):
    """Return the rows of a SQLite file, and the statements and marks that made its tables."""
    with closing(sqlite3.connect(path)) as file:
        rows = Stored(*(file.execute(_select(table)).fetchall() for table in TABLES))
        made = [sql for (sql,) in file.execute("SELECT sql FROM sqlite_master WHERE sql <> ''")]
        marks = {name: file.execute(f"PRAGMA {name}").fetchone()[0] for name in _MARKS}
    return rows, [*(f"PRAGMA {name} = {mark}" for name, mark in marks.items()), *made]


def of_database(address):
    """Return the rows of a ledger in PostgreSQL."""
    import psycopg

    base, _, schema = address.rpartition("&ledger=")
    with psycopg.connect(base, options=f"-c search_path={schema}") as database:
        return Stored(*([tuple(row) for row in database.execute(_select(t))] for t in TABLES))


def _select(table):
    columns = TABLES[table]
    return f"SELECT {', '.join(columns)} FROM {table} ORDER BY {', '.join(columns[:2])}"


def write_file(path, rows, made):
    """Write such rows as the ledger of a SQLite file."""
    with closing(sqlite3.connect(path)) as file, file:
        for statement in made:
            file.execute(statement)
        for table, columns in TABLES.items():
            places = ", ".join("?" * len(columns))
            file.executemany(f"INSERT INTO {table} VALUES ({places})", getattr(rows, table))


def steadied(rows, models):
    """Return the rows with times, random ids and digests that are the same whenever they are
    written, all else as it is.

    ``models`` : the SHA-256 of each model's file, by which a ledger may know it.
    """
    new = {"": ""}
    entries, releases, before = [], [], ""
    for number, kind, at, text, digest in rows.entry:
        assert digest == digest_of_entry(before, number, kind, at, text)
        assert bool(at) == (kind in _TIMED) and (not at or len(at) == len(_AT))
        body = json.loads(text)
        assert text == text_of(body)
        body = _steady(body, kind, number, new, models)
        at = at and _AT
        new[digest] = digest_of_entry(new[before], number, kind, at, text_of(body))
        entries.append((number, kind, at, text_of(body), new[digest]))
        releases += _steady_releases([row for row in rows.release if row[0] == number], digest, new)
        before = digest
    return Stored(entries, sorted(releases), rows.ended)


def _steady(body, kind, number, new, models):
    if kind == "opened":
        assert _HEXADECIMAL.fullmatch(body["id"]) and len(body["id"]) == 32
        return body | {"id": f"{number:032x}"}
    if kind == "reserved":
        assert _HEXADECIMAL.fullmatch(body["nonce"]) and len(body["nonce"]) == 32
        return body | {"nonce": f"{number:032x}"}
    if kind == "model":
        assert body["digest"] in models
        return body | {"digest": f"{number:064x}"}
    return body | ({"last": new[body["last"]]} if "last" in body else {})


def _steady_releases(rows, before, new):
    """Yield the releases of a run, whose digests follow from that of its reservation."""
    for run, place, text, digest in rows:
        assert digest == digest_of_release(before, run, place, text)
        text = _with_rounded_cost(text)
        new[digest] = digest_of_release(new[before], run, place, text)
        yield run, place, text, new[digest]
        before = digest


def _with_rounded_cost(text):
    """Return a release's text with 13 digits of its cost: the grid of a sum may follow from noise,
    as that of released counts, and the last digit then differs from run to run."""
    body = json.loads(text)
    assert text == json.dumps(body)
    return json.dumps(body | {"cost": float(f"{body['cost']:.13g}")})


def text_of(body):
    """Return the text of an entry's body."""
    return json.dumps(body, sort_keys=True)


def digest_of_entry(before, number, kind, at, text):
    """Return the SHA-256 of an entry and of all before it."""
    whole = f"{before} {number} {len(kind)} {len(at)} {kind}{at}{text}"
    return hashlib.sha256(whole.encode()).hexdigest()


def digest_of_release(before, run, place, text):
    """Return the SHA-256 of a release and of all of its run before it."""
    return hashlib.sha256(json.dumps([before, run, place, text]).encode()).hexdigest()
