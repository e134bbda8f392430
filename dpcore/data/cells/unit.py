"""Numbers clamped to public bounds: of a feature, and of a real-valued label."""

from __future__ import annotations

import numpy as np

__all__ = ["scale_to_unit"]


def scale_to_unit(values: np.ndarray, lower: float, upper: float) -> np.ndarray:
    """Return ``values`` clamped to the public bounds and mapped to [0, 1]."""
    unit = (np.clip(values, lower, upper) - lower) / (upper - lower)
    return np.asarray(np.clip(unit, 0.0, 1.0))
