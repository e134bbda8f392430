"""The names that the author of an accountant imports. They load no kernel and no query: whatever
accountant is registered is loaded where accountants are compared.
"""

from dpcore.accountants.additive import validated_delta, validated_epsilon
from dpcore.accountants.advanced_composition import (
    AmplifiedAccountant,
    amplified_epsilon,
    epsilon_after,
)
from dpcore.accountants.gaussian_floats import MARGIN, gaussian_deltas_up
from dpcore.accountants.joint import JointAccountant, Round, Rounds
from dpcore.accountants.search import most_rounds, smallest_epsilon, smallest_multiplier
from dpcore.accountants.skellam import skellam_delta_up
from dpcore.errors import BudgetExceededError, InvalidInputError, UnsupportedEventError
from dpcore.exact.rounding import float_down, float_up, sqrt_up
from dpcore.privacy.events import DpEvent, SkellamDpEvent

__all__ = [
    "AmplifiedAccountant",
    "BudgetExceededError",
    "DpEvent",
    "InvalidInputError",
    "JointAccountant",
    "MARGIN",
    "Round",
    "Rounds",
    "SkellamDpEvent",
    "UnsupportedEventError",
    "amplified_epsilon",
    "epsilon_after",
    "float_down",
    "float_up",
    "gaussian_deltas_up",
    "most_rounds",
    "skellam_delta_up",
    "smallest_epsilon",
    "smallest_multiplier",
    "sqrt_up",
    "validated_delta",
    "validated_epsilon",
]
