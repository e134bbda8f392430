"""Questions about the rows: each with its sensitivity, and the argument for it."""

from dpcore.queries.count import RowCount
from dpcore.queries.gradient import ClippedGradientSum
from dpcore.queries.loss_line import ClippedLossLine

__all__ = ["ClippedGradientSum", "ClippedLossLine", "RowCount"]
