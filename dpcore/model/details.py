"""Details beside the coefficients of a solution: a few plain values for the report."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpcore.session.trust_boundary import NUMPY_SCALARS

__all__ = ["LONGEST_TEXT", "MOST_VALUES", "bounded", "fault_of_details", "plain"]

MOST_VALUES = 1_000
"""Values, keys, lists and dicts in all: enough for what a report shows of a run."""
LONGEST_TEXT = 1_000
_LARGEST = 2**64


def bounded(details: Any) -> dict[str, Any]:
    """Return the details, or, in place of any that ``fault_of_details`` finds fault with, why they
    were left out.

    The budget was spent on the model, which does not depend on them: it is kept.
    """
    fault = fault_of_details(details)
    return {"left_out": f"The details were left out: {fault}"} if fault else dict(details)


def fault_of_details(details: Any) -> str:
    """Return what is wrong with the details, with what is allowed; empty if nothing.

    They are a dict of texts to ``None``, truth values, numbers of up to 64 bits, texts of up to
    1,000 characters, arrays of numbers, and lists, tuples and dicts of these: 1,000 in all.
    """
    if type(details) is not dict:
        return "they are no dict."
    waiting: list[Any] = [details]
    left = MOST_VALUES
    while waiting:
        value = waiting.pop()
        left -= value.size if type(value) is np.ndarray else 1
        if left < 0:
            return f"they hold more than {MOST_VALUES:,} values. Return a summary of them."
        if type(value) is dict:
            waiting += [*value, *value.values()]
        elif type(value) in (list, tuple):
            waiting += value
        elif fault := _fault_of_value(value):
            return fault
    return ""


def _fault_of_value(value: Any) -> str:
    kind = type(value)
    if kind is str:
        return (
            f"a text is longer than {LONGEST_TEXT:,} characters."
            if len(value) > LONGEST_TEXT
            else ""
        )
    if kind is int:
        return "" if abs(value) < _LARGEST else "a whole number has more than 64 bits."
    if value is None or kind in (bool, float):
        return ""
    if (kind is np.ndarray or kind in NUMPY_SCALARS) and value.dtype.kind in "biuf":
        return ""
    return (
        f"a {kind.__name__} is none of what they may hold: numbers, texts, arrays of numbers, and "
        "lists and dicts of these."
    )


def plain(value: Any) -> Any:
    """Return ``value`` as JSON-able data, so that no value of a plugin can make saving fail after
    the budget was spent: arrays become lists, what is not finite ``None``, anything else text."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
