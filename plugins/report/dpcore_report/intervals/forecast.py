"""Shares of fits that get intervals, from public facts alone: before anything is charged.

There is none where the noise of the curvature is as large as the curvature in some direction
(``dpcore_report.intervals.one_step``). The norm of the noise is known, and the sum of n rows'
curvatures has a mean eigenvalue of at most n times the loss's smoothness times the square of the
row norm over the number of columns. The least eigenvalue is further below the mean the more columns
there are. So the clearness is the quotient of the two over that number to the power of 1.5: of the
powers 0, 0.5, 1 and 1.5 this told best, in 350 cells, where there were intervals. The
shares are of 460 cells of the same eleven public tables (``bench/interval_forecast.py``). How the
columns of a table hang together, on which it depends too, is private.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.plugin.steps import StepSession
from dpcore_report.intervals.first_step import noise_norm
from dpcore_report.intervals.row_products import ON_DIAGONAL

if TYPE_CHECKING:
    from dpcore_report.intervals.inference import Inference

__all__ = ["LEAST", "clearness", "forecast_of", "in_words"]

_SHARES = ((0.0, 0.0), (1.0, 0.07), (5.0, 0.47), (14.0, 0.74), (40.0, 0.93))
"""From each clearness on: of such fits, the share that had intervals; standard errors are 0.05
and less."""
LEAST = 0.2
"""Of such fits: below, a run is refused that was not told to go on."""


def clearness(inference: Inference, n: float | None) -> float | None:
    """Return by how much the curvature of ``n`` rows may exceed its noise. It is ``None`` where no
    number of rows is public, or where an l2 term is above the noise, so that the rows do not decide
    it."""
    query, mechanism = inference.releases[3][0], inference.noise.curvature
    problem, centring, d = inference.problem, inference.centring, inference.problem.n_features
    deviation = StepSession.deviation_of(mechanism, query, problem)
    noise = noise_norm(deviation / ON_DIAGONAL, d)
    if n is None or problem.l2 * n > noise:
        return None
    row_norm = problem.row_norm if centring is None else centring.row_norm
    return float(n * problem.loss.smoothness * row_norm**2 / d**2.5 / noise)


def forecast_of(inference: Inference) -> float | None:
    """Return in which share of such fits there were intervals; ``None`` where public facts do not
    tell."""
    value = clearness(inference, inference.problem.n_public)
    if value is None:
        return None
    return next(share for least, share in reversed(_SHARES) if value >= least)


def in_words(share: float) -> str:
    """Return the forecast as a clause."""
    return (
        f"of fits to public tables with as much noise for their rows and columns, {share:.0%} got "
        "them"
    )
