"""Questions about the rows: each with its sensitivity, and the argument for it."""

from dpcore.queries.ball import PublicBall
from dpcore.queries.bounded import BoundedMinimizer
from dpcore.queries.count import RowCount
from dpcore.queries.excess import Excess
from dpcore.queries.gradient import ClippedGradientSum
from dpcore.queries.gram import GramMatrix, MinimumQuadratic, QuadraticObjective
from dpcore.queries.loss_sum import ErrorCount, ObjectiveSum
from dpcore.queries.minimizer import Minimizer, MinimumObjective
from dpcore.queries.moments import ColumnMoments
from dpcore.queries.perturbed import PerturbedMinimizer
from dpcore.queries.sample import FixedSizeSample, PoissonSample
from dpcore.queries.standardized import StandardizedGradientSum

__all__ = [
    "BoundedMinimizer",
    "ClippedGradientSum",
    "ColumnMoments",
    "ErrorCount",
    "Excess",
    "FixedSizeSample",
    "GramMatrix",
    "MinimumObjective",
    "MinimumQuadratic",
    "Minimizer",
    "ObjectiveSum",
    "PerturbedMinimizer",
    "PoissonSample",
    "PublicBall",
    "QuadraticObjective",
    "RowCount",
    "StandardizedGradientSum",
]
