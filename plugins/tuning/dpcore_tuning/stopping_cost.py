"""The price of a randomly stopped search: what each of its tries may cost, so that the best of a
random number of them is within the budget.

A try Q is a fit and the private score that it gets. K is drawn from a distribution that is fixed
beforehand, Q runs K times, each time on a fresh candidate of a public list with fresh noise, and
the outcome of the largest score is released, A. Ties: the earlier try stays. Tries are exchangeable
given their scores, so that this is the distribution of ties that are broken by a mark drawn afresh
with each outcome, which makes the order of outcomes total, as the theorems ask. The relation is the
run's own, whichever it is: P and P' are the distributions of Q on two neighbours, either way round.

The common step (Papernot & Steinke 2022, Lemma 7). Let f be the generating function of K. An
outcome y is the best with probability A(y) = f(P(<= y)) - f(P(< y)) = P(y) E f'(x), x uniform
between P(< y) and P(<= y); likewise A'(y) with x' at the same share of its interval. Both x and x'
are probabilities of one event under Q, up to a coin. So

    A(y) / A'(y) <= P(y) / P'(y) sup f'(x) / f'(x'),                                            (1)
    sum of A(y)^a A'(y)^(1-a) <= e^((a-1) D_a(P, P')) sup f'(x)^a f'(x')^(1-a),                  (2)

the second since u^a v^(1-a) is jointly convex.

*Truncated negative binomial*, f'(x) = E[K] (gamma / (1 - (1 - gamma) x))^(1 + eta):

* Q epsilon-DP: A is (2 + eta) epsilon-DP, three times epsilon for the geometric distribution (Liu &
  Talwar, STOC 2019, section 3; Papernot & Steinke, ICLR 2022, corollary of Theorem 2). By (1), and
  gamma + (1 - gamma)(1 - x') <= e^epsilon (gamma + (1 - gamma)(1 - x)).
* Q of Renyi divergence d(a) at order a > 1 and d(b) at order b >= 1, each of them the larger of
  D(P, P') and D(P', P), as filters bound it: A has at order a

      d(a) + (1 + eta) (1 - 1/b) d(b) + (1 + eta) ln(1/gamma) / b + ln(E[K]) / (a - 1)

  (Papernot & Steinke 2022, Theorem 2). Under a zCDP filter d(a) = a rho at every order: a and b are
  chosen here. Under a Renyi filter, which knows one order, b is a.

*Poisson* of mean m, f'(x) = m e^(m (x - 1)): Q epsilon-DP makes A (epsilon + m tanh(epsilon /
2))-DP. By (1), since x - x' <= (e^epsilon - 1) / (e^epsilon + 1) = tanh(epsilon / 2) for two
probabilities within e^epsilon of each other and so for their complements. K = 0 has the same
probability on both tables, a ratio of 1, and its outcome is a public constant. (Papernot & Steinke
2022, Theorem 6, is of a Renyi divergence and a small delta beside it, which filters here do not
hold.)

*Steps beside the search.* The search is one release, pure or of a Renyi divergence at order a, and
so are the releases of the steps before and after it. One filter holds all, in its unit: epsilons
add up, and so do divergences at one fixed order, whichever release was chosen by which (Feldman &
Zrnic 2021, Theorem 3.1). The steps' events are charged first; the search is within what is left.

Rounding: what is taken off the budget is rounded up, what a try may cost down, in exact fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import (
    AdditiveAccountant,
    PureAccountant,
    RenyiDpEvent,
    cached_by_value,
    exp_up,
    float_down,
    float_up,
    load_registry,
    log_down,
    log_up,
)
from dpcore_accounting.rdp import RdpAccountant
from dpcore_tuning.stopping_distributions import Poisson, TruncatedNegativeBinomial

if TYPE_CHECKING:
    from dpcore.plugin import Accountant
    from dpcore_tuning.stopping_distributions import StoppingDistribution

__all__ = ["INNER", "Whole", "filter_of_a_try", "left_of", "theorem_of", "whole_filter"]

Whole = PureAccountant | RdpAccountant

INNER = ("pure", "zcdp", "rdp")
"""Accountants of a try that a theorem is about."""
_TOO_SMALL = (
    "The budget is too small for a search at this delta: fewer tries, less for steps beside it, or "
    "a larger epsilon."
)


def theorem_of(distribution: StoppingDistribution, accountant: str) -> str:
    """Return the theorem that bounds the search."""
    if isinstance(distribution, Poisson):
        return "Papernot & Steinke 2022, Lemma 7, for the Poisson distribution and pure epsilon"
    if accountant == "pure":
        return "Liu & Talwar 2019; Papernot & Steinke 2022, corollary of Theorem 2"
    return "Papernot & Steinke 2022, Theorem 2"


def whole_filter(
    distribution: StoppingDistribution, accountant: str, epsilon: float, delta: float
) -> Whole:
    """Return the empty filter of a search whose tries run under an accountant, and of the steps
    beside it. It is pure, or of a Renyi divergence at the order at which the search is bounded.

    Raises InvalidInputError for an accountant without a theorem.
    """
    if accountant not in INNER:
        raise InvalidInputError(
            f"There is no theorem for a search whose tries run under {accountant}: take "
            "--accountant zcdp, rdp or pure, or --search list, which holds every accountant."
        )
    epsilon = AdditiveAccountant.validated_epsilon(epsilon)
    if accountant == "pure":
        return PureAccountant.from_budget(epsilon, 0.0)
    delta = AdditiveAccountant.validated_delta(delta)
    if not isinstance(distribution, TruncatedNegativeBinomial):
        raise InvalidInputError(
            "There is no theorem here for a Poisson number of tries under "
            f"{accountant}: take --law geometric or logarithmic, or --accountant pure."
        )
    t = (_order_of_zcdp if accountant == "zcdp" else _order_of_rdp)(distribution, epsilon, delta)
    return RdpAccountant.at_order(epsilon, delta, 1 + t)


def filter_of_a_try(distribution: StoppingDistribution, accountant: str, whole: Whole) -> Any:
    """Return the empty filter of each try, so that the search is within what ``whole`` has left:
    its epsilon, or its Renyi divergence at that filter's order.

    Raises InvalidInputError where that is too little.
    """
    if isinstance(whole, PureAccountant):
        return PureAccountant.from_budget(_pure(distribution, whole.remaining), 0.0)
    assert isinstance(distribution, TruncatedNegativeBinomial)
    return (_zcdp if accountant == "zcdp" else _rdp)(distribution, whole)


def left_of(whole: AdditiveAccountant) -> Fraction:
    """Return what a filter has left, exactly, in its unit."""
    return Fraction(
        whole.budget_ticks - whole.spent_ticks, AdditiveAccountant.ticks_up(Fraction(1))
    )


def _pure(distribution: StoppingDistribution, epsilon: float) -> float:
    if isinstance(distribution, TruncatedNegativeBinomial):
        return float_down(Fraction(epsilon) / (2 + distribution.eta))
    assert isinstance(distribution, Poisson)
    low, high = float_down(Fraction(epsilon) / (1 + distribution.mean / 2)), epsilon  # tanh(x) <= x
    while (middle := low + (high - low) / 2) not in (low, high):
        each = Fraction(middle)
        cost = each + distribution.mean * (1 - 2 / (exp_up(each) + 1))
        low, high = (middle, high) if cost <= Fraction(epsilon) else (low, middle)
    return low


def _overhead_up(distribution: TruncatedNegativeBinomial, t: Fraction, other: Fraction) -> Fraction:
    """Return what the distribution itself takes off the divergence at order 1 + t, other order
    ``other``."""
    of_gamma = (1 + distribution.eta) * -log_down(distribution.gamma) / other
    return of_gamma + log_up(distribution.mean_up()) / t


def _rho_of(
    distribution: TruncatedNegativeBinomial, whole: tuple[float, float], spent: float = 0.0
) -> Callable[[float, float], float]:
    """Return rho of a try as a function of its two orders, each less 1, in floats: orders are
    sought by it, and hold whichever they are. ``whole`` : epsilon and delta. ``spent`` : of it by
    steps, at the first order."""
    epsilon, delta = whole
    grown, log_gamma = float(1 + distribution.eta), math.log(distribution.gamma)
    log_mean = math.log(distribution.mean_up())

    def rho(t: float, s: float) -> float:
        left = (
            epsilon
            + RenyiDpEvent.slack(t, delta)
            - spent
            + grown * log_gamma / (1 + s)
            - log_mean / t
        )
        return left / (1 + t + grown * s)

    return rho


@cached_by_value(maxsize=64)
def _order_of_zcdp(distribution: TruncatedNegativeBinomial, *whole: float) -> Fraction:
    """Return the order, less 1, at which a try's zCDP filter is largest."""
    rho = _rho_of(distribution, whole)  # type: ignore[arg-type]
    return RenyiDpEvent.best_order(
        lambda t: rho(t, float(RenyiDpEvent.best_order(lambda s: rho(t, s))))
    )


