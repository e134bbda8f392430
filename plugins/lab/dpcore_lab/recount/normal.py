"""A second count of releases that a Gaussian dominates: the shift that their tests need, tried test
by test in floats, and not by the closed forms of the accountant."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcore.plugin.parts import (
    ExponentialMechanismDpEvent,
    ExPostDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PureDpEvent,
)

if TYPE_CHECKING:
    import numpy as np

    from dpcore.plugin.parts import DpEvent

__all__ = ["shift_of"]

_TESTS = 2001


def shift_of(event: DpEvent) -> float | None:
    """Return the least shift of normal distributions whose tests have no larger errors than any
    that was tried of the release's own (Dong, Roth & Su 2022, Definition 2.1); ``None`` for other
    events."""
    import numpy as np

    part = np.linspace(0.0, 1.0, _TESTS)[1:-1]
    match event:
        case GaussianDpEvent(noise_multiplier=m):
            return 1 / m
        case ExponentialMechanismDpEvent(epsilon=e):
            # Two outcomes whose log-ratios are s and s - e: the tests of all such pairs.
            return _largest(*_errors(e * part, e * part - e))
        case PureDpEvent(epsilon=e) | ExPostDpEvent(epsilon=e):
            high = e * part
            pairs = [_largest(*_errors(high, low)) for low in (-e * part, np.full(part.size, -e))]
            return max(*pairs, _largest(*_errors(np.array([e]), np.array([-e]))))
        case LaplaceDpEvent(noise_multiplier=m):
            # Thresholds at x from the first of two centres, 1 / m apart.
            x = part / m
            return _largest(np.exp(-x) / 2, np.exp(x - 1 / m) / 2)
    return None


def _errors(high: np.ndarray, low: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both errors of the test of two outcomes with these log-ratios."""
    import numpy as np

    span = np.exp(low - high)
    first = -np.expm1(low) * np.exp(-high) / (1 - span)
    return first, (1 - first) * np.exp(low)


def _largest(first: np.ndarray, second: np.ndarray) -> float:
    from scipy.stats import norm

    shift = float((norm.isf(first) + norm.isf(second)).max())
    return shift if math.isfinite(shift) else math.inf
