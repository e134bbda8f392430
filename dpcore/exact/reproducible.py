"""Sums of float64 arrays that have the same bits on every processor.

NumPy gives ``@``, ``dot`` and norms to BLAS, which adds in the order of the kernel that it chose
for the processor; its order in ``sum`` is no promise either. No value of a budget, and nothing
that an optimizer derives from released values, may depend on that.

Halves are added to each other, element by element, until ``_IN_TURN`` terms are left, which are
added one after the other. Each term goes through fewer than 2^12 + 64 additions, so a sum is off by
at most 2^-40 times the sum of the sizes of its terms, and so is a sum of products (Higham
2002, "Accuracy and Stability of Numerical Algorithms", equation 4.4), where none is below 2^-1022.
"""

import math

import numpy as np

__all__ = [
    "ordered_dot",
    "ordered_norm",
    "ordered_sum",
]

_IN_TURN = 2**12


def ordered_sum(values: np.ndarray) -> np.ndarray:
    """Return the sums of float64 values over the last axis.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin import ordered_sum
    >>> ordered_sum(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([3., 7.])
    """
    while (size := values.shape[-1]) > _IN_TURN:
        half, odd = divmod(size, 2)
        rest = values[..., 2 * half :]
        values = values[..., :half] + values[..., half : 2 * half]
        if odd:
            values = np.concatenate((values, rest), axis=-1)
    if not size:
        return np.zeros(values.shape[:-1])
    # Every partial sum is one of the values returned, so that NumPy has no choice of an order.
    return np.asarray(np.add.accumulate(values, axis=-1)[..., -1])


def ordered_dot(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the sums of products over the last axis: of a matrix and a vector their product.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin import ordered_dot
    >>> ordered_dot(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([21., 43.])
    """
    return ordered_sum(left * right)


def ordered_norm(values: np.ndarray) -> float:
    """Return the l2 norm of all values together.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin import ordered_norm
    >>> ordered_norm(np.array([[3.0], [4.0]]))
    5.0
    """
    flat = np.asarray(values).ravel()
    return math.sqrt(ordered_dot(flat, flat))
