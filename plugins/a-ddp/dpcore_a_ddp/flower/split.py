"""One table shared out to users, a folder for each: to try a deployment on one machine.

Whoever does this can read every row; in earnest each user has its own file to begin with.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from dpcore import Schema
from dpcore.errors import DataError
from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import format_of
from dpcore_a_ddp.users.messages import User

__all__ = ["count_rows", "share_out"]

_LINES = ("csv", "whitespace", "libsvm")


def count_rows(data: str | os.PathLike[str], schema: Schema) -> int:
    """Return how many lines with a row a text file has. A line is a row: no cell breaks one."""
    with open(data, "rb") as file:
        lines = sum(1 for line in file if line.strip())
    return lines - _head_lines(data, schema)


def share_out(
    data: str | os.PathLike[str],
    schema_file: str | os.PathLike[str],
    users: Sequence[User],
    folder: str | os.PathLike[str],
    relation: str,
    accountant: str,
    seed: int | None,
) -> list[Path]:
    """Return the users' files of settings, each in a folder of its own with the user's rows.

    What is there already stays: a folder that was shared out before keeps its ledgers. Raises
    InvalidInputError for a file that is no text of lines, or that is compressed.
    """
    schema = Schema.read(schema_file)
    suffix = Path(data).suffix
    made = []
    with open(data, "rb") as file:
        lines = (line.rstrip(b"\r\n") + b"\n" for line in file if line.strip())
        head = list(islice(lines, _head_lines(data, schema)))
        for place, user in enumerate(users):
            own = Path(folder) / f"user-{place}"
            own.mkdir(mode=0o700, parents=True, exist_ok=True)
            rows = list(islice(lines, user.n_rows))
            _keep(own / f"rows{suffix}", b"".join(head + rows))
            _keep(own / "schema.toml", schema.to_toml().encode())
            settings = _settings(user, f"rows{suffix}", relation, accountant, seed)
            _keep(own / "user.toml", settings.encode())
            made.append(own / "user.toml")
    return made


def _settings(user: User, data: str, relation: str, accountant: str, seed: int | None) -> str:
    values = {
        "user": json.dumps(user.name),
        "data": json.dumps(data),
        "schema": '"schema.toml"',
        "ledger": '"ledger.jsonl"',
        "epsilon": repr(user.epsilon),
        "delta": repr(user.delta),
        "relation": json.dumps(relation),
        "accountant": json.dumps(accountant),
    }
    if seed is not None:
        values["seed"] = str(seed)
    return "".join(f"{key} = {value}\n" for key, value in values.items())


def _head_lines(data: str | os.PathLike[str], schema: Schema) -> int:
    name = os.fspath(data)
    kind = format_of(name)
    if kind not in _LINES or name.lower().endswith(".gz"):
        raise InvalidInputError(f"Expected {name!r} to be a text file of one row a line.")
    return int(schema.header and kind == "csv")


def _keep(path: Path, content: bytes) -> None:
    """Write a file that is not there; DataError if it is, and holds something else."""
    if not path.exists():
        path.write_bytes(content)
    elif path.read_bytes() != content:
        raise DataError(f"{path} is there and differs; share out to another folder.")
