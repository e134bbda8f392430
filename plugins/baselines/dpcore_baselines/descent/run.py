"""The values of a run of dp-gd, and what is made of its iterates once all steps were taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import round_parameters
from dpcore_baselines.descent.calibrate import calibrated_line, with_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin import Problem
    from dpcore_baselines.calibration.of_a_run import CountedScores
    from dpcore_baselines.descent.averaged import AveragedDescent
    from dpcore_baselines.descent.calibrate import MeanRow
    from dpcore_baselines.descent.step_size import StepSize

__all__ = ["Run"]

_TAKEN = "All planned steps were taken."
_SHRUNK = " The log odds were multiplied by {:.2f}{}, to correct "
_BY_NOISE = "for clipping and noise, which make them too large."
_BY_COUNTS = "for clipping and noise and to match noisy counts of the classes."
_BY_LEVEL = "for clipping and noise and to match a noisy number of positive rows."


@dataclass(frozen=True)
class Run:
    """The values of a run, public or released.

    Parameters
    ----------
    n : the number of rows. ``rows`` : what moments say of them. ``clip`` : of a row's gradient.
    gradients : of parameters, a map, a clip and a noise multiplier, returns the sum to release.
    shrinkage : what all coefficients of standardised columns but the intercept's count for.
    scores : the last release, of what is kept for it.
    """

    n: float
    gradients: Callable[..., Any]
    rows: MeanRow
    clip: float
    shrinkage: float
    step_size: StepSize
    scores: CountedScores

    def finished(
        self, problem: Problem, descent: AveragedDescent
    ) -> tuple[np.ndarray, str, dict[str, Any]]:
        """Return the parameters of the rows as they are, the status, and details. The parameters
        are the averaged iterate, shrunk where the signal is small. Calibrated log odds are brought
        to a line by what clipping and noise did to them (``descent.calibrate``), then by the
        release of ``scores``, if there is one."""
        constant, v = self.rows.columns.constant, descent.average
        if constant is None or not problem.loss.classification:
            return self._pulled_back(problem, v), _TAKEN, {}
        v = np.where(np.arange(problem.n_features) == constant, v, v * self.shrinkage)
        if not self.scores.calibrated:
            return self._pulled_back(problem, v), _TAKEN, {}
        mean, deviation, wander = self.rows.margins(v, descent.spread)
        a, b = calibrated_line(mean, deviation, wander, self.clip / self.rows.length)
        w, why = self._pulled_back(problem, with_line(v, constant, (a, b))), _BY_NOISE
        details = dict[str, Any]()
        if self.scores.part:
            line = self.scores.line(w, b * deviation)
            w = round_parameters(line.of(w, constant), problem.raw_norm_bound)
            a, b = line.slope * a + line.added, line.slope * b
            why = _BY_COUNTS if self.scores.by_odds else _BY_LEVEL
            details["by_counts"] = {"slope": line.slope, "added": line.added}
        added = f" and moved by {a:+.2f}" if abs(a) > 0.005 else ""
        return w, _TAKEN + _SHRUNK.format(b, added) + why, {"slope": b, "added": a, **details}

    def _pulled_back(self, problem: Problem, v: np.ndarray) -> np.ndarray:
        return round_parameters(self.rows.columns.pull_back(v), problem.raw_norm_bound)
