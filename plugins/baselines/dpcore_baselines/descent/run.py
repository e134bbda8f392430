"""The figures of a run of dp-gd, and what is made of its iterates once all steps were taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import round_parameters
from dpcore_baselines.descent.calibrate import calibrated_line, can_be_calibrated, with_line

if TYPE_CHECKING:
    from dpcore.plugin import Problem
    from dpcore_baselines.descent.averaged import AveragedDescent
    from dpcore_baselines.descent.calibrate import MeanRow
    from dpcore_baselines.descent.step_size import StepSize
    from dpcore_baselines.queries.standardized import StandardizedGradientSum
    from dpcore_baselines.queries.unit_gradient import UnitGradientSum

__all__ = ["Run"]

_TAKEN = "All planned steps were taken."
_SHRUNK = " Log odds were multiplied by {:.2f}{}: clipping and noise had made them too large."


@dataclass(frozen=True)
class Run:
    """The figures of a run, public or released.

    Parameters
    ----------
    n : the number of rows. ``rows`` : what moments say of them. ``clip`` : of a row's gradient.
    shrinkage : what all coefficients of standardised columns but the intercept's count for.
    """

    n: float
    clipped_sum: type[UnitGradientSum | StandardizedGradientSum]
    rows: MeanRow
    clip: float
    shrinkage: float
    step_size: StepSize

    def finished(
        self, problem: Problem, descent: AveragedDescent, *, calibrated: bool
    ) -> tuple[np.ndarray, str, dict[str, Any]]:
        """Return the parameters of the rows as they are, the status, and details: the averaged
        iterate, shrunk where the signal is small, its log odds brought to the ``calibrated`` line
        (``descent.calibrate``)."""
        columns, v = self.rows.columns, descent.average
        status, details = _TAKEN, dict[str, Any]()
        if columns.constant is not None and problem.loss.classification:
            v = np.where(np.arange(problem.n_features) == columns.constant, v, v * self.shrinkage)
            if calibrated and can_be_calibrated(problem):
                margins = self.rows.margins(v, descent.spread)
                a, b = calibrated_line(*margins, self.clip / self.rows.length)
                v = with_line(v, columns.constant, (a, b))
                details = {"slope": b, "added": a}
                status = _TAKEN + _SHRUNK.format(
                    b, f", and {a:+.2f} added" if abs(a) > 0.005 else ""
                )
        w = round_parameters(columns.pull_back(v), problem.raw_norm_bound)
        return w, status, details
