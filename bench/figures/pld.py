"""The exact delta of Gaussian releases over Poisson samples: privacy loss distributions by FFT.

Add-or-remove-one: the worst pair is P = (1 - p) N(0, m^2) + p N(1, m^2) and Q = N(0, m^2), in
either direction (Zhu, Dong & Wang 2022, Theorem 11). T rounds are the T-fold convolution of the law
of the loss log(P / Q), and

    delta(epsilon) = E max(0, 1 - exp(epsilon - loss)).

Every error is on the upper side, and its size is known:

* discretisation: what is between two multiples of h is split between them so that its probability
  stays the same under P and under Q. One round's delta is then, as a function of exp(epsilon), the
  chord of the true one, which is convex, so above it: the pair is a worse one (Doroshenko, Ghazi,
  Kamath, Kumar & Manurangsi 2022, "connect the dots"). What that costs is of the second order in h:
  the script halves h and shows the difference;
* truncation: losses above the window count as infinite, those below it as its lower end;
* aliasing: what the circular convolution carries around the upper end is bounded by Chernoff's
  inequality and added; what comes around the lower end is counted at the upper, so too much;
* floating point: a transform is right to g = 8 log2(N) 2^-53 of its 2-norm, and |a^T - b^T| <=
  T |a - b| inside the unit disc, so that the result is right to sqrt(N) (T + 1) g ||pmf||_2 in the
  1-norm, which is added. Probabilities of N intervals, each off by 2^-52 at most, misplace the sum
  by N T 2^-52, which is taken off epsilon.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

__all__ = ["exact_delta", "exact_epsilon"]

STEP = 2.0**-10
"""h, relative to the smaller of 1 and the spread of one round's loss."""
_MOST_POINTS = 2**20
_NEGLIGIBLE = 1e-12


class _Losses:
    """The law of T rounds' loss on multiples of h, one direction."""

    def __init__(self, m: float, p: float, rounds: int, h: float, window: float, forward: bool):
        self.rounds = rounds
        top = int(math.ceil(window / h))
        self.values = h * np.arange(-top, top)
        self.pmf, above = _split(m, p, self.values, forward)
        self.infinite = rounds * (above + 2.0**-50)
        self.composed = self._power()
        n = self.values.size
        error = 8 * math.log2(n) * 2.0**-53 * math.sqrt(n) * (rounds + 1)
        self.error = error * float(np.linalg.norm(self.pmf)) + self._alias()
        self.misplaced = n * rounds * 2.0**-52

    def _power(self) -> np.ndarray:
        # Rolled so that loss 0 is entry 0: then indices add up.
        centred = np.roll(self.pmf, -(self.pmf.size // 2))
        powered = np.fft.irfft(np.fft.rfft(centred) ** self.rounds, self.pmf.size)
        return np.clip(np.roll(powered, self.pmf.size // 2), 0.0, None)

    def _alias(self) -> float:
        """Return a bound of the probability that the sum is above the window."""
        window, some = self.values[-1], self.pmf > 0
        values, logs = self.values[some], np.log(self.pmf[some])

        def log_bound(log_t: float) -> float:
            t = math.exp(log_t)
            exponents = t * values + logs
            top = float(exponents.max())
            log_moment = top + math.log(float(np.exp(exponents - top).sum()))
            return self.rounds * log_moment - t * window

        found = minimize_scalar(
            log_bound, bounds=(-4, 6), method="bounded", options={"maxiter": 20}
        )
        return math.exp(min(0.0, float(found.fun)))

    def delta(self, epsilon: float) -> float:
        epsilon -= self.misplaced
        above = self.values > epsilon
        gain = -np.expm1(epsilon - self.values[above])
        return min(1.0, float(gain @ self.composed[above]) + self.infinite + self.error)


def _split(m: float, p: float, values: np.ndarray, forward: bool) -> tuple[np.ndarray, float]:
    """Return one round's probabilities at the values, and that of a loss above them all."""
    edges = np.concatenate(([-np.inf], values, [np.inf]))
    x = _where(m, p, edges if forward else -edges[::-1])
    without, drawn = _between(x / m), _between((x - 1) / m)
    pair = (1 - p) * without + p * drawn, without
    here, other = pair if forward else (pair[1][::-1], pair[0][::-1])
    inner, h = here[1:-1], values[1] - values[0]
    right = (inner - other[1:-1] * np.exp(values[:-1])) / -math.expm1(-h)
    right = np.clip(right, 0.0, inner)
    pmf = np.append(inner - right, 0.0)
    pmf[1:] += right
    pmf[0] += here[0]
    return pmf, float(here[-1])


def _where(m: float, p: float, loss: np.ndarray) -> np.ndarray:
    """Return the points at which log(P / Q) has these values, -inf where it is always above."""
    least = math.log1p(-p) if p < 1 else -math.inf
    x = np.where(loss == np.inf, np.inf, -np.inf)
    some = (loss > least) & np.isfinite(loss)
    # log((e^l - (1 - p)) / p), without overflow or cancellation.
    at = loss[some]
    x[some] = m * m * (at + np.log(-np.expm1(least - at)) - math.log(p)) + 0.5
    return x


def _between(x: np.ndarray) -> np.ndarray:
    """Return the normal probability between neighbouring points, from the nearer tail."""
    return np.where(x[:-1] > 0, -np.diff(ndtr(-x)), np.diff(ndtr(x)))


def _laws(m: float, p: float, rounds: int, step: float = STEP) -> list[_Losses]:
    spread = p * math.sqrt(math.expm1(min(1 / (m * m), 50.0)))
    h = step * min(1.0, spread)
    window = 16 * spread * math.sqrt(rounds) + rounds * spread**2 + 1.0
    while True:
        coarse = max(h, 2 * window / _MOST_POINTS)
        laws = [_Losses(m, p, rounds, coarse, window, way) for way in (True, False)]
        if all(law.infinite + law._alias() < _NEGLIGIBLE * rounds for law in laws):
            return laws
        window *= 1.5


def exact_delta(m: float, p: float, rounds: int, epsilon: float, step: float = STEP) -> float:
    """Return delta at ``epsilon``, rounded up, of so many rounds of noise ``m`` at rate ``p``."""
    return max(law.delta(epsilon) for law in _laws(m, p, rounds, step))


def exact_epsilon(m: float, p: float, rounds: int, delta: float, step: float = STEP) -> float:
    """Return epsilon at ``delta``, rounded up."""
    laws = _laws(m, p, rounds, step)
    low, high = 0.0, float(laws[0].values[-1])
    while high - low > 1e-7 * high:
        middle = (low + high) / 2
        fits = max(law.delta(middle) for law in laws) <= delta
        low, high = (low, middle) if fits else (middle, high)
    return high
