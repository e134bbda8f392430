"""The admission test of a plugin, ours included: plain ``check_*`` functions.

    from dpcore_lab.checks import parametrize_with_checks

    @parametrize_with_checks([MyOptimizer()])
    def test_optimizer(optimizer, check):
        check(optimizer)

``dpcore check NAME`` runs the same. Every kind of part has its check. A check returns what it has
``Tested``, or raises AssertionError with a reason.
"""

import warnings
from importlib import import_module
from typing import Any

from dpcore_lab.checks.accountants import check_accountant
from dpcore_lab.checks.coverage_text import BelowThreshold, Tested
from dpcore_lab.checks.datasets import check_dataset
from dpcore_lab.checks.engines import check_engine
from dpcore_lab.checks.guard import require_assertions
from dpcore_lab.checks.interactive import check_interactive
from dpcore_lab.checks.losses import check_loss
from dpcore_lab.checks.mechanisms import check_mechanism
from dpcore_lab.checks.optimizers import (
    OPTIMIZER_CHECKS,
    check_never_overspends,
    check_outputs_released,
    check_repeatable_when_seeded,
    check_sensitivity_on_neighbours,
    check_tiny_budget_refused,
)
from dpcore_lab.checks.parameters import check_bad_parameters_refused, check_declarations
from dpcore_lab.checks.parts import check_mechanisms_and_queries
from dpcore_lab.checks.queries import check_query
from dpcore_lab.checks.run import Outcome, parametrize_with_checks, run_checks
from dpcore_lab.checks.samplers import check_sampler
from dpcore_lab.checks.utility import UTILITY_CHECKS, check_huge_epsilon_limit
from dpcore_lab.isolation import not_isolated, run_apart
from dpcore_lab.made_tables.tables import make_rows
from dpcore_lab.recount.privacy_losses import epsilon_of_losses
from dpcore_lab.replay.recorded import loss_of
from dpcore_lab.replay.recording import RecordingSession
from dpcore_lab.replay.replay import ReplaySession

__all__ = [
    "BelowThreshold",
    "OPTIMIZER_CHECKS",
    "Outcome",
    "RecordingSession",
    "ReplaySession",
    "UTILITY_CHECKS",
    "check_accountant",
    "Tested",
    "check_bad_parameters_refused",
    "check_dataset",
    "check_engine",
    "check_huge_epsilon_limit",
    "check_interactive",
    "check_loss",
    "check_mechanism",
    "check_mechanisms_and_queries",
    "check_never_overspends",
    "check_outputs_released",
    "check_declarations",
    "check_query",
    "check_repeatable_when_seeded",
    "check_sampler",
    "check_sensitivity_on_neighbours",
    "check_tiny_budget_refused",
    "epsilon_of_losses",
    "loss_of",
    "make_rows",
    "not_isolated",
    "parametrize_with_checks",
    "require_assertions",
    "run_apart",
    "run_checks",
]

_OF_POOLS = "dpcore_a_ddp.users.pool_check"


def __getattr__(name: str) -> Any:
    if name != "check_pool":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"{__name__}.{name} is in {_OF_POOLS} now.", FutureWarning, stacklevel=2)
    return getattr(import_module(_OF_POOLS), name)
