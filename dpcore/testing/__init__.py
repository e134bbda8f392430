"""The admission test of a plugin, ours included: plain ``check_*`` functions.

    from dpcore.testing import parametrize_with_checks

    @parametrize_with_checks([MyOptimizer()])
    def test_optimizer(optimizer, check):
        check(optimizer)

``dpcore check NAME`` runs the same. A check returns nothing, or raises AssertionError with a
reason.
"""

from dpcore.testing.losses import check_loss
from dpcore.testing.mechanisms import check_mechanism
from dpcore.testing.optimizers import (
    OPTIMIZER_CHECKS,
    check_bad_parameters_refused,
    check_huge_epsilon_limit,
    check_never_overspends,
    check_outputs_released,
    check_presets,
    check_repeatable_when_seeded,
    check_sensitivity_on_neighbours,
    check_tiny_budget_refused,
)
from dpcore.testing.parts import check_mechanisms_and_queries
from dpcore.testing.pools import (
    POOL_CHECKS,
    check_pool_bad_parameters_refused,
    check_pool_messages_are_noisy,
    check_pool_never_overspends,
    check_pool_outputs_released,
    check_pool_repeatable_when_seeded,
    check_pool_tiny_budget_refused,
)
from dpcore.testing.queries import check_query
from dpcore.testing.recording import RecordingSession
from dpcore.testing.replay import ReplaySession
from dpcore.testing.run import parametrize_with_checks, run_checks

__all__ = [
    "OPTIMIZER_CHECKS",
    "POOL_CHECKS",
    "RecordingSession",
    "ReplaySession",
    "check_bad_parameters_refused",
    "check_huge_epsilon_limit",
    "check_loss",
    "check_mechanism",
    "check_mechanisms_and_queries",
    "check_never_overspends",
    "check_outputs_released",
    "check_pool_bad_parameters_refused",
    "check_pool_messages_are_noisy",
    "check_pool_never_overspends",
    "check_pool_outputs_released",
    "check_pool_repeatable_when_seeded",
    "check_pool_tiny_budget_refused",
    "check_presets",
    "check_query",
    "check_repeatable_when_seeded",
    "check_sensitivity_on_neighbours",
    "check_tiny_budget_refused",
    "parametrize_with_checks",
    "run_checks",
]
