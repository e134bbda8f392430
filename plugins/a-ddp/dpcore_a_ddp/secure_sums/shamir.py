"""Shamir's secret sharing (Communications of the ACM, 1979) of keys of 32 bytes.

A key is 13 numbers of 20 bits, each shared by a polynomial of its own over the field of the prime
2^21 - 9. Fewer shares than the threshold are independent of the key, number by number, whatever the
field. In so small a field, polynomials at many points are one product of matrices that float64
holds exactly: every sum is below 2^53.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore_a_ddp.secure_sums.primitives import KEY_BYTES, random_bytes

__all__ = ["MOST_POINTS", "MOST_SHARES", "PRIME", "SHARE_BYTES", "recovered", "shares_of"]

PRIME = 2**21 - 9
"""The largest prime below 2^21."""
_LIMB_BITS = 20
_LIMBS = -(-8 * KEY_BYTES // _LIMB_BITS)
_BYTES = 3
SHARE_BYTES = _LIMBS * _BYTES
MOST_POINTS = PRIME - 1
MOST_SHARES = 2 ** (53 - 2 * 21)
"""So many products of two numbers below 2^21 add up to less than 2^53."""


def shares_of(keys: bytes, points: Sequence[int], threshold: int) -> list[bytes]:
    """Return a share of the keys for each point, of whom ``threshold`` give them back.

    ``keys`` : one or several, one after the other; each is shared by itself, and a share has
    ``SHARE_BYTES`` of each. ``points`` : distinct, from 1 to ``MOST_POINTS``.

    Raises InvalidInputError for a threshold above 2,048 or the number of points.
    """
    if not 1 <= threshold <= min(len(points), MOST_SHARES):
        raise InvalidInputError(
            f"Expected a threshold of 1 to {min(len(points), MOST_SHARES)}, not {threshold}."
        )
    constants = [
        limb for at in range(0, len(keys), KEY_BYTES) for limb in _limbs(keys[at : at + KEY_BYTES])
    ]
    width = len(constants)
    polynomials = np.empty((threshold, width), dtype=np.float64)
    polynomials[0] = constants
    polynomials[1:] = _uniform((threshold - 1) * width).reshape(threshold - 1, width)
    values = (_powers(points, threshold) @ polynomials).astype(np.int64) % PRIME
    packed = values.astype("<u4").view(np.uint8).reshape(len(points), width, 4)[:, :, :_BYTES]
    return [row.tobytes() for row in packed]


def recovered(shares: Sequence[tuple[int, bytes]]) -> bytes | None:
    """Return the key of as many shares as its threshold, each with its point; ``None`` where they
    are of no key. Shares that somebody altered may give another key."""
    points = tuple(point for point, _ in shares)
    values = _values([share for _, share in shares])
    # Products below 2^42, at most 2^11 of them: int64 holds their sum.
    limbs = _weights(points) @ values % PRIME
    number = sum(int(limb) << (_LIMB_BITS * i) for i, limb in enumerate(limbs))
    if (limbs >> _LIMB_BITS).any() or number >> (8 * KEY_BYTES):
        return None
    return number.to_bytes(KEY_BYTES, "little")


def _limbs(key: bytes) -> list[int]:
    number = int.from_bytes(key, "little")
    return [number >> (_LIMB_BITS * i) & ((1 << _LIMB_BITS) - 1) for i in range(_LIMBS)]


def _values(shares: Sequence[bytes]) -> np.ndarray:
    """Return the numbers of shares of one key: int64 of shape (len(shares), _LIMBS)."""
    wide = np.zeros((len(shares), _LIMBS, 4), dtype=np.uint8)
    packed = np.frombuffer(b"".join(shares), np.uint8)
    wide[:, :, :_BYTES] = packed.reshape(len(shares), _LIMBS, _BYTES)
    return wide.view("<u4").reshape(len(shares), _LIMBS).astype(np.int64) % PRIME


def _uniform(count: int) -> np.ndarray:
    """Return numbers below the prime, each as likely: int64. Words beyond it are drawn again."""
    found = np.empty(0, dtype=np.int64)
    while found.size < count:
        words = np.frombuffer(random_bytes(4 * (count - found.size + 1)), "<u4") >> np.uint32(11)
        found = np.concatenate([found, words[words < PRIME].astype(np.int64)])
    return found[:count]


def _powers(points: Sequence[int], threshold: int) -> np.ndarray:
    """Return the powers 0 to ``threshold`` - 1 of the points in the field: float64 of shape
    (len(points), threshold)."""
    x = np.array(points, dtype=np.int64)
    powers = np.ones((threshold, x.size), dtype=np.int64)
    for i in range(1, threshold):
        powers[i] = powers[i - 1] * x % PRIME
    return powers.T.astype(np.float64)


@lru_cache(maxsize=4096)
def _weights(points: tuple[int, ...]) -> np.ndarray:
    """Return Lagrange's weights of the points for the value at 0: int64."""
    x = np.array(points, dtype=np.int64)
    above, below = np.ones_like(x), np.ones_like(x)
    for i, point in enumerate(x):
        gap = (point - x) % PRIME
        gap[i] = 1
        below = below * gap % PRIME
        above = above * np.where(np.arange(x.size) == i, 1, point) % PRIME
    inverse = [pow(int(value), -1, PRIME) for value in below]
    return above * np.array(inverse, dtype=np.int64) % PRIME
