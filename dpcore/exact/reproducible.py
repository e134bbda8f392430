"""Sums and functions of float64 arrays that have the same bits on every processor.

NumPy gives ``@``, ``dot`` and norms to BLAS, which adds in the order of the kernel that it chose
for the processor, and has its own ``exp``, ``log``, ``expm1``, ``log1p`` and ``power`` chosen
likewise; its order in ``sum`` is no promise either. No figure of a budget, and nothing that an
optimizer derives from released values, may depend on either.

**Sums.** Halves are added to each other, element by element, until ``_IN_TURN`` terms are left,
which are added one after the other. Each term goes through fewer than 2^12 + 64 additions, so a sum
is off by at most ``SUM_ERROR`` times the sum of the sizes of its terms, and so is a sum of products
(Higham 2002, "Accuracy and Stability of Numerical Algorithms", equation 4.4), where none is below
2^-1022.

**Functions** are SciPy's loops, compiled once and not for a processor: of the C library (``exp``,
``log``, below one unit in the last place), and of Cephes (``expm1``, ``log1p``). They are right to
``FUNCTION_ERROR``, relative, and out of float64's range are inf or 0 without a warning.
"""

import math
import sys

import numpy as np

__all__ = [
    "FUNCTION_ERROR",
    "SUM_ERROR",
    "array_exp",
    "array_expm1",
    "array_log",
    "geometric_progression",
    "ordered_dot",
    "ordered_norm",
    "ordered_sum",
]

SUM_ERROR = 2.0**-40
FUNCTION_ERROR = 2.0**-50
_IN_TURN = 2**12
_FEW = 2**16
_LARGEST_EXPONENT = math.log(sys.float_info.max)


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


def geometric_progression(first: float, last: float, count: int) -> np.ndarray:
    """Return ``count`` >= 1 numbers from ``first`` > 0 on that end with ``last`` > 0.

    Examples
    --------
    >>> from dpcore.plugin import geometric_progression
    >>> geometric_progression(1.0, 16.0, 3)
    array([ 1.,  4., 16.])
    """
    begin, steps = math.log10(first), max(1, count - 1)
    step = (math.log10(last) - begin) / steps
    between = (10.0 ** (k * step + begin) for k in range(1, count - 1))
    return np.array([first, *between, last][:count])


def _are_for_python(x: np.ndarray) -> bool:
    """Return whether Python's loop is faster than the import of SciPy's: the same function of the C
    library, and so the same bits."""
    return x.size <= _FEW and "scipy.special" not in sys.modules


def array_exp(x: np.ndarray) -> np.ndarray:
    """Return e^x.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin import array_exp
    >>> array_exp(np.array([-np.inf, 0.0]))
    array([0., 1.])
    """
    if _are_for_python(x):
        found = (
            math.inf if each > _LARGEST_EXPONENT else math.exp(each) for each in x.ravel().tolist()
        )
        return np.fromiter(found, np.float64, x.size).reshape(x.shape)
    from scipy.special import inv_boxcox

    return np.asarray(inv_boxcox(x, 0.0))  # Its definition at 0, by the C library's exp.


def array_log(x: np.ndarray) -> np.ndarray:
    """Return ln x for x >= 0, -inf of 0.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin import array_log
    >>> array_log(np.array([0.0, 1.0]))
    array([-inf,   0.])
    """
    if _are_for_python(x):
        found = (math.log(each) if each else -math.inf for each in x.ravel().tolist())
        return np.fromiter(found, np.float64, x.size).reshape(x.shape)
    from scipy.special import xlogy

    return np.asarray(xlogy(1.0, x))


def array_expm1(x: np.ndarray) -> np.ndarray:
    """Return e^x - 1, without cancellation.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin import array_expm1
    >>> array_expm1(np.array([1e-20]))
    array([1.e-20])
    """
    from scipy.special import expm1

    return np.asarray(expm1(x))
