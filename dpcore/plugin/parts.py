"""The names that the author of a query, mechanism, accountant or loss imports.

What is built of these acts on rows or decides what a release costs. It is inside the trust
boundary, and the statement names it.
"""

from dpcore.accountants import ACCOUNTANTS
from dpcore.accountants.normal import gaussian_mu_squared_down
from dpcore.accountants.pure import PureAccountant
from dpcore.accountants.search import smallest_multiplier
from dpcore.data.blocks.batches import OrderedRows, order_rows, rotate_rows
from dpcore.data.blocks.block import Block, RawRows
from dpcore.data.blocks.standardization import Standardization
from dpcore.data.blocks.table import Table
from dpcore.exact.grid import FINE_BITS
from dpcore.losses.squared import Squared
from dpcore.mechanisms.approximate_minima import ApproximateMinima
from dpcore.mechanisms.base import ScaledNoise
from dpcore.mechanisms.exact import Exact
from dpcore.mechanisms.gamma import Gamma
from dpcore.mechanisms.noise_reduction import NoiseReduction
from dpcore.noise.source import NoiseSource, SeededNoise
from dpcore.privacy.events import (
    ComposedDpEvent,
    DpEvent,
    ExPostDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    ObjectivePerturbationDpEvent,
    PoissonSampledDpEvent,
    PureDpEvent,
)
from dpcore.privacy.sealed import constant, sealed
from dpcore.privacy.sensitivity import RandomizedSensitivity, Sensitivity
from dpcore.protocols import DerivedQuery, Engine, Mechanism, Optimizer, Query, TableQuery
from dpcore.protocols.interactive import InteractiveMechanism
from dpcore.queries import (
    BoundedMinimizer,
    ErrorCount,
    Excess,
    Minimizer,
    MinimumObjective,
    MinimumQuadratic,
    ObjectiveSum,
    PublicBall,
    QuadraticObjective,
)
from dpcore.queries.gram import unpack
from dpcore.queries.loss_line import clipped_total
from dpcore.queries.perturbed import PerturbedMinimizer, vertices

__all__ = [
    "ACCOUNTANTS",
    "FINE_BITS",
    "ApproximateMinima",
    "Block",
    "BoundedMinimizer",
    "ComposedDpEvent",
    "DerivedQuery",
    "DpEvent",
    "Engine",
    "ErrorCount",
    "ExPostDpEvent",
    "Exact",
    "Excess",
    "Gamma",
    "GaussianDpEvent",
    "InteractiveMechanism",
    "LaplaceDpEvent",
    "Mechanism",
    "Minimizer",
    "MinimumObjective",
    "MinimumQuadratic",
    "NoiseReduction",
    "NoiseSource",
    "ObjectivePerturbationDpEvent",
    "ObjectiveSum",
    "Optimizer",
    "OrderedRows",
    "PerturbedMinimizer",
    "PoissonSampledDpEvent",
    "PublicBall",
    "PureAccountant",
    "PureDpEvent",
    "QuadraticObjective",
    "Query",
    "RandomizedSensitivity",
    "RawRows",
    "ScaledNoise",
    "SeededNoise",
    "Sensitivity",
    "Squared",
    "Standardization",
    "Table",
    "TableQuery",
    "clipped_total",
    "constant",
    "gaussian_mu_squared_down",
    "order_rows",
    "rotate_rows",
    "sealed",
    "smallest_multiplier",
    "unpack",
    "vertices",
]
