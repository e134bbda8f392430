"""One table shared out to users, a folder for each: to try a deployment on one machine.

Whoever does this can read every row; in earnest each user has its own file to begin with.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from dpcore import Schema
from dpcore.errors import DataError
from dpcore.plugin import InvalidInputError
from dpcore.plugin.engines import Files
from dpcore_a_ddp.flower.sum_member import read_identity
from dpcore_a_ddp.secure_sums.context import Identity
from dpcore_a_ddp.users.messages import User

__all__ = ["IDENTITY", "count_rows", "list_identities", "make_identity", "share_out"]

_LINES = ("csv", "whitespace", "libsvm")
IDENTITY = "identity.key"
"""The file in which a user keeps its identity."""
_MEMBERS = "members.csv"
_OF_SUMS = f"""members = "../{_MEMBERS}"
identity = "{IDENTITY}"
journal = "journal.jsonl"
colluding = {{}}
"""


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
    colluding: int | None = None,
) -> list[Path]:
    """Return the users' files of settings, each in a folder of its own with the user's rows.

    ``colluding`` : of secure sums, the users of whom each reckons that they may collude: then each
    has an identity of its own too, and ``list_identities`` the file of all of them.

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
            own.chmod(0o700)
            rows = list(islice(lines, user.n_rows))
            _keep(own / f"rows{suffix}", b"".join(head + rows))
            _keep(own / "schema.toml", schema.to_toml().encode())
            settings = _settings(user, f"rows{suffix}", relation, accountant, seed)
            if colluding is not None:
                settings += _OF_SUMS.format(colluding)
                make_identity(own / IDENTITY)
            _keep(own / "user.toml", settings.encode())
            made.append(own / "user.toml")
    return made


def list_identities(users_file: str | os.PathLike[str], folder: str | os.PathLike[str]) -> Path:
    """Return the file of users with a column of their identities, as all of them would agree on it:
    those that ``share_out`` made in the folder.

    Raises InvalidInputError for a file that has such a column: these users have others.
    """
    with open(users_file, encoding="utf-8-sig", newline="") as file:
        header, *rows = [[cell.strip() for cell in row] for row in csv.reader(file) if row]
    if "identity" in header:
        raise InvalidInputError(
            "The users have identities of their own, and this command makes new ones to try a "
            "deployment: take the column out, or start each user's SuperNode by itself."
        )
    listed = Path(folder) / _MEMBERS
    keys = [
        read_identity(listed.parent / f"user-{place}" / IDENTITY).public.hex()
        for place in range(len(rows))
    ]
    text = io.StringIO(newline="")
    lines = [[*header, "identity"], *([*row, key] for row, key in zip(rows, keys, strict=True))]
    csv.writer(text, lineterminator="\n").writerows(lines)
    _keep(listed, text.getvalue().encode())
    return listed


def make_identity(path: Path) -> Identity:
    """Return the identity of a file: a fresh one, which its owner alone may read, unless there is
    one."""
    if not path.exists():
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(fd, "w", encoding="ascii") as file:
            file.write(Identity.fresh().secret.hex() + "\n")
    return read_identity(path)


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
    kind = Files.format_of(name)
    if kind not in _LINES or name.lower().endswith(".gz"):
        raise InvalidInputError(f"Expected {name!r} to be a text file of one row a line.")
    return int(schema.header and kind == "csv")


def _keep(path: Path, content: bytes) -> None:
    """Write a file that is not there; DataError if it is, and holds something else."""
    if not path.exists():
        path.write_bytes(content)
    elif path.read_bytes() != content:
        raise DataError(f"{path} is there and differs; share out to another folder.")
