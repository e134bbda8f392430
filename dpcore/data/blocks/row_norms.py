"""Rows scaled down to a public l2 norm: any finite magnitude, no overflow, no statistic of others.

The result is a function of each row alone. Its norm is at most ``row_norm`` up to the rounding of
float64; ``Table`` truncates it to the feature grid and verifies the bound in integers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema

__all__ = ["describe_scaling", "is_over", "row_lengths", "shrunk"]

_JUST_BELOW_ONE = 1.0 - 2.0**-50


def describe_scaling(schema: Schema) -> str:
    """Return what becomes of the length of rows, as a sentence of public facts."""
    how = "Columns are encoded by their bounds and categories"
    if schema.width is None and schema.row_norm >= schema.raw_norm_bound:
        return f"{how}: no row is longer than sqrt({schema.square}), and none is scaled down."
    scale, norm = schema.feature_scale, f"row_norm={schema.row_norm!r}"
    if scale != 1.0:
        power = round(-math.log2(scale))
        how = f"Features and row_norm={schema.norm!r} are divided by 2^{power}"
        norm = repr(schema.row_norm)
    elif schema.width is not None:
        how = "Features are used as they are, without bounds"
    with_one = " (the intercept's 1 included)" if schema.intercept else ""
    return (
        f"{how}; rows longer than {norm}{with_one} are scaled down to it: the public claim; how "
        "many is private."
    )


def row_lengths(squares: np.ndarray, row_of: np.ndarray, n_rows: int) -> np.ndarray:
    """Return the l2 norm of each row from its squares, ``row_of`` naming the row of each.

    bincount adds one after the other: the same bits for dense and sparse, alone or in company,
    where ``sum`` pairs up differently with the shape of the array.
    """
    return np.sqrt(np.bincount(row_of, squares, n_rows))


def is_over(largest: np.ndarray, root: np.ndarray, row_norm: float) -> np.ndarray:
    """Return whether largest * root > row_norm, where the product itself may overflow."""
    with np.errstate(over="ignore"):
        return root * (largest / row_norm) > 1.0


def shrunk(root: np.ndarray, row_norm: float) -> np.ndarray:
    """Return the factor that brings a norm of ``root`` to just below ``row_norm``."""
    return row_norm / root * _JUST_BELOW_ONE
