"""The names of ``dpcore.plugin.parts``, for authors of queries, mechanisms, accountants and losses.

Whatever is built of these acts on rows or decides what a release costs. It is inside the trust
boundary, and the statement names it.
"""

from dpcore.accountants.additive import AdditiveAccountant
from dpcore.accountants.delta_reserve import ReservingAccountant
from dpcore.accountants.gdp import GdpAccountant
from dpcore.accountants.pure import PureAccountant
from dpcore.accountants.search import smallest_multiplier
from dpcore.data.arrays import dataset_from_arrays
from dpcore.data.blocks.block import Block
from dpcore.data.blocks.rounded_line import RoundedLine
from dpcore.data.blocks.table import Table
from dpcore.data.dataset import Dataset
from dpcore.engines.local import LocalEngine
from dpcore.exact.rounding import (
    exact,
    exp_down,
    exp_up,
    float_down,
    float_up,
    log_down,
    log_up,
    sqrt_up,
)
from dpcore.losses.logistic import Logistic
from dpcore.mechanisms.base import PureNoise, ScaledNoise
from dpcore.model.model import Model
from dpcore.model.outfile import OutFile
from dpcore.noise.entropy import Unshareable
from dpcore.noise.incremental_digits import DigitStream
from dpcore.noise.scale import GridScale
from dpcore.noise.source import NoiseSource, SeededNoise
from dpcore.privacy.events import (
    ComposedDpEvent,
    DpEvent,
    ExponentialMechanismDpEvent,
    ExPostDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    NonPrivateDpEvent,
    PoissonSampledDpEvent,
    PureDpEvent,
    RandomizedSensitivityGaussian,
    SampledWithoutReplacementDpEvent,
    SkellamDpEvent,
)
from dpcore.privacy.exact_copies import cached_by_value
from dpcore.privacy.immutable import constant, sealed
from dpcore.privacy.sensitivity import Sensitivity
from dpcore.privacy.stated_events import (
    ApproximateDpEvent,
    DominatingPairDpEvent,
    RenyiDpEvent,
    ZcdpDpEvent,
)
from dpcore.privacy.statement import PrivacyStatement
from dpcore.privacy.unit_of_privacy import Units
from dpcore.protocols import DerivedQuery, Engine, Mechanism, Query, SampledQuery, TableQuery
from dpcore.protocols.interactive import InteractiveMechanism
from dpcore.protocols.optimizer import Optimizer
from dpcore.queries.clipping import clip_coefficients, clipped_total
from dpcore.queries.gradient import ClippedGradients
from dpcore.queries.row_sums import CoefficientSum, ContributionSum
from dpcore.registry.catalogue import Registry, load_registry
from dpcore.registry.entries import Registration
from dpcore.registry.tables.losses import LossFacts
from dpcore.registry.tables.optimizer_spec import optimizer_facts
from dpcore.row_functions.row_function import RowFunction
from dpcore.session.account import Account
from dpcore.session.ledger import ChargeLog
from dpcore.session.one_process import OneProcess
from dpcore.session.session import TableSession

__all__ = [
    "Account",
    "AdditiveAccountant",
    "ApproximateDpEvent",
    "Block",
    "ClippedGradients",
    "CoefficientSum",
    "ComposedDpEvent",
    "ContributionSum",
    "Dataset",
    "DerivedQuery",
    "DigitStream",
    "DominatingPairDpEvent",
    "DpEvent",
    "Engine",
    "ExPostDpEvent",
    "ExponentialMechanismDpEvent",
    "GaussianDpEvent",
    "GdpAccountant",
    "GridScale",
    "InteractiveMechanism",
    "LaplaceDpEvent",
    "ChargeLog",
    "LocalEngine",
    "Logistic",
    "LossFacts",
    "Mechanism",
    "Model",
    "NoiseSource",
    "NonPrivateDpEvent",
    "OneProcess",
    "Optimizer",
    "OutFile",
    "PoissonSampledDpEvent",
    "PrivacyStatement",
    "PureAccountant",
    "PureDpEvent",
    "PureNoise",
    "Query",
    "RandomizedSensitivityGaussian",
    "Registration",
    "Registry",
    "RenyiDpEvent",
    "ReservingAccountant",
    "RoundedLine",
    "RowFunction",
    "SampledQuery",
    "SampledWithoutReplacementDpEvent",
    "ScaledNoise",
    "SeededNoise",
    "Sensitivity",
    "SkellamDpEvent",
    "Table",
    "TableQuery",
    "TableSession",
    "Units",
    "Unshareable",
    "ZcdpDpEvent",
    "cached_by_value",
    "clip_coefficients",
    "clipped_total",
    "constant",
    "dataset_from_arrays",
    "exact",
    "exp_down",
    "exp_up",
    "float_down",
    "float_up",
    "load_registry",
    "log_down",
    "log_up",
    "optimizer_facts",
    "sealed",
    "smallest_multiplier",
    "sqrt_up",
]
