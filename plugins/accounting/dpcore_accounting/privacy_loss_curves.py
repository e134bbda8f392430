"""Curves of privacy losses: H(x), the delta at epsilon = x, over all real x, of a pair of
distributions by which a release is dominated, between a lower and an upper bound.

H(x) = sup over S of P(S) - e^x Q(S). A pair dominates a release if its H is at least that of the
release's distributions on any two neighbours, at every x (Zhu, Dong & Wang 2022, Definition 7). Any
H that is convex in e^x, is 1 at -infinity and falls from at least 1 - e^x is that of some pair. (Q,
P) has the other half of it,  H'(-x) = 1 - e^-x + e^-x H(x). Curves here are their own other half,
so that they hold for both orders of two neighbours, but for a Poisson sample's, which has one for
each.

**Gaussian**, by ``dpcore_accounting.gaussian_curve``, of randomised sensitivity the mean of such
curves (``dpcore_accounting.mixture``). Pure and (epsilon, delta) releases, selections, Laplace
noise and pairs by ``dpcore_accounting.closed_curves``.

**Samples** that a row is in with probability p, of a release whose curve is H:

* Poisson, add-or-remove-one (replace-special likewise: the row is in the sample or not). With the
  row against without:  p H(z), z = ln(1 + (e^x - 1) / p), and 1 - e^x below ln(1 - p); without it
  against with it: the other half of that (Zhu, Dong & Wang 2022, Theorem 11).
* replace-one, Poisson or a fixed size: p H(z) for x >= 0 in both orders, as H covers also that the
  row in the sample is swapped for none, or for another (Balle, Barthe & Gaboardi 2018, Theorems 2
  and 9); below 0 the other half. Its slopes in e^x at 1 are -q above and -((1 - p) (1 - q) + p q)
  below, q <= 1/2, so it is convex there too.
* replace-special, a fixed size: the noise is for a row that is swapped for none, but where the row
  is not drawn, another is in its place. With A, B, B' the distributions of a sample without the
  row, with it, and with none in its place, the distributions are (1 - p) A + p B and (1 - p) A + p
  B'. By Theorem 2 H(x) is p times that of B against b B' + (1 - b) A at z, b = e^(x - z), so at
  most p (b H_1(z) + (1 - b) H_2(z)). B' is one move away, and A two, as a row is swapped for
  another: for normal noise H_2 is the curve of 2 mu. The other way round both are one move away
  from B':  p H_1(z). The first value is no curve of a pair: it need not be convex. But the true
  curve is, so that it is also below the largest convex function that is, which
  ``privacy_loss_distributions`` takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import (
    DpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
    RandomizedSensitivityGaussian,
    SampledWithoutReplacementDpEvent,
    float_up,
)
from dpcore_accounting.closed_curves import CLOSED_CURVES, MARGIN, Bounds
from dpcore_accounting.gaussian_curve import gaussian_bounds
from dpcore_accounting.mixture import mixture_shifts_up
from dpcore_accounting.reproducible.array_functions import FUNCTION_ERROR, array_exp, array_expm1
from dpcore_accounting.sampled_moments import array_log1p

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Bounds", "Curve", "curves_of", "is_covered"]

_REACH = 37.0
"""In standard deviations: above it no curve is followed."""
_MOST_LOSS = 600.0


@dataclass(frozen=True, eq=False)
class Curve:
    """One direction of a release's curve.

    Parameters
    ----------
    up : bounds, lower and upper, of H(x) at an array of x >= 0.
    down : bounds of H(-x) - (1 - e^-x) at an array of x > 0.
    least, most : losses outside are none, or negligible.
    spread : about the standard deviation of a loss, for the choice of a grid.
    """

    up: Callable[[np.ndarray], Bounds]
    down: Callable[[np.ndarray], Bounds]
    least: float
    most: float
    spread: float

    def bounds(self, x: np.ndarray) -> Bounds:
        """Return bounds of H at increasing points."""
        low, high = (np.empty_like(x) for _ in range(2))
        below = x < 0
        low[~below], high[~below] = self.up(x[~below])
        excess, above = self.down(-x[below])
        trivial = -array_expm1(x[below])
        low[below] = (trivial + excess) * (1 - MARGIN)
        high[below] = (trivial + above) * (1 + MARGIN)
        # Of what is no number, out of float64's range, the bounds are 0 and 1.
        return np.fmax(low, 0.0), np.fmin(high, 1.0)


def curves_of(event: DpEvent) -> tuple[Curve, ...]:
    """Return the curve of a release for both orders of two neighbours, or one for each."""
    if isinstance(event, PoissonSampledDpEvent):
        m, p = _noise(event.event), event.sampling_probability
        return _sampled(m, p, event.relation is NeighboringRelation.REPLACE_ONE)
    if isinstance(event, SampledWithoutReplacementDpEvent):
        m, share = _noise(event.event), Fraction(event.sample_size, event.source_dataset_size)
        if event.relation is NeighboringRelation.REPLACE_ONE or share == 1:
            return _sampled(m, float_up(share), True)
        return _displaced(m, share)
    if isinstance(event, GaussianDpEvent):
        return _sampled(event.noise_multiplier, 1.0, True)
    if isinstance(event, RandomizedSensitivityGaussian):
        return (_own_other_half(*_mixture(event)),)
    up, most = CLOSED_CURVES[type(event)](event)
    return (_own_other_half(up, most, most),)


def is_covered(event: DpEvent) -> bool:
    """Return whether a release has a curve here."""
    if type(event) is PoissonSampledDpEvent or type(event) is SampledWithoutReplacementDpEvent:
        return type(event.event) is GaussianDpEvent
    known = GaussianDpEvent, RandomizedSensitivityGaussian, *CLOSED_CURVES
    return any(type(event) is kind for kind in known)


def _noise(event: DpEvent) -> float:
    assert isinstance(event, GaussianDpEvent)
    return event.noise_multiplier


def _own_other_half(up: Callable[[np.ndarray], Bounds], most: float, spread: float) -> Curve:
    most = min(
        most, _MOST_LOSS
    )  # Beyond it a distribution has H as the probability of an infinite loss.
    return Curve(up, partial(_other, up, -1.0), -most, most, min(spread, most))


def _other(half: Callable[[np.ndarray], Bounds], sign: float, x: np.ndarray) -> Bounds:
    """Return e^(sign x) times a half's bounds at x."""
    low, high = half(x)
    factor = array_exp(sign * x)
    return factor * low * (1 - MARGIN), factor * high * (1 + MARGIN)


