"""Questions about the rows: each with its sensitivity, and the argument for it."""

from dpcore.queries.count import RowCount
from dpcore.queries.gradient import ClippedGradientSum

__all__ = ["ClippedGradientSum", "RowCount"]
