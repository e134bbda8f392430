"""The names of ``dpcore.plugin``: those that the author of an optimizer needs."""

from dpcore.accountants.calibrate import noise_multiplier
from dpcore.accountants.schedule import FixedSchedule
from dpcore.errors import InvalidInputError
from dpcore.exact.compiled import njit
from dpcore.exact.grid import round_parameters, round_to
from dpcore.exact.reproducible import ordered_dot, ordered_norm, ordered_sum
from dpcore.fitting.planning.slots import mechanism_in
from dpcore.fitting.request.settings import Settings
from dpcore.mechanisms.gaussian import Gaussian
from dpcore.mechanisms.geometric import Geometric
from dpcore.mechanisms.laplace import Laplace
from dpcore.plugin.lazy_exports import lazy_exports
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.protocols import Accountant, Loss
from dpcore.protocols.problem import Problem, Solution
from dpcore.protocols.session import PrivacySession
from dpcore.queries import ClippedGradientSum, RowCount
from dpcore.registry.expected_utility import ExpectedUtility
from dpcore.registry.hookspecs import hookimpl
from dpcore.registry.parameters import check_ranges, option
from dpcore.registry.slots import Slot

__all__ = [
    "Accountant",
    "ClippedGradientSum",
    "Gaussian",
    "Geometric",
    "InvalidInputError",
    "Laplace",
    "Loss",
    "NeighboringRelation",
    "ExpectedUtility",
    "FixedSchedule",
    "PrivacySession",
    "Problem",
    "RowCount",
    "Settings",
    "Slot",
    "Solution",
    "check_ranges",
    "hookimpl",
    "lazy_exports",
    "mechanism_in",
    "njit",
    "noise_multiplier",
    "option",
    "ordered_dot",
    "ordered_norm",
    "ordered_sum",
    "round_parameters",
    "round_to",
]
