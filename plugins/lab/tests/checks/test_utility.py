"""Thresholds of utility are told apart from faults of privacy."""

from dataclasses import dataclass

import numpy as np
import pytest
from honest import Honest

from dpcore_lab.checks import (
    UTILITY_CHECKS,
    BelowThreshold,
    check_huge_epsilon_limit,
    check_loss,
    parametrize_with_checks,
)
from dpcore_lab.checks.run import outcome_of


@dataclass(frozen=True, kw_only=True)
class Slow(Honest):
    """One short step: as private as any, and of no use."""

    steps: int = 1
    rate: float = 1e-3


def test_a_slow_algorithm_is_below_a_threshold_and_has_no_fault_of_privacy():
    with pytest.raises(BelowThreshold, match="of the possible gain"):
        check_huge_epsilon_limit(Slow())
    found = outcome_of("limit", lambda: check_huge_epsilon_limit(Slow()), Slow(), False)
    assert found.of_utility and not found.passed and found.reason.startswith("With epsilon=1e5")


def test_an_author_may_leave_thresholds_of_utility_out():
    def checks(**options):
        def any_test(part, check):
            pass

        (mark,) = parametrize_with_checks([Slow()], **options)(any_test).pytestmark
        return {pair.values[1] for pair in mark.args[1]}

    assert checks() - checks(utility=False) == set(UTILITY_CHECKS)


@dataclass(frozen=True)
class LogCosh:
    """log(cosh(z - y)), written so that it does not overflow: next to 0 its terms cancel."""

    name = "log-cosh"
    classification = False
    convex = True
    lipschitz = 1.0
    smoothness = 1.0

    def value(self, z, y, out):
        r = np.abs(z - y)
        out[:] = r + np.log1p(np.exp(-2.0 * r)) - np.log(2.0)

    def dvalue(self, z, y, out):
        out[:] = np.tanh(z - y)


def test_rounding_of_a_loss_next_to_zero_is_no_fault_of_its_constants():
    assert "calls 1 to 300" in check_loss(LogCosh()).ranges


class Steeper(LogCosh):
    """Its constant is a hundredth too small."""

    lipschitz = 0.99
    convex = True


def test_a_constant_that_is_too_small_is_still_found():
    with pytest.raises(AssertionError, match="declared lipschitz"):
        check_loss(Steeper())
