"""Options of steps, checked: a share of a budget, an epsilon."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from dpcore.errors import InvalidInputError
from dpcore.registry.parameters import convert

__all__ = ["checked_epsilon", "checked_share"]


def checked_share(name: str, value: Any) -> float | Fraction:
    """Return a share of a budget, a number in (0, 1); InvalidInputError for what is none."""
    share: float | Fraction
    share = value if isinstance(value, Fraction) else convert(name, float, value)
    if not 0 < share < 1:
        shown = float(share) if isinstance(share, Fraction) else share
        raise InvalidInputError(f"Expected 0 < {name}={shown} < 1.")
    return share


def checked_epsilon(name: str, value: Any) -> float:
    """Return an epsilon, finite and > 0; InvalidInputError for what is none."""
    epsilon: float = convert(name, float, value)
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise InvalidInputError(f"Expected {name}={epsilon} to be finite and > 0.")
    return epsilon
