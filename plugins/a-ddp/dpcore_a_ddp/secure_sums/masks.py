"""Masks that users add to their vectors, each from a key of one round and one purpose."""

from __future__ import annotations

import numpy as np

from dpcore_a_ddp.secure_sums import primitives
from dpcore_a_ddp.secure_sums.context import RoundContext

__all__ = ["pair_mask", "self_mask"]


def self_mask(context: RoundContext, seed: bytes) -> np.ndarray:
    """Return a user's mask of its own: uint64 of shape (width,)."""
    key = primitives.derive(seed, b"self mask" + context.digest)
    return primitives.expand(key, context.width)


def pair_mask(
    context: RoundContext, secret: bytes, place: int, other: int, public: bytes
) -> np.ndarray:
    """Return what a user adds for its mask with another: uint64 of shape (width,). What the other
    adds is the same, taken off: of two users, the first in the list adds.

    Zeros where the other's public key is of a low order: its owner colludes, or has no mask.

    ``secret`` : the user's masking key. ``public`` : the other's.
    """
    agreed = primitives.agree(secret, public)
    if agreed is None:
        return np.zeros(context.width, dtype=np.uint64)
    about = context.pair(b"mask", min(place, other), max(place, other))
    mask = primitives.expand(primitives.derive(agreed, about), context.width)
    return mask if place < other else np.uint64(0) - mask
