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
    "blobs",
    "head",
    "numbers",
    "placed_blobs",
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
_HEAD = struct.Struct("<4sB32sI")
_NUMBER = struct.Struct("<I")
_PLACED = struct.Struct("<II")
"""A place and the length of what comes after it."""


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
        start, end = self._at, self._at + count
        if end > len(self._data):
            raise BadMessage("it is cut short")
        self._at = end
        return self._data[start:end]

    def number(self) -> int:
        """Return the next number of four bytes."""
        (value,) = _NUMBER.unpack(self.take(_NUMBER.size))
        return int(value)

    def blob(self) -> bytes:
        """Return the next bytes, which come after their length."""
        return self.take(self.number())

    def parts(self, count: int, size: int) -> list[bytes]:
        """Return the next so many byte strings of one size."""
        data = self.take(count * size)
        return [data[at : at + size] for at in range(0, len(data), size)]

    def blobs(self) -> list[bytes]:
        """Return the next byte strings, which come after their count."""
        return [self.blob() for _ in range(self.number())]

    def placed_blobs(self) -> list[tuple[int, bytes]]:
        """Return the next byte strings, each with a user's place, which come after their count."""
        found = []
        for _ in range(self.number()):
            place, size = _PLACED.unpack(self.take(_PLACED.size))
            found.append((place, self.take(size)))
        return found

    def numbers(self) -> list[int]:
        """Return the next numbers, which come after their count."""
        count = self.number()
        return list(struct.unpack(f"<{count}I", self.take(_NUMBER.size * count)))

    def end(self) -> None:
        """Raise BadMessage unless all was taken."""
        if self._at != len(self._data):
            raise BadMessage("it is too long")


def blob(data: bytes) -> bytes:
    """Return bytes after their length."""
    return _NUMBER.pack(len(data)) + data


def blobs(parts: Sequence[bytes]) -> bytes:
    """Return byte strings after their count."""
    return _NUMBER.pack(len(parts)) + b"".join(map(blob, parts))


def placed_blobs(parts: Sequence[tuple[int, bytes]]) -> bytes:
    """Return byte strings, each with a user's place, after their count."""
    placed = (_PLACED.pack(place, len(data)) + data for place, data in parts)
    return _NUMBER.pack(len(parts)) + b"".join(placed)


def numbers(values: Sequence[int]) -> bytes:
    """Return numbers after their count."""
    return struct.pack(f"<{len(values) + 1}I", len(values), *values)


def bits_of(places: Iterable[int], size: int) -> bytes:
    """Return a set of places below ``size`` as bits."""
    marks = np.zeros(size, dtype=np.uint8)
    marks[list(places)] = 1
    return np.packbits(marks, bitorder="little").tobytes()


def places_of(bits: bytes, size: int) -> list[int]:
    """Return the places of a set; BadMessage for bits of another size."""
    if len(bits) != -(-size // 8):
        raise BadMessage("its set is of another number of users")
    if bits[-1] >> (8 - -size % 8):
        raise BadMessage("its set has users that are not listed")
    marks = np.unpackbits(np.frombuffer(bits, np.uint8), count=size, bitorder="little")
    return marks.nonzero()[0].tolist()


def head(kind: int, context: RoundContext, sender: int) -> bytes:
    """Return the head of a message."""
    return _HEAD.pack(_MARK, kind, context.digest, sender)


def read_head(data: bytes, context: RoundContext) -> tuple[int, int, bytes]:
    """Return kind, sender and body of a message; BadMessage where it is of another round."""
    if not isinstance(data, bytes) or len(data) < _HEAD.size or not data.startswith(_MARK):
        raise BadMessage("it is no message of this protocol")
    _, kind, about, sender = _HEAD.unpack_from(data)
    if kind >= len(KINDS) or (kind % 2 == 1) != (sender == SERVER):
        raise BadMessage("it is of no known kind")
    if sender != SERVER and sender >= len(context.members.keys):
        raise BadMessage("its sender is not listed")
    if about != context.digest:
        raise BadMessage("it is of another round, or of other users, rules or parameters")
    return kind, sender, data[_HEAD.size :]


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
