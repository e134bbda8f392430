"""The names that the author of a query, mechanism, accountant or loss imports.

What is built of these acts on rows or decides what a release costs. It is inside the trust
boundary, and the statement names it.
"""

from dpcore.accountants import ACCOUNTANTS
from dpcore.accountants.normal import gaussian_mu_squared_down
from dpcore.accountants.pure import PureAccountant
from dpcore.accountants.search import smallest_multiplier
from dpcore.data.blocks.standardization import Standardization
from dpcore.data.blocks.table import Block, RawRows, Table, row_factors
from dpcore.losses.facts import loss_facts
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
from dpcore.protocols import DerivedQuery, Engine, Mechanism, Query, TableQuery
from dpcore.protocols.interactive import InteractiveMechanism
from dpcore.protocols.optimizer import Optimizer
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
from dpcore.queries.clipping import clipped_total
from dpcore.queries.gram import unpack
from dpcore.queries.perturbed import PerturbedMinimizer, vertices
from dpcore.registry.catalogue import load_registry

__all__ = [
    "ACCOUNTANTS",
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
    "Standardization",
    "Table",
    "TableQuery",
    "clipped_total",
    "constant",
    "gaussian_mu_squared_down",
    "load_registry",
    "loss_facts",
    "row_factors",
    "sealed",
    "smallest_multiplier",
    "unpack",
    "vertices",
]
