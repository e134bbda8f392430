"""The delta of a fixed schedule, from above: sums of independent losses by fast Fourier transforms.

Releases whose distributions are dominated by pairs are together dominated by the product of these,
also where each is asked by earlier outputs, in any order (Zhu, Dong & Wang 2022, Theorem 10; which
of the pairs that are left comes next is fixed given the history, so that induction holds). With L
the sum of the losses (``privacy_loss_distributions``),  delta(epsilon) = E max(0, 1 - e^(epsilon -
L)),  in which an infinite loss counts 1: the probability that there is one, and what finite losses
come to without.

**Tilted.** Let a be the distribution of a loss and b(x) = a(x) e^(tx) / M, for one t >= 0 and any
number M, about the sum of the numerators. With B the convolution of all b, and K the sum of all ln
M,

    delta = e^(K - t epsilon) sum over x > epsilon of  w(x) B(x),  w(x) = (1 - e^(epsilon - x))
            e^(-t (x - epsilon)).

t puts the mean of B at epsilon. So an error of B, which a transform makes relative to all of B,
is one relative to a value near delta (Chernoff's), however small delta is.

**Errors**, each on the upper side:

* the transform is circular, over N steps around the mean. What comes round is at a wrong place
  within them, where it can only add. What belongs above them is missing: at most
  e^(K(s) - s top) for every s (Chernoff), which is added;
* a transform of length N errs by at most g = 16 log2(N) 2^-53 in the 2-norm, relative (Higham 2002,
  Theorem 24.2, for powers of 2 and twiddle factors right to a unit; its constant is below 8). With
  all |transforms| at most 1, a product of powers T_i errs by at most sum T_i |error of factor i|,
  and by 4 2^-53 for each of at most sum T_i multiplications; the inverse by g. In the 2-norm B is
  right to E = (g + 4 2^-53) sum T_i ||b_i|| + g max ||b_i||, doubled for products of these; by
  Cauchy and Schwarz the sum is right to ||w|| E, which is added;
* b is right to 2^-50 (2 + |t x| + |ln a| + |ln M|), relative, to the power T_i in B, and K to
  2^-50 sum T_i |ln M|: the value is multiplied by the exponential of the sum of both, and by
  1 + 2^-30 for sums of positive terms, in any order;
* what is below 2^-1022 somewhere on the way is lost to less than ``_UNDERFLOW`` in all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpcore.plugin import ordered_dot, ordered_norm, ordered_sum
from dpcore.plugin.parts import DpEvent, cached_by_value
from dpcore_accounting.privacy_loss_curves import Curve, curves_of
from dpcore_accounting.privacy_loss_distributions import (
    DENSITY,
    PrivacyLossDistribution,
    loss_distribution,
)
from dpcore_accounting.reproducible.array_functions import array_exp, array_expm1, array_log

__all__ = ["composed_delta_up"]

_UNIT = 2.0**-53
_SIDE = 5.5
"""Half the window, in standard deviations of the tilted sum."""
_MOST_POINTS = 2**20
_KNOT_BITS = 52
"""Of the number of steps up to the largest loss, at most."""
_LARGEST_STEP = 2.0**64
"""Of so many releases that no window of ``_MOST_POINTS`` holds their sum nothing is known."""
_LEAST_SPREAD = 2.0**-100
"""Grids for losses of less are no finer."""
_COARSE = 5e-4
"""Relative to epsilon, eight times what a grid may add to it."""
_SMALL = 1e-5
"""Relative to the delta that is asked about: what may be cut off."""

_UP = 1 + 2.0**-30
_UNDERFLOW = 2.0**-900
"""2^-1074 for each bound, over the finest grid, and over 2^60 releases."""

Counted = Sequence[tuple[PrivacyLossDistribution, int]]
Parts = tuple[np.ndarray, np.ndarray]
"""Real and imaginary parts."""


@cached_by_value(maxsize=4096)
def composed_delta_up(
    events: tuple[tuple[DpEvent, int], ...], epsilon: float, about: float
) -> float:
    """Return the delta, rounded up, at ``epsilon`` >= 0 of so many of each event, for both orders
    of two neighbours. ``about`` : the delta of interest, for the choice of what may be cut off."""
    pairs = [(curves_of(event), count) for event, count in events]
    orders = range(max(len(curves) for curves, _ in pairs))
    found = [_one_order([(c[min(k, len(c) - 1)], n) for c, n in pairs], epsilon, about)
             for k in orders]  # fmt: skip
    # NumPy's largest, and the order of the two here: 1 in place of what is no number.
    return min(1.0, float(np.max(found)))


def _one_order(curves: Sequence[tuple[Curve, int]], epsilon: float, about: float) -> float:
    total = sum(count for _, count in curves)
    squares = sum(count * max(curve.spread, _LEAST_SPREAD) ** 2 for curve, count in curves)
    density = _density(total, about)
    longest = max(max(-curve.least, curve.most) for curve, _ in curves)
    step = max(
        2.0 ** round(math.log2(math.sqrt(squares / total) / density)),
        2.0 ** (math.frexp(longest)[1] - _KNOT_BITS),
    )
    counted = _counted(curves, step, about, density)
    if any(distribution.infinite >= 1.0 for distribution, _ in counted):
        return 1.0
    if epsilon >= sum(count * float(distribution.losses[-1]) for distribution, count in counted):
        return _infinite(counted)
    tilt = _tilt(counted, epsilon)
    # Splitting an interval adds at most a quarter of its square to a variance, so that epsilon
    # grows by at most an eighth of total * tilt * step^2.
    enough = math.sqrt(_COARSE * epsilon / (total * tilt)) if tilt else step
    while enough > 2 * step or _points(counted, tilt, step) > _MOST_POINTS:
        step *= 2.0 ** max(1, math.floor(math.log2(enough / step)))
        if step > _LARGEST_STEP:
            return 1.0
        counted = _counted(curves, step, about, density)
        if any(distribution.infinite >= 1.0 for distribution, _ in counted):
            return 1.0
        tilt = _tilt(counted, epsilon)
    points = _points(counted, tilt, step)
    first = round(_moments(counted, tilt)[1] / step) - points // 2
    while True:
        missing = _beyond(counted, tilt, (first + points) * step)
        if missing <= _SMALL * about or points >= _MOST_POINTS:
            break
        points *= 2
    finite = _finite_delta(counted, tilt, step, first, points, epsilon) + missing
    return finite * _UP + _infinite(counted)


def _infinite(counted: Counted) -> float:
    """Return the probability, rounded up, that some loss is infinite."""
    none = sum(count * math.log1p(-distribution.infinite) for distribution, count in counted)
    return -math.expm1(none) * _UP + _UNDERFLOW


def _counted(
    curves: Sequence[tuple[Curve, int]], step: float, about: float, density: int
) -> Counted:
    negligible = _SMALL * about / sum(count for _, count in curves)
    return [(loss_distribution(curve, step, negligible, density), count) for curve, count in curves]


def _density(total: int, about: float) -> int:
    """Return a density of knots for so many releases.

    Where each has a loss of about epsilon / total, an interval of a share 1 / density of that adds
    tilt (epsilon / density)^2 / (8 total) to epsilon, and tilt epsilon is about 2 ln(1 / about): a
    share of that over 4 total density^2, which is held to a 200th.
    """
    return max(DENSITY, math.ceil(math.sqrt(50 * -math.log(about) / total)))


def _points(counted: Counted, tilt: float, step: float) -> int:
    """Return about the length of the window, a power of 2."""
    spread = _moments(counted, tilt)[2]
    return int(2 ** math.ceil(math.log2(2 * _SIDE * spread / step + 64)))


def _moments(counted: Counted, tilt: float) -> tuple[float, float, float]:
    """Return the sum of all ln M, and mean and standard deviation of the tilted sum."""
    log_all = mean = variance = 0.0
    for distribution, count in counted:
        log_m, tilted = _tilted(distribution, tilt)
        here = float(ordered_dot(tilted, distribution.losses))
        log_all, mean = log_all + count * log_m, mean + count * here
        variance += count * float(ordered_dot(tilted, (distribution.losses - here) ** 2))
    return log_all, mean, math.sqrt(variance)


def _tilted(distribution: PrivacyLossDistribution, tilt: float) -> tuple[float, np.ndarray]:
    exponents = tilt * distribution.losses + array_log(distribution.probabilities)
    top = float(exponents.max())
    log_m = top + math.log(ordered_sum(array_exp(exponents - top)))
    return log_m, array_exp(exponents - log_m)


def _tilt(counted: Counted, epsilon: float) -> float:
    """Return about the tilt with which the mean of the sum is ``epsilon``, 0 if it is above. What
    follows holds for every tilt."""
    if epsilon <= 0.0 or _moments(counted, 0.0)[1] >= epsilon:
        return 0.0
    most = sum(count * float(distribution.losses[-1]) for distribution, count in counted)
    aim = min(epsilon, most * (1 - 2.0**-20))
    low, high = 0.0, 1 / epsilon
    while high < 2.0**60 / epsilon and _moments(counted, high)[1] < aim:
        low, high = high, 4 * high
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if _moments(counted, middle)[1] < aim else (low, middle)
    return high


def _finite_delta(
    counted: Counted, tilt: float, step: float, first: int, points: int, epsilon: float
) -> float:
    """Return the finite part of delta, from above, but for what belongs above the window of so many
    points from ``first``."""
    product = np.ones(points // 2 + 1), np.zeros(points // 2 + 1)
    log_all = relative = error = longest = 0.0
    transform = 16 * math.log2(points) * _UNIT
    for distribution, count in counted:
        log_m, tilted = _tilted(distribution, tilt)
        b = np.bincount(distribution.steps % points, weights=tilted, minlength=points)
        product = _times(product, _power(np.fft.rfft(b), count))
        norm = ordered_norm(b)
        log_all, longest = log_all + count * log_m, max(longest, norm)
        error += count * (transform + 4 * _UNIT) * norm
        extent = np.max(
            np.abs(tilt * distribution.losses) + np.abs(array_log(distribution.probabilities))
        )
        relative += count * 2.0**-49 * (2 + float(extent) + abs(log_m))
    places = np.arange(max(first, math.floor(epsilon / step) + 1), first + points)
    composed = np.fft.irfft(product[0] + 1j * product[1], points)[places % points]
    beyond = np.clip(places * step - epsilon, 0.0, None)
    weights = -array_expm1(-beyond) * array_exp(-tilt * beyond)
    value = float(ordered_dot(weights, np.clip(composed, 0.0, None)))
    value += ordered_norm(weights) * 2 * (error + transform * longest)
    scale = log_all - tilt * epsilon
    return _exp(scale + relative + 2.0**-44 * (1 + abs(scale))) * value


def _power(values: np.ndarray, exponent: int) -> Parts:
    """Return values to the power of a whole number > 0, by squares: ``exponent`` multiplications at
    most, as errors add up."""
    square, result = (values.real, values.imag), None
    while True:
        if exponent & 1:
            result = square if result is None else _times(result, square)
        exponent >>= 1
        if not exponent:
            assert result is not None
            return result
        square = _times(square, square)


def _times(left: Parts, right: Parts) -> Parts:
    """Return a product of complex numbers. NumPy's own is fused on some processors alone."""
    return (
        left[0] * right[0] - left[1] * right[1],
        left[0] * right[1] + left[1] * right[0],
    )


def _beyond(counted: Counted, tilt: float, top: float) -> float:
    """Return a bound of the probability that a finite sum is at ``top`` or above."""
    if top > sum(count * float(distribution.losses[-1]) for distribution, count in counted):
        return 0.0
    _, mean, spread = _moments(counted, tilt)
    least = math.inf
    for share in (0.125, 0.25, 0.5, 0.75, 1.0, 1.5):
        s = tilt + share * max(top - mean, spread) / spread**2 if spread else tilt
        log_all = _moments(counted, s)[0]
        least = min(least, log_all - s * top + 2.0**-40 * (1 + abs(s * top) + abs(log_all)))
    return _exp(least)


def _exp(x: float) -> float:
    return math.exp(min(x, 0.0))
