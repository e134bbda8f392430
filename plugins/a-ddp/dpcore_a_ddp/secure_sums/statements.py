"""Statements that a user signs in a round: its keys, whom it masked with, shares of others."""

from __future__ import annotations

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
        keys = reader.take(KEY_BYTES), reader.take(KEY_BYTES), reader.take(KEY_BYTES)
        drawn = reader.numbers()
        reader.end()
        rising = all(first < second for first, second in zip(drawn, drawn[1:], strict=False))
        parameters = context.parameters
        if not rising or len(drawn) != parameters.neighbours or place in drawn:
            raise BadMessage(f"it names not {parameters.neighbours} neighbours")
        if drawn[-1] >= parameters.users:
            raise BadMessage("it names a neighbour who is not listed")
        return cls(place, *keys, tuple(drawn))


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
    parts = [place.to_bytes(4, "little") + bytes([kind]) + share for place, kind, share in revealed]
    return len(parts).to_bytes(4, "little") + b"".join(parts)


def read_shares(reader: Reader) -> list[Revealed]:
    """Return what a holder revealed; BadMessage for another body, or two shares of one user."""
    found = [
        Revealed(reader.number(), reader.take(1)[0], reader.take(SHARE_BYTES))
        for _ in range(reader.number())
    ]
    reader.end()
    if len({part.place for part in found}) < len(found):
        raise BadMessage("it reveals two shares of one user")
    return found
