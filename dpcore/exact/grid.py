"""The grids on which everything between a row and a released value is exact.

Features are multiples of ``2**-FEATURE_BITS``, parameters of ``2**-PARAMETER_BITS`` or coarser. A
margin ``x.w`` is then a sum of multiples of ``2**-(FEATURE_BITS + PARAMETER_BITS)`` whose partial
sums, in any order, are at most ``||x|| ||w||`` by Cauchy and Schwarz; below ``2**MARGIN_BITS`` that
is at most 53 bits, so every partial sum is a float64 and the margin has the same bits from any
kernel, in any order, on any processor. Parameters are released values, so rounding them is
post-processing and free.

Four choices are free: ``FEATURE_BITS``, ``PARAMETER_BITS``, ``DIRECTION_BITS`` and ``BLOCK_ROWS``.
All else follows from them, here, and ``check_grid`` refuses what does not fit.
"""

import math

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.exact.reproducible import ordered_norm

__all__ = [
    "BLOCK_ROWS",
    "BLOCK_SUM_BITS",
    "CAPACITY",
    "DIRECTION_BITS",
    "FEATURE_BITS",
    "FINE_BITS",
    "FLOAT32_LIMIT",
    "FLOAT_BITS",
    "LARGEST_NORM",
    "MARGIN_BITS",
    "MOST_FILES",
    "NOISE_BITS",
    "PARAMETER_BITS",
    "STEP_BITS",
    "check_grid",
    "coefficient_bits",
    "is_exact_line",
    "round_parameters",
    "round_to",
]

FEATURE_BITS = 16
PARAMETER_BITS = 24
DIRECTION_BITS = 14
BLOCK_ROWS = 8192
"""Rows of a block, a public constant: float64 sums over one block are exact (coefficient_bits)."""
MOST_FILES = 2**14
"""Files of one table at most; each may end in a block that is not full."""

STEP_BITS = PARAMETER_BITS - DIRECTION_BITS
"""A direction times a step size is on the parameters' grid, so that ``w - step * direction`` is
exact and cached margins equal recomputed ones."""

FLOAT_BITS = 53
"""A float64 holds every whole number up to ``2**FLOAT_BITS``."""

MARGIN_BITS = FLOAT_BITS - FEATURE_BITS - PARAMETER_BITS
"""Margins below ``2**MARGIN_BITS`` are exact in any order of their terms."""

BLOCK_SUM_BITS = FLOAT_BITS - BLOCK_ROWS.bit_length()
"""A block's float64 sum of whole numbers below ``2**BLOCK_SUM_BITS`` is exact."""

FLOAT32_LIMIT = 2.0 ** (24 - FEATURE_BITS)
"""A feature below this has at most the 24 bits of a float32."""

FINE_BITS = PARAMETER_BITS + 20
"""Points of a solver's last steps are on ``2**-FINE_BITS``: two parameters, 20 bits apart,
each with exact margins."""

LARGEST_NORM = 2.0**12
"""The l2 norm of a stored row at most."""

CAPACITY = 2**27
"""Rows that exact sums hold where the schema says no other value."""

NOISE_BITS = 58
"""The scale of a noise is below ``2**NOISE_BITS`` steps of its answer's grid."""

_SUM_BITS = 62


def check_grid() -> None:
    """Raise ValueError for bit counts with which something here would not be exact."""
    if not (FEATURE_BITS >= 1 and PARAMETER_BITS >= 1 and BLOCK_ROWS >= 1):
        raise ValueError("Expected at least one bit on each grid and one row in a block.")
    if not 0 <= STEP_BITS <= PARAMETER_BITS:
        raise ValueError("Expected a direction's grid to be coarser than the parameters'.")
    if FEATURE_BITS > 24 or 2 * (FEATURE_BITS + round(math.log2(LARGEST_NORM))) > _SUM_BITS:
        raise ValueError("A feature has to fit float32, and a row's squares the 64-bit grid.")
    if MARGIN_BITS < 1:
        raise ValueError("No bits are left for margins: features or parameters take too many.")
    if BLOCK_SUM_BITS < FEATURE_BITS:
        raise ValueError("A block's sums of features are not exact: it needs fewer rows, or bits.")


check_grid()


