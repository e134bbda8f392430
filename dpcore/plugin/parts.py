"""The names that the author of a query, mechanism, accountant or loss imports.

What is built of these acts on rows or decides what a release costs. It is inside the trust
boundary, and the statement names it.
"""

from dpcore.accountants.best import BestAccountant
from dpcore.accountants.normal import gaussian_mu_squared_down
from dpcore.accountants.pure import PureAccountant
from dpcore.accountants.registered import registered_accountants
from dpcore.accountants.schedule import planned_accountant
from dpcore.accountants.search import smallest_multiplier
from dpcore.data.blocks.csr import CsrBlock
from dpcore.data.blocks.kept_margins import LinePath
from dpcore.data.blocks.standardization import Standardization
from dpcore.data.blocks.table import Block, RawRows, Table, row_factors
from dpcore.data.dataset import Dataset, load_file
from dpcore.data.readers import format_of
from dpcore.data.readers.arrays import dataset_from_arrays
from dpcore.data.schema.schema import Schema
from dpcore.engines.local import LocalEngine, available_threads
from dpcore.exact.grid import FEATURE_BITS
from dpcore.fitting.plan import make_plan
from dpcore.fitting.users import fit_pool
from dpcore.losses.facts import loss_facts
from dpcore.mechanisms.approximate_minima import ApproximateMinima
from dpcore.mechanisms.base import ScaledNoise, add_modulo
from dpcore.mechanisms.exact import Exact
from dpcore.mechanisms.gamma import Gamma
from dpcore.mechanisms.noise_reduction import NoiseReduction
from dpcore.mechanisms.skellam import Skellam, skellam_event
from dpcore.model.model import Model
from dpcore.model.outfile import check_writable, write_whole
from dpcore.noise.entropy import Unshareable
from dpcore.noise.source import BULK_SIZE, NoiseSource, SeededNoise, SystemNoise
from dpcore.privacy.events import (
    ComposedDpEvent,
    DpEvent,
    ExPostDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    ObjectivePerturbationDpEvent,
    PoissonSampledDpEvent,
    PureDpEvent,
    SampledWithoutReplacementDpEvent,
)
from dpcore.privacy.sealed import constant, sealed
from dpcore.privacy.sensitivity import RandomizedSensitivity, Sensitivity
from dpcore.protocols import (
    DerivedQuery,
    Engine,
    Mechanism,
    Query,
    SampledQuery,
    TableQuery,
)
from dpcore.protocols.interactive import InteractiveMechanism
from dpcore.protocols.optimizer import Optimizer
from dpcore.protocols.user_messages import Answers, Declined, Inbox, Rejection, Reply, RoundRules
from dpcore.protocols.user_pool import LocalPool
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
from dpcore.queries.clipping import clip_coefficients, clipped_total
from dpcore.queries.gram import unpack
from dpcore.queries.perturbed import PerturbedMinimizer, vertices
from dpcore.queries.record_gradient import RecordGradientSum
from dpcore.queries.sample import FixedSizeSample
from dpcore.registry.catalogue import load_registry
from dpcore.registry.declarations import optimizer_facts
from dpcore.session.account import Account
from dpcore.session.ledger import Ledger
from dpcore.session.one_process import OneProcess
from dpcore.session.rehearsal import load_noise, load_now
from dpcore.session.session import TableSession

__all__ = [
    "Account",
    "Answers",
    "ApproximateMinima",
    "BULK_SIZE",
    "BestAccountant",
    "Block",
    "BoundedMinimizer",
    "ComposedDpEvent",
    "CsrBlock",
    "Dataset",
    "Declined",
    "DerivedQuery",
    "DpEvent",
    "Engine",
    "ErrorCount",
    "ExPostDpEvent",
    "Exact",
    "Excess",
    "FEATURE_BITS",
    "FixedSizeSample",
    "Gamma",
    "GaussianDpEvent",
    "Inbox",
    "InteractiveMechanism",
    "LaplaceDpEvent",
    "Ledger",
    "LinePath",
    "LocalEngine",
    "LocalPool",
    "Mechanism",
    "Minimizer",
    "MinimumObjective",
    "MinimumQuadratic",
    "Model",
    "NoiseReduction",
    "NoiseSource",
    "ObjectivePerturbationDpEvent",
    "ObjectiveSum",
    "OneProcess",
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
    "RecordGradientSum",
    "Rejection",
    "Reply",
    "RoundRules",
    "SampledQuery",
    "SampledWithoutReplacementDpEvent",
    "ScaledNoise",
    "Schema",
    "SeededNoise",
    "Sensitivity",
    "Skellam",
    "Standardization",
    "SystemNoise",
    "Table",
    "TableQuery",
    "TableSession",
    "Unshareable",
    "add_modulo",
    "available_threads",
    "check_writable",
    "clip_coefficients",
    "clipped_total",
    "constant",
    "dataset_from_arrays",
    "fit_pool",
    "format_of",
    "gaussian_mu_squared_down",
    "load_file",
    "load_noise",
    "load_now",
    "load_registry",
    "loss_facts",
    "make_plan",
    "optimizer_facts",
    "planned_accountant",
    "registered_accountants",
    "row_factors",
    "sealed",
    "skellam_event",
    "smallest_multiplier",
    "unpack",
    "vertices",
    "write_whole",
]
