"""Shares of a user's secrets, sealed for those who hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpcore_a_ddp.secure_sums import primitives
from dpcore_a_ddp.secure_sums.context import RoundContext
from dpcore_a_ddp.secure_sums.messages import BadMessage, placed_blobs
from dpcore_a_ddp.secure_sums.shamir import SHARE_BYTES, shares_of
from dpcore_a_ddp.secure_sums.statements import Advertisement

__all__ = ["Envelopes"]


class Envelopes:
    """Seals a user's shares, and opens those of others, with a key pair of this round.

    Every neighbour gets an envelope, so that it knows who is still there; there are shares in it
    for those whom the sender drew. Each is sealed with a key for this round, sender and receiver.

    Parameters
    ----------
    secret : the private key of what the user advertised for sealing.
    agreed : what it agreed on with others, by their places, to which ``sealed`` adds.
    """

    def __init__(
        self, context: RoundContext, place: int, secret: bytes, agreed: dict[int, bytes]
    ) -> None:
        self._context, self._place = context, place
        self._secret, self._agreed = secret, agreed

    def sealed(
        self, others: Mapping[int, Advertisement], holders: Sequence[int], secrets: bytes
    ) -> bytes:
        """Return the body of a message with an envelope for each of the others.

        ``holders`` : neighbours that the user drew, who hold shares of its ``secrets``, which are
        its self-mask seed and then its masking key.
        """
        points = [place + 1 for place in holders]
        needed = self._context.parameters.shares
        shares = dict(zip(holders, shares_of(secrets, points, needed), strict=True))
        parts: list[tuple[int, bytes]] = []
        for place, other in others.items():
            agreed = primitives.agree(self._secret, other.sealing)
            if agreed is not None:
                self._agreed[place] = agreed
                about = self._context.pair(b"seal", self._place, place)
                key = primitives.derive(agreed, about)
                sealed = primitives.seal(key, shares.get(place, b""), about)
                parts.append((place, sealed))
        return placed_blobs(parts)

    def opened(
        self, place: int, sealed: bytes, others: Mapping[int, Advertisement]
    ) -> tuple[bytes, bytes] | None:
        """Return the shares of a user's seed and key, ``None`` where this user holds none of it.

        Raises BadMessage for an envelope that is not from that user to this one.
        """
        if place not in self._agreed:
            raise BadMessage("its shares came without its keys")
        about = self._context.pair(b"seal", place, self._place)
        text = primitives.opened(primitives.derive(self._agreed[place], about), sealed, about)
        if text is None:
            raise BadMessage("its shares were altered, or sealed for something else")
        is_holder = self._place in others[place].neighbours
        if len(text) != (2 * SHARE_BYTES if is_holder else 0):
            raise BadMessage("its shares are of another length")
        return (text[:SHARE_BYTES], text[SHARE_BYTES:]) if is_holder else None
