"""The mu of Gaussian differential privacy of releases whose noise is not normal: upper bounds.

A release is mu-GDP if no test of a table against its neighbour has smaller errors than the best
test of N(0, 1) against N(mu, 1) (Dong, Roth & Su 2022, Definition 2.1): where one errs with
probability q under the first, the other's power p has  Phi^-1(p) - Phi^-1(q) <= mu.

**Bounded range.** A release of bounded range epsilon (Dong, Durfee & Rogers 2020: the exponential
mechanism) is mu-GDP with  mu = 2 g(epsilon / 2),  g(x) = Phi^-1(1 / (1 + e^-x)).

Proof. The log-ratio of its distributions P and Q on two neighbours lies in an interval [s, s +
epsilon]. (1) P and Q are post-processing of two distributions of two outcomes whose log-ratios are
the interval's ends: with a = e^s, b = e^(s + epsilon) and q = (1 - a) / (b - a), the outcomes b and
a, of probabilities q and 1 - q under one distribution and q b and (1 - q) a under the other, are
mapped to the distributions (P - a Q) / (q (b - a)) and (b Q - P) / ((1 - q) (b - a)), which are >=
0 and sum to one. (Where a = 1 or b = 1, P = Q.) (2) The best tests of those two distributions are
mixtures of three: never, always, and at b, with errors on a chord below which a convex curve with
the same ends lies as soon as it lies below the middle point. So it is enough that  Phi^-1(p) -
Phi^-1(q) <= mu  for p = q b. (3) The log-odds of p and q differ by ln(p / q) + ln((1 - q) / (1 -
p)) = s + epsilon - s = epsilon, so the left side is g(x + epsilon / 2) - g(x - epsilon / 2) for
some x. (4) g is odd, and concave for x >= 0 (below), so g' is even and falls in |x|: the
difference, its integral over a window of length epsilon, is largest at x = 0. (5) g is concave
there: with u = g(x) and A = 2 Phi(u) - 1, g'' has the sign of  -h(u),  h(u) = A phi(u) - u (1 -
A^2) / 4.  h(0) = 0, h tends to 0, and h' = 2 phi^2 - (1 - A^2) / 4 =: k. k(0) = 1 / pi - 1 / 4 > 0,
k tends to 0, and k' = phi (A - 4 u phi). A - 4 u phi is 0 at 0 and has the slope (4 u^2 - 2) phi:
it falls, then rises to 1, so it has one sign change, from - to +. So k falls from above 0, then
rises to 0: one sign change, from + to -. So h rises from 0, then falls to 0: h >= 0.

**Pure.** An epsilon-DP release has log-ratios in [-epsilon, epsilon], an interval of length
2 epsilon: it is mu-GDP with mu = 2 g(epsilon), which randomised response attains. So are
permute-and-flip and report-noisy-max, pure releases, each by the argument in the docstring of
its own class. Permute-and-flip of two candidates needs v(epsilon), below: of the same first order
in epsilon, .95 of 2 g(epsilon) at .1 and .73 at 1.

**Laplace** noise of l1 sensitivity epsilon times its scale is mu-GDP with  mu = 2 v(epsilon / 2),
v(x) = Phi^-1(1 - e^-x / 2). Flooring is post-processing.

Proof, in one coordinate. Tests are thresholds; one between the two centres, x from the first, has
q = e^-x / 2 and p = 1 - e^-(epsilon - x) / 2, so the difference is v(x) + v(epsilon - x); outside
of the centres the curve of errors is the chord to an end, as in (2). x = -ln(2 Phi(-u)) as a
function of u = v(x) has the slope phi(u) / Phi(-u), the hazard rate, which grows (the normal
distribution is log-concave): so v is concave, and the middle is the worst. Over coordinates that
move by epsilon_j, of sum epsilon, mu^2 adds up, and 4 v(epsilon / 2)^2 is superadditive: (v^2)' = 2
u Phi(-u) / phi(u) grows with u, as (u R)' = R (1 + u^2) - u > 0 for the Mills ratio R > u / (1 +
u^2) (Gordon 1941). So one coordinate that moves alone is the worst.

Such releases compose as Gaussians of their mu do, also where each is chosen from earlier outputs:
given the history each is post-processing of its Gaussian (Dong, Roth & Su 2022, Theorem 2.10,
after Blackwell), and the filter's theorem is about those.

Everything here is independent of the relation: an event's values are relative to its own.
"""

from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist

from dpcore.accountants.normal import normal_tail_up
from dpcore.exact.plain import cached_by_number
from dpcore.exact.rounding import exp_down, exp_up, sqrt_up

__all__ = ["bounded_range_mu_up", "laplace_mu_up", "pure_mu_up"]

_SMALL, _LARGE = Fraction(1, 2**12), Fraction(600)
"""Between them a quantile is sought; outside a closed form is above it, and near."""
_PI_UP = Fraction(355, 113)
# Relative step, above the error of the float that the search starts from.
_GRAIN = Fraction(1, 2**40)


def bounded_range_mu_up(epsilon: Fraction) -> Fraction:
    """Return a mu, rounded up, of a release of bounded range ``epsilon`` > 0."""
    return 2 * _log_odds_quantile_up(epsilon / 2)


def pure_mu_up(epsilon: Fraction) -> Fraction:
    """Return a mu, rounded up, of a release that is ``epsilon``-DP, ``epsilon`` > 0."""
    return 2 * _log_odds_quantile_up(epsilon)


def laplace_mu_up(epsilon: Fraction) -> Fraction:
    """Return a mu, rounded up, of Laplace noise whose l1 sensitivity is ``epsilon`` > 0 times its
    scale."""
    return 2 * _laplace_quantile_up(epsilon / 2)


@cached_by_number(maxsize=4096)
def _log_odds_quantile_up(x: Fraction) -> Fraction:
    """Return an upper bound of g(x): below by its slope at 0, as g is concave; above by Phi(-u) <=
    e^(-u^2/2) / 2."""
    if x < _SMALL:
        return x * sqrt_up(_PI_UP / 8)
    return sqrt_up(2 * x) if x > _LARGE else _quantile_up(1 / (1 + exp_up(x)))


@cached_by_number(maxsize=4096)
def _laplace_quantile_up(x: Fraction) -> Fraction:
    """Return an upper bound of v(x), outside as ``_log_odds_quantile_up`` does."""
    if x < _SMALL:
        return x * sqrt_up(_PI_UP / 2)
    return sqrt_up(2 * x) if x > _LARGE else _quantile_up(exp_down(-x) / 2)


def _quantile_up(tail: Fraction) -> Fraction:
    """Return a u > 0 with Phi(-u) <= ``tail``, near the least, for e^-601 < ``tail`` < 1/2."""
    return _first(lambda u: normal_tail_up(u) <= tail, Fraction(-NormalDist().inv_cdf(float(tail))))


def _first(holds: Callable[[Fraction], bool], start: Fraction) -> Fraction:
    """Return the first of ever longer steps from ``start`` at which ``holds``."""
    step = _GRAIN
    while not holds(start * (1 + step)):
        step *= 2
    return start * (1 + step)
