"""A round as every message of it names it: its users, rules and parameters, and its question."""

from __future__ import annotations

import csv
import os
import struct
from dataclasses import dataclass, field

from dpcore.errors import DataError, replacing
from dpcore.plugin import InvalidInputError
from dpcore_a_ddp.secure_sums import primitives
from dpcore_a_ddp.secure_sums.parameters import SumParameters
from dpcore_a_ddp.secure_sums.primitives import KEY_BYTES, digest

__all__ = ["Identity", "Members", "RoundContext"]

_PROTOCOL = b"dpcore secure sums 1"
_PLACES = struct.Struct(">II")


@dataclass(frozen=True, repr=False)
class Identity:
    """A user's own signing key, for as long as its name is listed: ``secret`` never leaves it."""

    secret: bytes

    @classmethod
    def fresh(cls) -> Identity:
        """Return a new identity from the system's entropy."""
        return cls(primitives.random_bytes(KEY_BYTES))

    @property
    def public(self) -> bytes:
        """The key by which others know it, as the users' file lists it."""
        return primitives.public_identity(self.secret)


@dataclass(frozen=True)
class Members:
    """The listed users and their public identities, in the order of the file.

    Nobody takes part who is not listed: a server cannot add users of its own during a run. Whether
    the listed ones are people, the users see to when they agree on the file.

    Raises InvalidInputError for names or keys that come twice, or keys of another length.
    """

    names: tuple[str, ...]
    keys: tuple[bytes, ...]

    def __post_init__(self) -> None:
        if len(self.names) != len(self.keys) or any(len(key) != KEY_BYTES for key in self.keys):
            raise InvalidInputError(f"Expected an identity of {KEY_BYTES} bytes for each name.")
        if len(set(self.names)) < len(self.names) or len(set(self.keys)) < len(self.keys):
            raise InvalidInputError("Expected names and identities that come once each.")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Members:
        """Return the members of a CSV file with the columns ``user`` and ``identity``, 64 hex
        digits; others are left alone. Raises DataError for a file that has them not."""
        name = os.fspath(path)
        unread = DataError(f"Cannot read {name!r}: it is no CSV file of users in UTF-8.")
        with (
            replacing(OSError, csv.Error, ValueError, by=lambda _: unread),
            open(name, encoding="utf-8-sig", newline="") as file,
        ):
            rows = list(csv.DictReader(file, skipinitialspace=True, strict=True))
        if not rows or not {"user", "identity"} <= rows[0].keys():
            raise DataError(f"{name}, line 1: expected the columns user and identity.")
        keys = [_identity(name, line, row) for line, row in enumerate(rows, 2)]
        return cls(tuple(row["user"] for row in rows), tuple(keys))

    def __len__(self) -> int:
        return len(self.names)

    @property
    def digest(self) -> bytes:
        """SHA-256 of names and identities in their order."""
        return digest(*(name.encode() for name in self.names), *self.keys)


def _identity(name: str, line: int, row: dict[str, str]) -> bytes:
    wrong = DataError(f"{name}, line {line}, column identity: expected 64 hex digits.")
    with replacing(ValueError, TypeError, by=lambda _: wrong):
        key = bytes.fromhex(row["identity"])
    if len(key) != KEY_BYTES:
        raise wrong
    return key


@dataclass(frozen=True)
class RoundContext:
    """A round as a user knows it by itself, and not by the server's word.

    ``digest``, SHA-256 of all of it, is in every signature and in every sealed text: who was shown
    other users, rules, parameters, another round or another question, makes messages that nobody
    takes.

    Parameters
    ----------
    round : its number, >= 0. A new attempt at a round is a round of another number.
    width : length of the vectors that are added up.
    rules : bytes in place of the rules agreed on, such as their digest.
    question : bytes in place of what is asked in this round.
    """

    members: Members
    parameters: SumParameters
    round: int
    width: int
    rules: bytes = b""
    question: bytes = b""
    digest: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.members) != self.parameters.users:
            raise InvalidInputError("Expected the parameters of as many users as are listed.")
        if type(self.round) is not int or not 0 <= self.round < 2**63 or self.width < 1:
            raise InvalidInputError("Expected a round >= 0, and vectors of a number or more.")
        about = (
            _PROTOCOL,
            self.members.digest,
            self.parameters.encoded,
            self.round.to_bytes(8, "big") + self.width.to_bytes(8, "big"),
            self.rules,
            self.question,
        )
        object.__setattr__(self, "digest", digest(*about))

    def pair(self, purpose: bytes, first: int, second: int) -> bytes:
        """Return what a key of two users is for: in this round, in this order."""
        return purpose + self.digest + _PLACES.pack(first, second)