def _sampled(m: float, p: float, own_other_half: bool) -> tuple[Curve, ...]:
    mu = 1 / m
    most, spread = _extent(mu, p)
    up, down = partial(_sampled_up, mu, p), partial(_sampled_down, mu, p)
    if own_other_half or p == 1.0:
        return (_own_other_half(up, most, spread),)
    least = max(-most, math.log1p(-p))
    return (
        Curve(up, down, least, most, spread),
        Curve(partial(_other, down, 1.0), partial(_other, up, -1.0), -most, -least, spread),
    )


def _displaced(m: float, share: Fraction) -> tuple[Curve, ...]:
    """Return the curves of a sample of a fixed size in which another row takes a row's place."""
    mu, p, rest = 1 / m, float_up(share), float_up(1 - share)
    most, spread = _extent(2 * mu, p)
    drawn, without = partial(_displaced_up, mu, p, rest), partial(_sampled_up, mu, p)
    return tuple(
        Curve(here, partial(_other, there, -1.0), -most, most, spread)
        for here, there in ((drawn, without), (without, drawn))
    )


def _extent(mu: float, p: float) -> tuple[float, float]:
    """Return the largest loss that is followed, and about the standard deviation of a loss."""
    reach = min(mu * _REACH + mu * mu / 2, _MOST_LOSS)
    most = math.log1p(p * math.expm1(reach))
    return most, min(mu, p * math.sqrt(math.expm1(min(mu * mu, 50.0))), most)


def _displaced_up(mu: float, p: float, rest: float, x: np.ndarray) -> Bounds:
    """``rest`` : 1 - p, which the difference of floats near 1 would not be."""
    grown = array_expm1(x)
    apart = np.clip(rest * grown / (p + grown), 0.0, 1.0)  # 1 - b
    low, high = _sampled_up(mu, p, x)
    more_low, more_high = _sampled_up(2 * mu, p, x)
    low, high = low + apart * (more_low - low), high + apart * (more_high - high)
    return low * (1 - 2 * MARGIN), high * (1 + 2 * MARGIN)


def _sampled_up(mu: float, p: float, x: np.ndarray) -> Bounds:
    z = array_log1p(array_expm1(x) / p) if p < 1 else x
    low, high = gaussian_bounds(mu, z, 4 * FUNCTION_ERROR * z)
    return p * low * (1 - MARGIN), p * high * (1 + MARGIN)


def _sampled_down(mu: float, p: float, x: np.ndarray) -> Bounds:
    """p e^z H(-z), H its own other half, for e^z = 1 + (e^-x - 1) / p, and 0 where that is below 0.

    It grows with e^z, so that its bounds are those at bounds of e^z: (e^-x - 1) / p, and with it
    what is left of the 1, is right to twice ``FUNCTION_ERROR``, relative, which is doubled. Beyond
    ln(1 / (1 - p)) there is no loss, so that no probability is granted to one.
    """
    taken = array_expm1(-x) / p
    found = []
    for side, sign in enumerate((1.0, -1.0)):
        less = np.maximum(taken * (1 + sign * 4 * FUNCTION_ERROR), -1.0)
        some = less > -1.0
        z = -array_log1p(np.where(some, less, 0.0))
        bound = gaussian_bounds(mu, z, 4 * FUNCTION_ERROR * z)[side]
        found.append(np.where(some, p * (1 + less) * bound, 0.0))
    low, high = found
    return low * (1 - MARGIN), high * (1 + MARGIN)


def _mixture(
    event: RandomizedSensitivityGaussian,
) -> tuple[Callable[[np.ndarray], Bounds], float, float]:
    """Return the mean of the curves of the shifts, the largest loss, and about the standard
    deviation of a loss."""
    shifts = mixture_shifts_up(event)

    def up(x: np.ndarray) -> Bounds:
        low, high = np.zeros_like(x), np.zeros_like(x)
        for mu, share in shifts:
            bounds = gaussian_bounds(mu, x, np.zeros_like(x))
            low, high = low + share * bounds[0], high + share * bounds[1]
        return low * (1 - MARGIN), high * (1 + MARGIN)

    spread = math.sqrt(sum(share * min(mu, _MOST_LOSS) ** 2 for mu, share in shifts))
    return up, _extent(shifts[0][0], 1.0)[0], spread
