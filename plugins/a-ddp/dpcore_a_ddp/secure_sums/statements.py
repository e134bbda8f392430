"""Statements that a user signs in a round: its keys, whom it masked with, shares of others."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple, Self

from dpcore_a_ddp.secure_sums.context import Identity, RoundContext
from dpcore_a_ddp.secure_sums.messages import (
    ADVERTISED,
    MASKED,
    BadMessage,
    Reader,
    bits_of,
    numbers,
    places_of,
    signed,
    verified,
)
from dpcore_a_ddp.secure_sums.primitives import KEY_BYTES, digest
from dpcore_a_ddp.secure_sums.shamir import SHARE_BYTES

__all__ = [
    *("OF_KEY", "OF_SEED"),
    *("Advertisement", "MaskStatement", "Revealed"),
    *("commitment", "packed_shares", "read_shares"),
]

OF_SEED, OF_KEY = 0, 1
"""A share of a user's self-mask seed, and of its masking key."""
_KEYS = struct.Struct(3 * f"{KEY_BYTES}s")
_COUNT = struct.Struct("<I")
_REVEALED = struct.Struct(f"<IB{SHARE_BYTES}s")


def commitment(seed: bytes) -> bytes:
    """Return what a user publishes of its self-mask seed, so that wrong shares of it are found."""
    return digest(b"self-mask seed", seed)


class Advertisement(NamedTuple):
    """A user's public keys of one round and the neighbours that it drew.

    ``masking``, ``sealing`` : public keys of X25519; the private key of the first is shared, and
    may be opened. ``seed`` : the commitment to its self-mask seed. ``neighbours`` : rising.
    """

    place: int
    masking: bytes
    sealing: bytes
    seed: bytes
    neighbours: tuple[int, ...]

    def signed(self, context: RoundContext, identity: Identity) -> bytes:
        """Return it as the user's message."""
        body = self.masking + self.sealing + self.seed + numbers(self.neighbours)
        return signed(ADVERTISED, context, self.place, identity, body)

    @classmethod
    def read(cls, data: bytes, context: RoundContext) -> Self:
        """Return it from the user's message; BadMessage for another."""
        place, reader = verified(data, context, ADVERTISED)
        masking, sealing, seed = _KEYS.unpack(reader.take(_KEYS.size))
        drawn = reader.numbers()
        reader.end()
        parameters = context.parameters
        if drawn != sorted(set(drawn)) or len(drawn) != parameters.neighbours or place in drawn:
            raise BadMessage(f"it names not {parameters.neighbours} neighbours")
        if drawn[-1] >= parameters.users:
            raise BadMessage("it names a neighbour who is not listed")
        return cls(place, masking, sealing, seed, tuple(drawn))


class MaskStatement(NamedTuple):
    """The neighbours that a user drew and masked its vector with, in one round.

    ``among`` : their places among the neighbours of its advertisement. ``rest`` : digest of the
    vector and of what else was masked with.
    """

    place: int
    among: tuple[int, ...]
    rest: bytes

    @staticmethod
    def size(context: RoundContext) -> int:
        """Return the bytes of its body."""
        return -(-context.parameters.neighbours // 8) + KEY_BYTES

    def signed(self, context: RoundContext, identity: Identity) -> bytes:
        """Return it as the user's message."""
        body = bits_of(self.among, context.parameters.neighbours) + self.rest
        return signed(MASKED, context, self.place, identity, body)

    @classmethod
    def read(cls, data: bytes, context: RoundContext) -> Self:
        """Return it from the user's message; BadMessage for another."""
        place, reader = verified(data, context, MASKED)
        neighbours = context.parameters.neighbours
        among = places_of(reader.take(-(-neighbours // 8)), neighbours)
        rest = reader.take(KEY_BYTES)
        reader.end()
        return cls(place, tuple(among), rest)


class Revealed(NamedTuple):
    """A share that a holder reveals: of ``OF_SEED`` or ``OF_KEY`` of the user at ``place``."""

    place: int
    kind: int
    share: bytes


def packed_shares(revealed: Sequence[Revealed]) -> bytes:
    """Return the body of a holder's last message."""
    return _COUNT.pack(len(revealed)) + b"".join(_REVEALED.pack(*part) for part in revealed)


def read_shares(reader: Reader) -> list[Revealed]:
    """Return what a holder revealed; BadMessage for another body, or two shares of one user."""
    parts = _REVEALED.iter_unpack(reader.take(_REVEALED.size * reader.number()))
    reader.end()
    found = [Revealed(*part) for part in parts]
    if len({part.place for part in found}) < len(found):
        raise BadMessage("it reveals two shares of one user")
    return found
