"""Rows scaled down to a public l2 norm: any finite magnitude, no overflow, no statistic of others.

The result is a function of each row alone. Its norm is at most ``row_norm`` up to the rounding of
float64; ``Table`` truncates it to the feature grid and verifies the bound in integers.
"""

import numpy as np

__all__ = ["is_over", "row_lengths", "shrunk"]

_JUST_BELOW_ONE = 1.0 - 2.0**-50


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