def round_to(values: np.ndarray | float, bits: int) -> np.ndarray:
    """Return ``values`` rounded to multiples of ``2**-bits``, float64.

    Examples
    --------
    >>> from dpcore.plugin import round_to
    >>> round_to(0.3, 2)  # to quarters
    np.float64(0.25)
    """
    # A product with a power of two is exact, and faster than ldexp.
    return np.rint(np.asarray(values, dtype=np.float64) * 2.0**bits) * 2.0**-bits


def round_parameters(w: np.ndarray, raw_norm_bound: float) -> np.ndarray:
    """Return ``w`` on the finest grid, at most ``2**-PARAMETER_BITS``, on which margins are exact.

    ``w`` : float64 array of shape (n_features,), or (n_classes, n_features), whose classes share
    the grid of the longest row; a public value. ``raw_norm_bound`` : public bound of the l2 norm of
    every stored row. Rounding is idempotent in effect: a value on the grid stays.

    Raises InvalidInputError for a value that is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin import round_parameters
    >>> round_parameters(np.array([1 / 3]), raw_norm_bound=1.0) * 2.0**24
    array([5592405.])
    """
    w = np.ascontiguousarray(w, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        norm = _longest(w)
    if not math.isfinite(norm):
        raise InvalidInputError("Expected finite parameters w with a finite norm.")
    for excess in range(2 * PARAMETER_BITS):
        bits = PARAMETER_BITS - excess
        if _reach(norm, w.shape[-1], bits, raw_norm_bound) < 2.0 ** (MARGIN_BITS + excess):
            return round_to(w, bits)
    raise InvalidInputError("The norm of the parameters w is too large for exact margins.")


def is_exact_line(
    start: np.ndarray, end: np.ndarray, direction: np.ndarray, step: float, raw_norm_bound: float
) -> bool:
    """Return whether ``end`` is ``start - step * direction`` and its margins follow exactly.

    True only if direction and step are on their grids and both ends' margins are below half of
    what is exact, so that ``step`` times a margin of the direction, their difference, is exact too.
    """
    if step != round_to(step, STEP_BITS) or not np.array_equal(start - step * direction, end):
        return False
    if not np.array_equal(direction, round_to(direction, DIRECTION_BITS)):
        return False
    ends = (_longest(start), _longest(end))
    reach = _reach(max(ends), start.shape[-1], PARAMETER_BITS, raw_norm_bound)
    return reach < 2.0 ** (MARGIN_BITS - 1)


def _longest(w: np.ndarray) -> float:
    """Return the l2 norm of a vector, or of the longest row of a matrix."""
    norms = [ordered_norm(row) for row in (w if w.ndim > 1 else (w,))]
    return max(norms) if all(map(math.isfinite, norms)) else math.inf


def _reach(norm: float, size: int, bits: int, raw_norm_bound: float) -> float:
    """Return a bound of every margin once w is rounded: with slack for the norm's own rounding."""
    return raw_norm_bound * (norm * (1 + 2.0**-20) + math.sqrt(size) * 2.0**-bits)


def coefficient_bits(clip: float, capacity: int, noise_multiplier: float = 1.0) -> int:
    """Return k: row coefficients are truncated to ``2**-k``, products are
    multiples of ``2**-(FEATURE_BITS + k)``.

    The largest k with which a block's float64 sum of clipped rows is exact (``BLOCK_ROWS * clip``
    below 2^53 steps), the sum over ``capacity`` rows stays below 2^62 steps, and noise of
    ``2 * clip * noise_multiplier`` below 2^58 steps. All values are public.

    Raises InvalidInputError if not even k = 0 is possible (noise of no use at all).
    """
    if not (math.isfinite(clip) and clip > 0):
        raise InvalidInputError(f"Expected clip={clip!r} to be finite and > 0.")
    log_clip = math.frexp(clip)[1]
    bits = min(
        BLOCK_SUM_BITS - FEATURE_BITS - log_clip + 1,
        _SUM_BITS - FEATURE_BITS - int(capacity).bit_length() - log_clip,
        NOISE_BITS - FEATURE_BITS - math.frexp(noise_multiplier)[1] - log_clip - 2,
    )
    if bits < 0:
        raise InvalidInputError(
            f"Noise of {noise_multiplier:.3g} times clip={clip:.3g} does not fit the 64-bit grid: "
            "the budget is too small for one release. Raise epsilon or delta."
        )
    return min(bits, 40)
