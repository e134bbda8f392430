"""Differentially private linear models and statistics: a session charges every release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.errors import NOT_HERE
from dpcore.moved import find_moved, object_at, place_of_name

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.api import fit
    from dpcore.fitting.request.fit_options import (
        Algorithm,
        Budget,
        Ledger,
        OneVsRest,
        Rows,
        Threads,
        Unit,
        Users,
        Weights,
    )
    from dpcore.model.model import load_model

__all__ = [
    "Algorithm",
    "BalancedWeights",
    "Budget",
    "Calibration",
    "Evaluation",
    "Intervals",
    "Ledger",
    "OneVsRest",
    "PrivateBounds",
    "Rows",
    "Schema",
    "Threads",
    "Unit",
    "Users",
    "Weights",
    "__version__",
    "fit",
    "load_model",
]

__version__ = "0.1.0"

find_moved()

_WORDS = "dpcore.fitting.request.fit_options"
_LAZY = {
    "Algorithm": _WORDS,
    "Budget": _WORDS,
    "Ledger": _WORDS,
    "OneVsRest": _WORDS,
    "Rows": _WORDS,
    "Threads": _WORDS,
    "Unit": _WORDS,
    "Users": _WORDS,
    "Weights": _WORDS,
    "Schema": "dpcore.data.schema.schema",
    "fit": "dpcore.fitting.api",
    "load_model": "dpcore.model.model",
}


def __getattr__(name: str) -> Any:
    # Imported on use, so that the command line starts without NumPy.
    if name in _LAZY:
        if NOT_HERE:
            raise ImportError(NOT_HERE)
        import importlib

        return getattr(importlib.import_module(_LAZY[name]), name)
    if place := place_of_name(__name__, name):
        return object_at(place, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
