"""The admission test of a plugin, ours included: plain ``check_*`` functions.

    from dpcore.testing import parametrize_with_checks

    @parametrize_with_checks([MyOptimizer()])
    def test_optimizer(optimizer, check):
        check(optimizer)

``dpcore check NAME`` runs the same. Every kind of part has its check. A check returns what it has
``Tested``, or raises AssertionError with a reason.
"""

from dpcore.testing.accountants import check_accountant
from dpcore.testing.datasets import check_dataset
from dpcore.testing.engines import check_engine
from dpcore.testing.guard import require_assertions
from dpcore.testing.interactive import check_interactive
from dpcore.testing.isolation import not_isolated, run_apart
from dpcore.testing.losses import check_loss
from dpcore.testing.mechanisms import check_mechanism
from dpcore.testing.optimizers import (
    OPTIMIZER_CHECKS,
    check_huge_epsilon_limit,
    check_never_overspends,
    check_outputs_released,
    check_repeatable_when_seeded,
    check_sensitivity_on_neighbours,
    check_tiny_budget_refused,
)
from dpcore.testing.parameters import check_bad_parameters_refused, check_declarations
from dpcore.testing.parts import check_mechanisms_and_queries
from dpcore.testing.pools import check_pool
from dpcore.testing.queries import check_query
from dpcore.testing.recorded import loss_of
from dpcore.testing.recording import RecordingSession
from dpcore.testing.recount_losses import epsilon_of_losses
from dpcore.testing.replay import ReplaySession
from dpcore.testing.run import Outcome, parametrize_with_checks, run_checks
from dpcore.testing.samplers import check_sampler
from dpcore.testing.tables import make_rows
from dpcore.testing.tested import Tested

__all__ = [
    "OPTIMIZER_CHECKS",
    "Outcome",
    "RecordingSession",
    "ReplaySession",
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
    "check_pool",
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