def _order_of_rdp(distribution: TruncatedNegativeBinomial, *whole: float) -> Fraction:
    """Return the order, less 1, at which noise of a concentrated distribution is least: a function
    of public values, chosen before the search."""
    rho = _rho_of(distribution, whole)  # type: ignore[arg-type]
    return RenyiDpEvent.best_order(lambda t: rho(t, t))


def _zcdp(distribution: TruncatedNegativeBinomial, whole: RdpAccountant) -> Accountant:
    """Return the filter of the largest rho at the order a of the whole: a rho +
    (1 + eta)(b - 1) rho and the overhead are within what the whole has left there."""
    t = whole.order - 1
    rho = _rho_of(distribution, (whole.epsilon, whole.delta), whole.spent)
    s = RenyiDpEvent.best_order(lambda s: rho(float(t), s))
    left = left_of(whole) - _overhead_up(distribution, t, 1 + s)
    each = left / (1 + t + (1 + distribution.eta) * s)
    if each <= 0 or not AdditiveAccountant.ticks_down(each):
        raise InvalidInputError(_TOO_SMALL)
    zcdp = load_registry("accountant").load("accountant", "zcdp")
    made: Accountant = zcdp.of_native_budget(float_down(each), whole.delta)
    return made


def _rdp(distribution: TruncatedNegativeBinomial, whole: RdpAccountant) -> RdpAccountant:
    """Return the filter at the order of the whole."""
    t = whole.order - 1
    left = left_of(whole) - _overhead_up(distribution, t, 1 + t)
    each = left / (1 + (1 + distribution.eta) * t / (1 + t))
    if each <= 0 or not AdditiveAccountant.ticks_down(each):
        raise InvalidInputError(_TOO_SMALL)
    stated = (
        min(whole.epsilon, float_up(RenyiDpEvent.epsilon_up(each, whole.delta, t))) or whole.epsilon
    )
    return replace(
        whole, epsilon=stated, budget_ticks=AdditiveAccountant.ticks_down(each), spent_ticks=0
    )
