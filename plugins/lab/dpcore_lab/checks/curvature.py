"""Check of how fast the second derivative of a loss changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dpcore.plugin.parts import LossFacts

__all__ = ["bends_within"]

_STEP = 2.0**-4
_FARTHEST = 30.0
_ERROR = 2.0**-32


def bends_within(facts: LossFacts, y: np.ndarray) -> bool:
    """Return whether the slope's rises over neighbouring steps of the margin differ at most by the
    factor e^(c step), either way. So they do if c bounds the third over the second derivative,
    whose integrals the rises are.

    ``facts`` : with a ``self_concordance`` c.
    """
    z = np.linspace(-_FARTHEST, _FARTHEST, y.size)
    slopes = np.empty((3, y.size))
    for place in range(3):
        facts.dvalue(z + place * _STEP, y, slopes[place])
    first, second = np.diff(slopes, axis=0)
    slack = _ERROR * np.maximum(1.0, np.abs(slopes).max(axis=0))
    factor = np.exp((facts.self_concordance or 0.0) * _STEP)
    return bool(((second <= factor * first + slack) & (first <= factor * second + slack)).all())
