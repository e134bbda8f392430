"""The arithmetic by which a server takes the masks off a sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dpcore_a_ddp.secure_sums import primitives
from dpcore_a_ddp.secure_sums.context import RoundContext
from dpcore_a_ddp.secure_sums.masks import pair_mask, self_mask
from dpcore_a_ddp.secure_sums.shamir import recovered
from dpcore_a_ddp.secure_sums.statements import (
    OF_KEY,
    OF_SEED,
    Advertisement,
    Revealed,
    commitment,
)

__all__ = ["MaskedVector", "Opening"]


class MaskedVector(NamedTuple):
    """A user's vector with its masks, uint64; whom it masked with; and what it signed of that."""

    values: np.ndarray
    masked: frozenset[int]
    statement: bytes


class Opening:
    """The shares that were revealed in a round, and the sum that they open."""

    def __init__(self, context: RoundContext) -> None:
        self._context = context
        self._shares: dict[tuple[int, int], list[tuple[int, bytes]]] = {}

    def add(self, holder: int, part: Revealed) -> None:
        """Take the share of a holder."""
        shares = self._shares.setdefault((part.kind, part.place), [])
        shares.append((holder + 1, part.share))

    def total(
        self,
        places: Sequence[int],
        vectors: Mapping[int, MaskedVector],
        keys: Mapping[int, Advertisement],
    ) -> tuple[np.ndarray | None, str]:
        """Return the sum of the vectors at ``places``, int64; or ``None``, and why it stays closed.

        A secret that is not the published one is of wrong shares: a sum is right or not opened.
        """
        total = np.zeros(self._context.width, dtype=np.uint64)
        inside = frozenset(places)
        for place in places:
            seed = self._secret(OF_SEED, place, keys[place].seed)
            if seed is None:
                return None, self._lacking(place, "self-mask seed")
            total += vectors[place].values - self_mask(self._context, seed)
        outside = {other for place in places for other in vectors[place].masked} - inside
        for gone in outside:
            secret = self._secret(OF_KEY, gone, keys[gone].masking)
            if secret is None:
                return None, self._lacking(gone, "masking key")
            for place in places:
                if gone in vectors[place].masked:
                    # The mask that the user who is gone would have added, with the other sign.
                    other = keys[place].masking
                    total += pair_mask(self._context, secret, gone, place, other)
        return total.view(np.int64), ""

    def _secret(self, kind: int, place: int, published: bytes) -> bytes | None:
        """Return a secret from the shares that came; ``None`` without enough right ones. Some runs
        of them are tried, in the order of the holders: a few wrong shares spoil a few runs."""
        publish = commitment if kind == OF_SEED else primitives.public_key
        shares = sorted(self._shares.get((kind, place), ()))
        needed = self._context.parameters.shares
        for start in range(len(shares) if len(shares) > needed else len(shares) == needed):
            run = (shares[start:] + shares[:start])[:needed]
            secret = recovered(run)
            if secret is not None and publish(secret) == published:
                return secret
        return None

    def _lacking(self, place: int, what: str) -> str:
        return f"the {what} of {self._context.members.names[place]} was not revealed"
