"""Questions about the rows: each with its sensitivity, and the argument for it."""

from dpcore.queries.count import RowCount
from dpcore.queries.gradient import ClippedGradientSum
from dpcore.queries.gram import GramMatrix
from dpcore.queries.histogram import Histogram
from dpcore.queries.moments import ColumnMoments
from dpcore.queries.numeric_sums import NumericSums
from dpcore.queries.quantile import QuantileScores
from dpcore.queries.sample import FixedSizeSample, PoissonSample
from dpcore.queries.standardized import StandardizedGradientSum
from dpcore.queries.unit_gradient import UnitGradientSum

__all__ = [
    "ClippedGradientSum",
    "ColumnMoments",
    "FixedSizeSample",
    "GramMatrix",
    "Histogram",
    "NumericSums",
    "PoissonSample",
    "QuantileScores",
    "RowCount",
    "StandardizedGradientSum",
    "UnitGradientSum",
]
