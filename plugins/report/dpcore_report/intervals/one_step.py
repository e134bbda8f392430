"""One Newton step from released sums, and the covariance of where it ends.

At a released w, with sums over the rows of gradients g, of curvatures H (l'' x x^T) and of squares
M (g g^T), each with noise of a known distribution, and a public regulariser w^T R w / 2:

    w1 = w - (H + R)^-1 (g + R w),    Cov(w1) = A B A,    A = (H + R)^-1,
    B = M + s_g^2 I + (s_H^2 / 2) (||m||^2 I + m m^T) + c I.

w1 estimates the minimiser w* of n E[loss] + w^T R w / 2 over the population that the rows are
independent draws from. Up to the linearisation, w1 - w* = -A (S + e_g + E_H (w* - w)), where S is
the sum of the rows' gradients at w* and R w*, of mean 0, e_g the noise of g, and E_H that of H (van
der Vaart 1998, section 5.7; with noise Avella-Medina, Bradshaw & Loh 2023). In turn:

* Cov(S) is at most the mean of M, which leaves out that a mean is subtracted. Where units have up
  to k rows it is at most k M, since (sum of k vectors)(the same)^T <= k times the sum of their
  squares (Cauchy and Schwarz).
* E_H v has covariance (s_H^2 / 2) (||v||^2 I + v v^T), for a symmetric E_H with variance s_H^2 on
  the diagonal and half of that beside it. Given E_H and e_g, A is what was released: no noise
  of an inverse is left out. The step w* - w is taken to be m, with .6 of the norm that the noise
  reaches taken off the curvature: where intervals are given, noise has rather raised it.
* The noise E_M of M changes the variance u^T M u by a normal deviate of s_M ||u||^2. M is projected
  to the nearest matrix without negative eigenvalues, which makes u^T M u no smaller. A normal
  variable over the root of a variance known up to a relative deviation k is covered as often as
  meant if the variance is taken 1.2 k^2 times larger, to second order: for all u at once that is
  c = 1.2 s_M^2 / (the least eigenvalue of B without c).

Entries beside the diagonal have 1/1.96 of the variance on it, and not 1/2: counted by ``_UP``.

There is no interval where the noise could turn the curvature over: where the least eigenvalue of
H + R is below 1.25 times the norm that its noise reaches (``noise_norm``). Nor where the step is
long: for a loss of self-concordance q a row's curvature changes by up to e^(q |x.v|), v = w1 - w,
and the root mean square of q |x.v| over rows, weighed by their curvatures, is to be at most .4. Its
square is q^2 v^T H v / sum l'', and sum l'' >= trace(H) / max ||x||^2. What the linear form leaves
is about half of that times the step: in standard errors, both in the norm of H, it is to be at most
.1. These rules are no bounds for every population. They were chosen by simulations of two
populations, generated and adult, and left as they were when two others, bank and bike, were looked
at (docs/intervals.md, by ``bench/intervals.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcore_report.intervals.first_step import noise_norm

__all__ = ["LONG", "TOO_LONG", "WEAK", "OneStep", "Sums", "one_step"]

_UP = (math.sqrt(2.0) / 1.4) ** 2
_SKEW = 1.2
_CLEAR, _MAY_LACK = 1.25, 0.6
_MOST_CHANGE, _MOST_BIAS = 0.4, 0.1

WEAK = (
    "the noise hides what the rows say about some combination of the columns. More rows, a larger "
    "--intervals-share or epsilon, fewer columns, or a larger l2 would help; so would one category "
    "less of a column whose schema lists them all"
)
LONG = (
    "the last Newton step, from which they follow, is too long for its linear approximation. More "
    "rows, a larger --intervals-share or epsilon, or an algorithm that ends nearer to the minimum "
    "would help"
)
TOO_LONG = (
    "the coefficients are so large that the noise, which grows with the bound of a row's gradient, "
    "hides what the rows say. A larger l2 or epsilon would help"
)


@dataclass(frozen=True)
class Sums:
    """Released sums at a released point, and the deviations of their noise.

    Parameters
    ----------
    gradient : float64 of shape (d,). ``curvature``, ``squares`` : of shape (d, d), symmetric.
    of_gradient, of_curvature, of_squares : the deviation of an entry's noise; of a matrix on the
        diagonal, 5/7 of it elsewhere.
    """

    gradient: np.ndarray
    curvature: np.ndarray
    squares: np.ndarray
    of_gradient: float
    of_curvature: float
    of_squares: float


@dataclass(frozen=True)
class OneStep:
    """The estimate and its covariance, float64 of shape (d,) and (d, d); or ``why_not``, a clause,
    and neither."""

    estimate: np.ndarray | None = None
    covariance: np.ndarray | None = None
    why_not: str | None = None


def one_step(
    w: np.ndarray,
    sums: Sums,
    regulariser: np.ndarray,
    self_concordance: float,
    row_norm: float,
    rows_per_unit: int = 1,
) -> OneStep:
    """Return the estimate that follows from the sums, with all that is random in it counted.

    ``w`` : where the sums were released, float64 of shape (d,). ``regulariser`` : R of the
    module's words, of shape (d, d). ``self_concordance`` : q. ``row_norm`` : the bound of ||x||.
    """
    d = w.size
    bread = sums.curvature + regulariser
    least = float(np.linalg.eigvalsh(bread)[0])
    reach = noise_norm(sums.of_curvature, d)
    if not least > _CLEAR * reach:
        return OneStep(why_not=WEAK)
    inverse = np.linalg.inv(bread)
    inverse = (inverse + inverse.T) / 2.0
    slope = sums.gradient + regulariser @ w
    move = -inverse @ slope
    longest = np.linalg.solve(bread - _MAY_LACK * reach * np.eye(d), slope)
    covariance = inverse @ _meat(sums, longest, rows_per_unit) @ inverse
    change = _change(sums.curvature, move, self_concordance, row_norm)
    length = float(move @ sums.curvature @ move) / float(np.trace(sums.curvature @ covariance))
    if change > _MOST_CHANGE or change / 2.0 * math.sqrt(max(length, 0.0)) > _MOST_BIAS:
        return OneStep(why_not=LONG)
    return OneStep(w + move, (covariance + covariance.T) / 2.0)


def _meat(sums: Sums, move: np.ndarray, rows_per_unit: int) -> np.ndarray:
    """Return B: the covariance of the score, its noises counted."""
    one = np.eye(move.size)
    values, vectors = np.linalg.eigh(sums.squares)
    sampling = rows_per_unit * (vectors * np.maximum(values, 0.0)) @ vectors.T
    of_curvature = _UP * sums.of_curvature**2 / 2.0
    noise = sums.of_gradient**2 * one + of_curvature * (move @ move * one + np.outer(move, move))
    meat: np.ndarray = sampling + noise
    own = (rows_per_unit * sums.of_squares) ** 2 * _UP
    return meat + _SKEW * own / float(np.linalg.eigvalsh(meat)[0]) * one


def _change(
    curvature: np.ndarray, move: np.ndarray, self_concordance: float, row_norm: float
) -> float:
    """Return how much of itself a row's curvature changes by over the step, in the root mean square
    over the rows, at most."""
    if self_concordance == 0.0:
        return 0.0
    weight = float(np.trace(curvature)) / row_norm**2
    square = max(float(move @ curvature @ move), 0.0) / weight if weight > 0.0 else math.inf
    return self_concordance * math.sqrt(square)
