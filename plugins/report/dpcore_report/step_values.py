"""Options of steps, checked: a share of a budget, an epsilon."""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from typing import Any

from dpcore.errors import InvalidInputError

__all__ = ["checked_epsilon", "checked_share"]


def checked_share(name: str, value: Any) -> float | Fraction:
    """Return a share of a budget, a number in (0, 1); InvalidInputError for what is none."""
    share: float | Fraction
    share = value if isinstance(value, Fraction) else _number(name, value)
    if not 0 < share < 1:
        shown = float(share) if isinstance(share, Fraction) else share
        raise InvalidInputError(f"Expected 0 < {name}={shown} < 1.")
    return share


def checked_epsilon(name: str, value: Any) -> float:
    """Return an epsilon, finite and > 0; InvalidInputError for what is none."""
    if not (epsilon := _number(name, value)) > 0:
        raise InvalidInputError(f"Expected {name}={epsilon} to be finite and > 0.")
    return epsilon


def _number(name: str, value: Any) -> float:
    """Return a finite number, given as one or in text; InvalidInputError for what is none."""
    if not isinstance(value, bool):
        with suppress(TypeError, ValueError, OverflowError):
            if math.isfinite(number := float(value)):
                return number
    raise InvalidInputError(f"Expected {name}={value!r} to be a finite number.")
