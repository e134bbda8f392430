"""The p-value of right guesses, against the sums of its formula and a randomised response."""

import math

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore_lab.audit.claim import Claim
from dpcore_lab.audit.fits import Fits, Request
from dpcore_lab.audit.one_run import audit_one_run, guesses, least_epsilon, p_value


def naive_p_value(m, r, v, epsilon, delta):
    """The formula of Steinke, Nasr & Jagielski 2023, appendix D, term by term."""
    q = math.exp(epsilon) / (1 + math.exp(epsilon))
    mass = [math.comb(r, k) * q**k * (1 - q) ** (r - k) for k in range(r + 1)]
    steepest = max([0.0, *(sum(mass[v - i : v]) / i for i in range(1, v + 1))])
    return min(1.0, sum(mass[v:]) + 2 * m * delta * steepest)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize(("m", "r", "v"), [(20, 10, 9), (20, 10, 0), (50, 40, 30), (8, 8, 8)])
def test_the_p_value_is_the_formulas(m, r, v, epsilon):
    for delta in (0.0, 1e-3):
        expected = naive_p_value(m, r, v, epsilon, delta)
        assert p_value(m, r, v, epsilon, delta) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("m", "r", "v", "delta", "printed"),
    [(1_000, 100, 75, 1e-4, 0.673), (100_000, 1_510, 1_439, 1e-5, 2.675)],
)
def test_epsilons_are_the_printed_ones(m, r, v, delta, printed):
    # Steinke, Nasr & Jagielski 2023, arXiv 2305.08846v1: appendix D, page 46, and section 7, page
    # 28, three decimals, the second cut off.
    assert least_epsilon(m, r, v, delta) == pytest.approx(printed, abs=1e-3)


def test_randomised_response_is_at_its_own_epsilon():
    # Each coin is told rightly with probability e / (1 + e): epsilon 1, and no set tells more.
    # 10,000 coins are .029 from their mean, in epsilon, at 5 %; six times that fails at 1e-6.
    rng = np.random.default_rng(5)
    right = int((rng.random(10_000) < 1 / (1 + math.exp(-1.0))).sum())
    assert 0.8 < least_epsilon(10_000, 10_000, right, 0.0) < 1.1
    assert not guesses(Claim(1.0, 0.0), 10_000, 10_000, right).is_violation
    assert guesses(Claim(0.5, 0.0), 10_000, 10_000, right).is_violation


def test_one_run_of_an_algorithm():
    found = audit_one_run(Fits(Request("outpert", epsilon=200.0, seed=1)), 100, seed=2)
    assert 0 <= found.right <= found.guessed == 50
    assert found.epsilon < 200 and not found.is_violation


def test_one_run_is_refused_under_another_relation():
    with pytest.raises(InvalidInputError, match="add-or-remove-one alone"):
        audit_one_run(Fits(Request("rsgd-ar")), 100, seed=2)
