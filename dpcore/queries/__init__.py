"""Questions about the rows: each with its sensitivity, and the argument for it."""

from dpcore.queries.count import RowCount
from dpcore.queries.gradient import ClippedGradientSum
from dpcore.queries.histogram import Histogram
from dpcore.queries.moments import ColumnMoments
from dpcore.queries.sample import PoissonSample
from dpcore.queries.standardized import StandardizedGradientSum

__all__ = [
    "ClippedGradientSum",
    "ColumnMoments",
    "Histogram",
    "PoissonSample",
    "RowCount",
    "StandardizedGradientSum",
]
