"""Functions of float64 arrays that have the same bits on every processor.

NumPy has its own ``exp``, ``log``, ``expm1``, ``log1p`` and ``power``, chosen for the processor. No
value of a budget, and nothing that an optimizer derives from released values, may depend on that.
These are SciPy's loops, compiled once and not for a processor: of the C library (``exp``, ``log``,
below one unit in the last place), and of Cephes (``expm1``). They are right to ``FUNCTION_ERROR``,
relative, and out of float64's range are inf or 0 without a warning.
"""

import math
import sys

import numpy as np

__all__ = ["FUNCTION_ERROR", "SUM_ERROR", "array_exp", "array_expm1", "array_log"]

FUNCTION_ERROR = 2.0**-50
SUM_ERROR = 2.0**-40
"""That of ``ordered_sum``, relative to the sum of the sizes of its terms."""
_FEW = 2**16
_LARGEST_EXPONENT = math.log(sys.float_info.max)


def _are_for_python(x: np.ndarray) -> bool:
    """Return whether Python's loop is faster than the import of SciPy's: the same function of the C
    library, and so the same bits."""
    return x.size <= _FEW and "scipy.special" not in sys.modules


def array_exp(x: np.ndarray) -> np.ndarray:
    """Return e^x.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore_accounting.reproducible.array_functions import array_exp
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
    >>> from dpcore_accounting.reproducible.array_functions import array_log
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
    >>> from dpcore_accounting.reproducible.array_functions import array_expm1
    >>> array_expm1(np.array([1e-20]))
    array([1.e-20])
    """
    from scipy.special import expm1

    return np.asarray(expm1(x))
