"""Questions about the rows: each with its sensitivity, and the argument for it."""

from typing import Any

from dpcore.moved import moved_name
from dpcore.queries.count import RowCount
from dpcore.queries.gradient import ClippedGradientSum

__all__ = ["ClippedGradientSum", "RowCount"]


def __getattr__(name: str) -> Any:
    return moved_name(__name__, name)
