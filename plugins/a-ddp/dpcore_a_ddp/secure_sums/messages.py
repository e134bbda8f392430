"""Messages of a round as bytes: a head, a body, and a user's signature of both.

The head is the protocol's mark, the kind, the digest of the round's context and the sender's place.
Numbers are little-endian. What a server sends is not signed: nothing in it is taken at its word.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from dpcore_a_ddp.secure_sums import primitives
from dpcore_a_ddp.secure_sums.context import Identity, RoundContext
from dpcore_a_ddp.secure_sums.primitives import SIGNATURE_BYTES

__all__ = [
    "ADVERTISED",
    "AGREED",
    "ENVELOPES",
    "KINDS",
    "MASKED",
    "NEIGHBOURS",
    "PROPOSED",
    "REVEALED",
    "SERVER",
    "SHARED",
    "UNMASKING",
    "BadMessage",
    "Dropped",
    "Reader",
    "bits_of",
    "blob",
    "head",
    "numbers",
    "places_of",
    "read_head",
    "signed",
    "verified",
]

KINDS = (
    *("advertised", "neighbours", "shared", "envelopes", "masked"),
    *("proposed", "agreed", "unmasking", "revealed"),
)
(
    ADVERTISED,
    NEIGHBOURS,
    SHARED,
    ENVELOPES,
    MASKED,
    PROPOSED,
    AGREED,
    UNMASKING,
    REVEALED,
) = range(len(KINDS))
"""A user sends those of even, and gets those of odd number."""

SERVER = 2**32 - 1
"""The server's place."""
_MARK = b"dpss"
_HEAD = struct.Struct("<B32sI")
_HEAD_BYTES = len(_MARK) + _HEAD.size


class BadMessage(Exception):
    """A message that is dropped; its text says why, as a clause."""


class Dropped(NamedTuple):
    """A message that was dropped. ``sender`` : the name that it gives, or "the server" or ""."""

    sender: str
    reason: str


class Reader:
    """Takes a message apart from its beginning. Raises BadMessage where it is too short."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, count: int) -> bytes:
        """Return the next so many bytes."""
        part = self._data[self._at : self._at + count]
        if len(part) != count:
            raise BadMessage("it is cut short")
        self._at += count
        return part

    def number(self) -> int:
        """Return the next number of four bytes."""
        return int.from_bytes(self.take(4), "little")

    def blob(self) -> bytes:
        """Return the next bytes, which come after their length."""
        return self.take(self.number())

    def numbers(self) -> list[int]:
        """Return the next numbers, which come after their count."""
        count = self.number()
        return np.frombuffer(self.take(4 * count), "<u4").tolist()

    def end(self) -> None:
        """Raise BadMessage unless all was taken."""
        if self._at != len(self._data):
            raise BadMessage("it is too long")


def blob(data: bytes) -> bytes:
    """Return bytes after their length."""
    return len(data).to_bytes(4, "little") + data


def numbers(values: Sequence[int]) -> bytes:
    """Return numbers after their count."""
    return len(values).to_bytes(4, "little") + np.asarray(values, "<u4").tobytes()


def bits_of(places: Iterable[int], size: int) -> bytes:
    """Return a set of places below ``size`` as bits."""
    marks = np.zeros(size, dtype=np.uint8)
    marks[list(places)] = 1
    return np.packbits(marks, bitorder="little").tobytes()


def places_of(bits: bytes, size: int) -> list[int]:
    """Return the places of a set; BadMessage for bits of another size."""
    if len(bits) != -(-size // 8):
        raise BadMessage("its set is of another number of users")
    marks = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")
    if marks[size:].any():
        raise BadMessage("its set has users that are not listed")
    return np.flatnonzero(marks).tolist()


def head(kind: int, context: RoundContext, sender: int) -> bytes:
    """Return the head of a message."""
    return _MARK + bytes([kind]) + context.digest + sender.to_bytes(4, "little")


def read_head(data: bytes, context: RoundContext) -> tuple[int, int, bytes]:
    """Return kind, sender and body of a message; BadMessage where it is of another round."""
    if not isinstance(data, bytes) or len(data) < _HEAD_BYTES or not data.startswith(_MARK):
        raise BadMessage("it is no message of this protocol")
    kind, about, sender = _HEAD.unpack_from(data, len(_MARK))
    if kind >= len(KINDS) or (kind % 2 == 1) != (sender == SERVER):
        raise BadMessage("it is of no known kind")
    if sender != SERVER and sender >= len(context.members):
        raise BadMessage("its sender is not listed")
    if about != context.digest:
        raise BadMessage("it is of another round, or of other users, rules or parameters")
    return kind, sender, data[_HEAD_BYTES:]


def signed(kind: int, context: RoundContext, sender: int, identity: Identity, body: bytes) -> bytes:
    """Return a user's message, with its signature."""
    text = head(kind, context, sender) + body
    return text + primitives.sign(identity.secret, text)


def verified(data: bytes, context: RoundContext, kind: int) -> tuple[int, Reader]:
    """Return sender and body of a user's message of a kind, whose signature was looked at;
    BadMessage for another."""
    found, sender, body = read_head(data, context)
    if found != kind:
        raise BadMessage(f"it is of the kind {KINDS[found]}, not {KINDS[kind]}")
    if len(body) < SIGNATURE_BYTES:
        raise BadMessage("it is cut short")
    text, signature = data[:-SIGNATURE_BYTES], data[-SIGNATURE_BYTES:]
    if not primitives.verify(context.members.keys[sender], signature, text):
        raise BadMessage("its signature is not the sender's")
    return sender, Reader(body[:-SIGNATURE_BYTES])
