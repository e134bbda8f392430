"""Weights as they are asked for, checked without a plan or a row."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "BALANCED",
    "LARGEST",
    "MOST_WEIGHT",
    "checked_bound",
    "checked_largest",
    "checked_weights",
    "parsed_weights",
    "public_weights",
]

BALANCED = "balanced"
MOST_WEIGHT = 2.0**20
"""No weight of rows is larger, and none of a class smaller than its inverse."""


LARGEST = 10.0
"""The most that a balanced weight may come to where nothing else is said."""


def public_weights(texts: Sequence[str] | None) -> dict[str, str] | None:
    """Return the weights of a command line, ``None`` where a step is to release them."""
    weights = parsed_weights(texts)
    return None if isinstance(weights, str) else weights


def parsed_weights(texts: Sequence[str] | None) -> str | dict[str, str] | None:
    """Return the weights of a command line: ``balanced``, or CLASS=NUMBER, several with commas
    between them or one by one."""
    if not texts:
        return None
    if [*texts] == [BALANCED]:
        return BALANCED
    pairs = [part.rpartition("=") for text in texts for part in text.split(",")]
    named = {name.strip(): weight for name, _, weight in pairs}
    if "" in named or len(named) < len(pairs):
        raise InvalidInputError(
            "Expected --class-weight balanced, or CLASS=NUMBER once for each class, as in "
            "--class-weight a=1,b=20 (class_weight={'a': 1, 'b': 20})."
        )
    return named


def checked_weights(given: Any) -> dict[Any, float] | None:
    """Return public weights as they are asked for, as float; InvalidInputError for what are
    none."""
    if given is None:
        return None
    if not (isinstance(given, Mapping) and given):
        raise InvalidInputError(
            f"Expected class_weight={given!r} to be 'balanced' or a weight by each class's name."
        )
    return {name: _checked_weight(name, weight) for name, weight in given.items()}


def checked_largest(largest: Any) -> float:
    """Return the most that a balanced weight may come to; InvalidInputError for what is none."""
    if not (_is_number(largest) and 1 <= largest <= MOST_WEIGHT):
        raise InvalidInputError(f"Expected largest_weight={largest!r} from 1 to 2^20.")
    return float(largest)


def checked_bound(given: Any) -> float | None:
    """Return the bound of weights of rows; InvalidInputError for what is none."""
    if given is None or (_is_number(given) and 1 / MOST_WEIGHT <= given <= MOST_WEIGHT):
        return None if given is None else float(given)
    raise InvalidInputError(f"Expected weight_bound={given!r} to be a number from 2^-20 to 2^20.")


def _checked_weight(name: Any, weight: Any) -> float:
    try:
        number = float(weight) if isinstance(weight, str) or _is_number(weight) else math.nan
    except ValueError:
        number = math.nan
    if not 1 / MOST_WEIGHT <= number <= MOST_WEIGHT:
        raise InvalidInputError(
            f"Expected the weight {weight!r} of the class {name!r} to be a number from 2^-20 to "
            "2^20."
        )
    return number


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
