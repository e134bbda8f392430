"""Rows truncated to the feature grid, their norms verified and bounded in integers."""

import numpy as np

from dpcore.errors import DataError
from dpcore.exact.grid import FEATURE_BITS

__all__ = [
    "MOST_FEATURES",
    "held_squares",
    "integer_sums",
    "l1_norms_up",
    "l2_norms_up",
    "require_finite",
    "row_factors",
    "to_grid",
    "truncate_rows",
]

_RELATIVE_BITS = 20
MOST_FEATURES = 2 ** (62 - 2 * _RELATIVE_BITS)
"""A public limit on the width: sums of squares over a row stay within int64."""


def require_finite(values: np.ndarray) -> None:
    """Raise DataError unless all values, in the type in which they are stored, are finite."""
    if not np.isfinite(values).all():
        raise DataError("The data hold a value that is not finite (NaN or infinity).")


def to_grid(values: np.ndarray) -> np.ndarray:
    """Return finite values truncated towards zero to the feature grid."""
    return np.asarray(np.ldexp(np.trunc(np.ldexp(values, FEATURE_BITS)), -FEATURE_BITS))


def held_squares(values: np.ndarray) -> np.ndarray:
    """Return q of the values, float64: the square of one of size 1 at most and the size of another,
    truncated to the feature grid."""
    size: np.ndarray = np.abs(values)
    np.minimum(size * size, size, out=size)
    size *= 2.0**FEATURE_BITS  # times a power of two is exact
    np.trunc(size, out=size)
    size *= 2.0**-FEATURE_BITS
    return size


def l1_norms_up(steps: np.ndarray) -> np.ndarray:
    """Return upper bounds of l1 norms from each row's sum of absolute grid steps, int64."""
    return _in_units(steps.astype(np.float64))


def l2_norms_up(squares: np.ndarray) -> np.ndarray:
    """Return upper bounds of l2 norms from each row's sum of squared grid steps, int64."""
    return _in_units(np.sqrt(_above(squares.astype(np.float64))))


def _in_units(norms_in_steps: np.ndarray) -> np.ndarray:
    return np.asarray(np.ldexp(_above(norms_in_steps), -FEATURE_BITS))


def _above(values: np.ndarray) -> np.ndarray:
    """Return the next float64 above each value that is not zero: undoes one rounding to nearest."""
    return np.where(values == 0.0, 0.0, np.nextafter(values, np.inf))


def row_factors(norms: np.ndarray, row_norm: float) -> np.ndarray:
    """Return factors in (0, 1] with ``factor * norm <= row_norm``, given upper bounds of the norms.

    Division rounds to nearest; two steps down leave room for the rounding of any later product.
    """
    safe = np.where(norms > row_norm, norms, 1.0)
    scaled = np.nextafter(np.nextafter(row_norm / safe, 0.0), 0.0)
    return np.where(norms > row_norm, scaled, 1.0)


def truncate_rows(
    values: np.ndarray, row_of: np.ndarray | None, n_rows: int, raw_norm_bound: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``values`` truncated towards zero to the feature grid, and each row's squares' sum.

    ``values`` : dense (n_rows, n_features), or the data of a CSR block with ``row_of`` naming each
    value's row. The sums are int64 of shape (n_rows,), of squared grid steps.
    Every row's integers satisfy ``sum of squares <= (raw_norm_bound * 2**FEATURE_BITS)**2``: a row
    that does not is shrunk and truncated again. Raises DataError for a value that is not finite.
    """
    require_finite(values)
    limit = int(np.floor(np.float64(raw_norm_bound) ** 2 * 2.0 ** (2 * FEATURE_BITS)))
    shrink = _first_shrink(values, row_of, n_rows, raw_norm_bound)
    while True:
        spread = shrink[:, None] if row_of is None else shrink[row_of]
        steps = np.trunc(np.ldexp(values * spread, FEATURE_BITS)).astype(np.int64)
        squares = integer_sums(steps * steps, row_of, n_rows)
        over = squares > limit
        if not over.any():
            break
        shrink = np.where(over, shrink * (1 - 2.0**-FEATURE_BITS), shrink)
    return np.ldexp(steps.astype(np.float64), -FEATURE_BITS), squares


def _first_shrink(
    values: np.ndarray, row_of: np.ndarray | None, n_rows: int, raw_norm_bound: float
) -> np.ndarray:
    """Return the factor in (0, 1] that brings each row's norm to about the bound.

    Norms are summed in integers relative to the row's largest entry, so that no square overflows
    and dense and sparse rows get the same factor to the bit.
    """
    size = np.abs(values)
    if row_of is None:
        largest = size.max(axis=1, initial=0.0)
    else:
        largest = np.zeros(n_rows)
        np.maximum.at(largest, row_of, size)
    exponent = np.clip(np.frexp(largest)[1], -64, None)
    spread = exponent[:, None] if row_of is None else exponent[row_of]
    steps = np.trunc(np.ldexp(size, _RELATIVE_BITS - spread)).astype(np.int64)
    norms = np.sqrt(integer_sums(steps * steps, row_of, n_rows).astype(np.float64))
    target = np.ldexp(raw_norm_bound, _RELATIVE_BITS - exponent)
    return np.where(norms > target, target / np.where(norms > target, norms, 1.0), 1.0)


def integer_sums(steps: np.ndarray, row_of: np.ndarray | None, n_rows: int) -> np.ndarray:
    """Return each row's sum of int64 ``steps``, dense or with ``row_of`` naming each one's row."""
    if row_of is None:
        return np.asarray(steps.sum(axis=1))
    sums = np.zeros(n_rows, dtype=np.int64)
    np.add.at(sums, row_of, steps)
    return sums
