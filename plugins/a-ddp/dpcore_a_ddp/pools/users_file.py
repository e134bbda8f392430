"""A file of users and their budgets: CSV with the columns user, epsilon, delta and, if given, rows
and identity.

What it holds is public: whoever sees which user joins a round sees its budget.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from dpcore.errors import DataError, replacing
from dpcore.plugin import InvalidInputError
from dpcore_a_ddp.users.messages import User

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["alike_users", "read_users"]

_NEEDED = ("user", "epsilon", "delta")
_IDENTITY = "identity"
"""A column of secure sums, which ``secure_sums.context.Members`` reads and checks."""
_MOST_ROWS = 2**40


def alike_users(n_rows: int, rows_per_user: int, epsilon: float, delta: float) -> tuple[User, ...]:
    """Return users of one budget: each has ``rows_per_user`` rows, the last one what is left."""
    if rows_per_user < 1:
        raise InvalidInputError(f"Expected rows_per_user={rows_per_user!r} >= 1.")
    sizes = [rows_per_user] * (n_rows // rows_per_user)
    sizes += [n_rows % rows_per_user] if n_rows % rows_per_user else []
    return tuple(User(f"user-{i}", size, epsilon, delta) for i, size in enumerate(sizes))


def read_users(path: str | os.PathLike[str], n_rows: int, rows_per_user: int) -> tuple[User, ...]:
    """Return the users of a file. They own the rows of the data in their order: the first user the
    first ``rows`` of them (``rows_per_user`` where the file has no such column), and so on.

    Raises DataError, naming file, line and column, for a file that is not whole, and
    InvalidInputError where the users do not own as many rows as there are.
    """
    name, users = os.fspath(path), dict[str, User]()
    with closing(_lines(name)) as lines:
        header = [cell.strip() for cell in next(lines, (1, []))[1]]
        _check_header(name, header)
        for line, cells in lines:
            where = f"{name}, line {line}"
            if len(cells) != len(header):
                raise DataError(f"{where}: {len(cells)} cells, not {len(header)}.")
            user = _user(
                where, dict(zip(header, map(str.strip, cells), strict=True)), rows_per_user
            )
            if user.name in users:
                raise DataError(f"{where}, column user: {user.name!r} is there twice.")
            users[user.name] = user
    if not users:
        raise DataError(f"{name} has no users.")
    return _owning(name, tuple(users.values()), n_rows)


def _lines(name: str) -> Generator[tuple[int, list[str]], None, None]:
    """Yield the lines of a file that are not empty, each with its number."""

    def unread(error: Exception) -> DataError:
        if isinstance(error, OSError):
            return DataError(f"Cannot read {name!r}: {error.strerror}.")
        return DataError(f"{name!r} is no CSV file in UTF-8.")

    with (
        replacing(OSError, csv.Error, ValueError, by=unread),
        open(name, encoding="utf-8-sig", newline="") as file,
    ):
        reader = csv.reader(file, strict=True)
        yield from ((reader.line_num, cells) for cells in reader if cells)


def _check_header(name: str, header: Sequence[str]) -> None:
    known = (*_NEEDED, "rows", _IDENTITY)
    for column in _NEEDED:
        if column not in header:
            raise DataError(f"{name}, line 1: no column {column!r}; expected user,epsilon,delta.")
    for column in header:
        if column not in known or header.count(column) > 1:
            raise DataError(f"{name}, line 1: unknown or repeated column {column!r}.")


def _user(where: str, row: Mapping[str, str], rows_per_user: int) -> User:
    if not row["user"]:
        raise DataError(f"{where}, column user: no name.")
    epsilon, delta = _number(where, "epsilon", row), _number(where, "delta", row)
    if epsilon <= 0:
        raise DataError(f"{where}, column epsilon: expected epsilon > 0, not {row['epsilon']!r}.")
    if not 0 < delta < 1:
        raise DataError(f"{where}, column delta: expected 0 < delta < 1, not {row['delta']!r}.")
    n_rows = rows_per_user
    if "rows" in row:
        n_rows = _rows(where, row["rows"])
    return User(row["user"], n_rows, epsilon, delta)


def _rows(where: str, text: str) -> int:
    digits = text.lstrip("0") or "0"
    is_short = text.isascii() and text.isdigit() and len(digits) <= len(str(_MOST_ROWS))
    if not (is_short and 1 <= int(digits) < _MOST_ROWS):
        raise DataError(
            f"{where}, column rows: a user has a whole number of rows, one or more, not {text!r}."
        )
    return int(digits)


def _number(where: str, column: str, row: Mapping[str, str]) -> float:
    try:
        value = float(row[column])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{where}, column {column}: expected a finite number, not {row[column]!r}.")
    return value


def _owning(name: str, users: tuple[User, ...], n_rows: int) -> tuple[User, ...]:
    owned = sum(user.n_rows for user in users)
    if owned != n_rows:
        raise InvalidInputError(
            f"The users of {name} own {owned} rows, and the data have {n_rows}, a test "
            "fraction left out. Each row belongs to one user: the file's column rows says how many "
            "(rows_per_user without one), in the order of the rows."
        )
    return users
