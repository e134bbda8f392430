"""The names that the author of a query, mechanism, accountant or loss imports.

What is built of these acts on rows or decides what a release costs. It is inside the trust
boundary, and the statement names it.
"""

from dpcore.accountants import ACCOUNTANTS
from dpcore.accountants.normal import gaussian_mu_squared_down
from dpcore.accountants.pure import PureAccountant
from dpcore.accountants.search import smallest_multiplier
from dpcore.data.blocks.batches import OrderedRows, order_rows, rotate_rows
from dpcore.data.blocks.standardization import Standardization
from dpcore.data.blocks.table import Block, Table, row_factors
from dpcore.exact.grid import BLOCK_ROWS, FEATURE_BITS, PARAMETER_BITS
from dpcore.exact.rounding import float_up, sqrt_up
from dpcore.losses.hinge import HingeSvm
from dpcore.losses.huber import HuberSvm
from dpcore.losses.logistic import Logistic
from dpcore.losses.squared import Squared
from dpcore.mechanisms.base import PureNoise, ScaledNoise, add_modulo
from dpcore.noise.lazy import Digits, DigitStream, exponential_digits, normal_digits
from dpcore.noise.scale import GridScale
from dpcore.noise.source import NoiseSource, SeededNoise
from dpcore.privacy.events import (
    ComposedDpEvent,
    DpEvent,
    ExPostDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    NonPrivateDpEvent,
    ObjectivePerturbationDpEvent,
    PoissonSampledDpEvent,
    PureDpEvent,
)
from dpcore.privacy.sealed import constant, sealed
from dpcore.privacy.sensitivity import RandomizedSensitivity, Sensitivity
from dpcore.protocols import DerivedQuery, Engine, Mechanism, Query, TableQuery
from dpcore.protocols.interactive import InteractiveMechanism
from dpcore.protocols.optimizer import Optimizer
from dpcore.queries.descent import minimize
from dpcore.queries.gradient_sum import (
    FINE_BITS,
    LOSS_ERROR,
    GradientSum,
    bounded_labels,
    gradient_bits,
    gradient_error,
)
from dpcore.queries.loss_line import clipped_total

__all__ = [
    "ACCOUNTANTS",
    "BLOCK_ROWS",
    "Block",
    "ComposedDpEvent",
    "DerivedQuery",
    "DigitStream",
    "Digits",
    "DpEvent",
    "Engine",
    "ExPostDpEvent",
    "FEATURE_BITS",
    "FINE_BITS",
    "GaussianDpEvent",
    "GradientSum",
    "GridScale",
    "HingeSvm",
    "HuberSvm",
    "InteractiveMechanism",
    "LOSS_ERROR",
    "LaplaceDpEvent",
    "Logistic",
    "Mechanism",
    "NoiseSource",
    "NonPrivateDpEvent",
    "ObjectivePerturbationDpEvent",
    "Optimizer",
    "OrderedRows",
    "PARAMETER_BITS",
    "PoissonSampledDpEvent",
    "PureAccountant",
    "PureDpEvent",
    "PureNoise",
    "Query",
    "RandomizedSensitivity",
    "ScaledNoise",
    "SeededNoise",
    "Sensitivity",
    "Squared",
    "Standardization",
    "Table",
    "TableQuery",
    "add_modulo",
    "bounded_labels",
    "clipped_total",
    "constant",
    "exponential_digits",
    "float_up",
    "gaussian_mu_squared_down",
    "gradient_bits",
    "gradient_error",
    "minimize",
    "normal_digits",
    "order_rows",
    "rotate_rows",
    "row_factors",
    "sealed",
    "smallest_multiplier",
    "sqrt_up",
]
