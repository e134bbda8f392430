"""The entries of a ledger, byte for byte, in a file and in a database, and what is shown of it."""

import hashlib
import json
from pathlib import Path

from golden.command import dpcore
from golden.ledgers import stored
from golden.ledgers.runs import make, make_of_units


def records():
    """Return the rows of a ledger in a SQLite file, and what the commands say of it."""
    make("table.ledger")
    verified = dpcore("dpcore ledger verify table.ledger model.json pure.json")
    rows, made = stored.of_file("table.ledger")
    steady = stored.steadied(rows, _models())
    Path("table.ledger").unlink()
    return {
        **told(steady),
        "tables of SQLite": [line for sql in made for line in sql.splitlines()],
        "dpcore ledger verify": [*verified.out.splitlines(), *verified.err.splitlines()],
        **shown(steady, made),
        **_of_units(),
    }


def _of_units():
    """Return what a ledger holds whose unit is a person."""
    make_of_units("units.ledger")
    rows, _ = stored.of_file("units.ledger")
    found = told(stored.steadied(rows, []))
    return {f"of units, {name}": value for name, value in found.items()}


def of_database(address):
    """Return the rows of a ledger that the same runs make in a database."""
    make(address)
    return told(stored.steadied(stored.of_database(address), _models()))


def told(rows):
    """Return rows as records."""
    entries = [[number, kind, at, json.loads(text), digest]
               for number, kind, at, text, digest in rows.entry]  # fmt: skip
    return {
        **{f"entry {entry[0]}": entry for entry in entries},
        "releases": [list(row) for row in rows.release],
        "ended": [run for (run,) in rows.ended],
    }


def rows_of(records):
    """Return the rows that were told."""
    entries = [value for name, value in records.items() if name.startswith("entry ")]
    return stored.Stored(
        [(*entry[:3], stored.text_of(entry[3]), entry[4]) for entry in entries],
        [tuple(row) for row in records["releases"]],
        [(run,) for run in records["ended"]],
    )


def shown(rows, made):
    """Return what is shown of a ledger of these rows, of this version or an earlier one."""
    stored.write_file("earlier.ledger", rows, made)
    lines = dpcore("dpcore ledger show earlier.ledger").out.splitlines()
    whole = json.loads(dpcore("dpcore ledger show earlier.ledger --json").out)
    return {
        "dpcore ledger show": [line.rstrip() for line in lines],
        "dpcore ledger show --json": {**whole, "runs": whole["runs"][:1]},
    }


def _models():
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in Path().glob("*.json")]
