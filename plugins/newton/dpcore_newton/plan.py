"""The passes of a run, and what each may spend: fixed by public facts and the first releases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin.parts import LossFacts, RowFunction
from dpcore_baselines.descent import defaults
from dpcore_baselines.descent.step_size import StepSize
from dpcore_baselines.options import noise_of_parts
from dpcore_newton.curvature import CURVATURES
from dpcore_newton.hessian import HessianSum
from dpcore_newton.rows import moments_share
from dpcore_newton.spectrum import edge

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession, Problem
    from dpcore_baselines.queries.standardization import Standardization
    from dpcore_newton.rows import ReleasedRows

__all__ = ["Plan", "curvature_of", "hessian_of", "noise_below"]

PASSES, PLAIN_PASSES = 12, 18
"""Passes with a Hessian, and without."""
_TELLING = 1.0
"""The eigenvalues of a Hessian's noise over the mean one of the Hessian, at most, where it is told.
Above, on adult, a9a and 20,000 x 784 of ``bench/newton.py`` (2 to 4), a fit without it is as good
or better; below, of correlated columns, a fit with it is better."""
_TIMES = 4.0
"""The largest eigenvalue over the mean one, for which a step without a Hessian is made: with
momentum it bears several times as much, and where that is too little released gradients show it."""
_LIKE_DP_GD = 0.85
"""The momentum at which dp-gd's rule for the time holds."""


def curvature_of(problem: Problem) -> float:
    """Return the largest curvature of a row's loss in its margin, of a row of weight 1."""
    return float(problem.loss.smoothness / LossFacts.of(problem.loss).largest_weight)


def hessian_of(
    optimizer: Any, problem: Problem, w: np.ndarray, columns: Standardization, length: float
) -> HessianSum:
    """Return the sum of Hessians at ``w``. A row of the typical length, of the largest curvature,
    is not clipped; where rows are weighted up to 16 times that, as its gradients are."""
    curvature = curvature_of(problem)
    clip = curvature / defaults.weighed(1.0, problem.loss) * length**2
    function = RowFunction.weight(CURVATURES[optimizer.curvature])
    return HessianSum(problem, w, function, clip, (curvature,), standardization=columns)


def noise_below(deviation: float, width: int) -> float:
    """Return the typical size of the eigenvalues of a Hessian's noise, ``deviation`` on its
    diagonal and that over the root of 2 beside it."""
    return edge(deviation / math.sqrt(2), width)


@dataclass(frozen=True)
class Plan:
    """The passes of a run, each with what it does and may spend.

    Parameters
    ----------
    passes, hessians : their numbers; no Hessian where its noise would hide it.
    clip : of a row's gradient. ``added`` : to all eigenvalues of a Hessian over n.
    signal : u, that of the rule for the clip. ``step`` : of passes without a Hessian.
    of_hessian, of_gradient : shares, for each one, of what the first pass finds left.
    """

    passes: int
    hessians: int
    clip: float
    added: float
    signal: float
    step: float
    of_hessian: Fraction
    of_gradient: Fraction

    @classmethod
    def of(
        cls, optimizer: Any, problem: Problem, session: PrivacySession, rows: ReleasedRows
    ) -> Plan:
        """Return the plan of a run once its rows are counted and standardised."""
        loss, length = problem.loss, rows.mean.length
        u = max(defaults.weighed(rows.signal, loss), 1e-6)
        lasting = max(u, defaults.lasting_signal(rows.n, rows.mu, rows.width, loss))
        is_standard = moments_share(optimizer, problem) > 0
        time = optimizer.time or defaults.time_for(
            lasting, loss, _LIKE_DP_GD, standardized=is_standard
        )
        hessians = optimizer.hessians
        if hessians is None:
            hessians = int(_is_told(optimizer, problem, session, rows))
        passes = optimizer.passes or max(hessians, PASSES if hessians else PLAIN_PASSES)
        share = Fraction(optimizer.hessian_share) if hessians else Fraction(0)
        largest = curvature_of(problem) * length**2
        return cls(
            passes=passes,
            hessians=hessians,
            clip=(optimizer.clip or defaults.clip_for(u, loss)) * length,
            added=passes * length**2 / time,
            signal=u,
            step=1 / (largest * min(1.0, _TIMES / problem.n_features)),
            of_hessian=share / max(1, hessians),
            of_gradient=(1 - share) / passes,
        )

    def step_size(self, momentum: float) -> StepSize:
        """Return steps of one size without a Hessian, shorter once released gradients show that
        they are too long."""
        step = self.step / (1 - momentum)
        return StepSize(
            time=self.passes * step,
            steps=self.passes,
            safe=step,
            limit=2 * (1 + momentum) / (1 - momentum),
            longest=math.inf,
            most_steps=self.passes,
        )

    def details(self) -> dict[str, Any]:
        """Return the values that a report shows."""
        return {
            "passes": self.passes,
            "hessians": self.hessians,
            "clip": self.clip,
            "u": self.signal,
        }


def _is_told(optimizer: Any, problem: Problem, session: PrivacySession, rows: ReleasedRows) -> bool:
    """Return whether the eigenvalues of a Hessian's noise are at most ``_TELLING`` times the mean
    one of what it is the sum of, were no row less curved than it may be."""
    parts = 1 / Fraction(optimizer.hessian_share)
    mechanism = noise_of_parts(optimizer, session.accountant, parts)
    columns, length = rows.mean.columns, rows.mean.length
    zero = np.zeros(problem.w_shape)
    bound = (
        hessian_of(optimizer, problem, zero, columns, length).sensitivity(problem.relation).bound
    )
    noise = noise_below(mechanism.noise_multiplier * bound, problem.n_features)
    mean = curvature_of(problem) * length**2 * rows.n / problem.n_features
    return optimizer.least * noise <= _TELLING * mean
