"""The passes of Newton's method over the rows, with what each of them releases."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import Problem, ordered_dot, ordered_norm, round_parameters, round_to
from dpcore_baselines.descent import defaults
from dpcore_baselines.descent.averaged import AveragedDescent
from dpcore_baselines.descent.standardize import MOMENTS_CLIP, dry_run_map, unchanged
from dpcore_baselines.options import noise_of_parts
from dpcore_baselines.queries.moments import ColumnMoments
from dpcore_baselines.queries.standardized import StandardizedGradientSum
from dpcore_newton.direction import NewtonDirection
from dpcore_newton.hessian import HessianTrace, unpacked
from dpcore_newton.plan import PLAIN_PASSES, Plan, hessian_of, noise_below
from dpcore_newton.rows import moments_share
from dpcore_newton.spectrum import Curvature

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession
    from dpcore_baselines.calibration.of_a_run import CountedScores
    from dpcore_newton.rows import ReleasedRows

__all__ = ["Passes", "refuse_hopeless"]

_LONGEST = 2.0**20
"""The largest entry of a direction: beyond it margins would be exact on no grid."""
_SMALLEST = 2.0**-40


class Passes:
    """The passes of one run.

    Parameters
    ----------
    rows : released values. ``plan`` : what each pass is to do. ``scores`` : the release after all
        passes, with what is kept for it.
    """

    def __init__(
        self,
        optimizer: Any,
        problem: Problem,
        session: PrivacySession,
        rows: ReleasedRows,
        plan: Plan,
        scores: CountedScores,
    ) -> None:
        self._optimizer, self._problem, self._session = optimizer, problem, session
        self._rows, self._plan, self._scores = rows, plan, scores
        self._left = Fraction(1)
        self._curvature: Curvature | None = None
        self._step_size = plan.step_size(optimizer.momentum)
        self.details: dict[str, Any] = {}

    def run(self) -> AveragedDescent:
        """Return the descent after its passes, in the parameters of standardised rows."""
        optimizer, plan = self._optimizer, self._plan
        descent = AveragedDescent(
            self._problem.w_shape, momentum=optimizer.momentum, averaging=optimizer.averaging
        )
        for number in range(plan.passes):
            w = self._rows.mean.columns.pull_back(descent.v)
            w = round_parameters(w, self._problem.raw_norm_bound)
            is_new = number * plan.hessians % plan.passes < plan.hessians
            if is_new and optimizer.noise_on == "hessian":
                self._curvature = self._released_curvature(w)
            gradient, deviation = self._released_gradient(w)
            if plan.hessians == 0:
                descent.move(gradient, self._step_size.next_step(descent.v, gradient, deviation))
                continue
            if self._curvature is not None:
                direction = self._curvature.solve(gradient)
            else:
                direction = self._released_direction(w, gradient)
            # LAPACK's order of adding is not the same everywhere: no gradient is asked by it.
            direction = round_to(np.clip(direction, -_LONGEST, _LONGEST), Problem.PARAMETER_BITS)
            descent.move(direction, 1 / (1 - optimizer.momentum))
        return descent

    def _mechanism(self, share: Fraction) -> Any:
        """Return the mechanism for a share of what the first pass found left, scores aside."""
        accountant = self._session.accountant
        parts = self._left / share / self._scores.left_by(accountant)
        return noise_of_parts(self._optimizer, accountant, parts)

    def _released(self, query: Any, share: Fraction) -> tuple[np.ndarray, float]:
        """Return a noisy answer for such a share, and the deviation of its noise."""
        mechanism = self._mechanism(share)
        self._left -= share
        bound = query.sensitivity(self._problem.relation).bound
        return self._session.release(query, mechanism), mechanism.noise_multiplier * bound

    def _released_gradient(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the gradient of the objective over n, 0 where a column is left out, and the
        deviation of its noise."""
        problem, columns, n = self._problem, self._rows.mean.columns, self._rows.n
        multiplier = self._mechanism(self._plan.of_gradient).noise_multiplier
        query = StandardizedGradientSum(problem, w, columns, self._plan.clip, multiplier)
        answer, deviation = self._released(query, self._plan.of_gradient)
        gradient = answer / n + problem.l2 * columns.map_gradient(w)
        gradient[columns.scales == 0] = 0.0  # There is nothing but noise.
        return np.asarray(gradient), deviation / n

    def _released_curvature(self, w: np.ndarray) -> Curvature:
        """Return the released Hessian over n, with the regulariser's, its small eigenvalues lifted
        above the noise."""
        optimizer, problem, n = self._optimizer, self._problem, self._rows.n
        columns, length = self._rows.mean.columns, self._rows.mean.length
        query = hessian_of(optimizer, problem, w, columns, length)
        answer, deviation = self._released(query, self._plan.of_hessian)
        least = optimizer.least * noise_below(deviation, problem.n_features) / n
        self.details = {"least": least, "added": self._plan.added}
        matrix = unpacked(answer, problem.n_features) / n
        if problem.l2:
            back = columns.pull_back(np.eye(problem.n_features))
            matrix += problem.l2 * np.array([ordered_dot(back, row) for row in back])
        return Curvature.of(matrix, least, optimizer.change, self._plan.added)

    def _released_direction(self, w: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return a released direction. Its least eigenvalue is the authors': (factor trace / rho)^
        (1/3), rho of the direction's share, in units of four times a row's largest Hessian."""
        optimizer, n = self._optimizer, self._rows.n
        columns, length = self._rows.mean.columns, self._rows.mean.length
        hessian = hessian_of(optimizer, self._problem, w, columns, length)
        both = self._plan.of_hessian
        of_trace = both * Fraction(optimizer.trace_share)
        trace, _ = self._released(HessianTrace(hessian), of_trace)
        unit, rho = 4 * hessian.clip, 0.5 / self._mechanism(both - of_trace).noise_multiplier ** 2
        seen = optimizer.trace_factor * max(0.0, float(trace[0])) / unit
        least = unit * max(1.0, (seen / rho) ** (1 / 3))
        self.details = {"least": least / n}
        if not gradient.any():
            gradient = np.full_like(gradient, _SMALLEST)
        query = NewtonDirection(hessian, gradient, least, optimizer.change)
        answer, _ = self._released(query, both - of_trace)
        return np.asarray(answer * (ordered_norm(gradient) * n / least))


def refuse_hopeless(optimizer: Any, problem: Problem, session: PrivacySession) -> None:
    """Raise InvalidInputError, before anything is spent, if the noise of the smallest part of the
    budget does not fit the grid, or a sum has no room; load what the passes ask for."""
    zero, mapped, same = np.zeros(problem.w_shape), dry_run_map(problem), unchanged(problem)
    mechanism = _of_the_smallest_part(optimizer, problem, session)
    multiplier = mechanism.noise_multiplier
    # No row is longer than the root of its columns' number once it is standardised, in mean.
    widest = 2 * max(problem.row_norm, math.sqrt(problem.n_features + 1))
    clip = (optimizer.clip or defaults.most_clip(problem.loss)) * widest
    widest_sums: list[Any] = [StandardizedGradientSum(problem, zero, same, clip, multiplier)]
    sums: list[Any] = [StandardizedGradientSum(problem, zero, mapped, problem.row_norm)]
    if optimizer.hessians != 0:
        hessian = hessian_of(optimizer, problem, zero, same, widest)
        widest_sums.append(hessian)
        sums.append(hessian_of(optimizer, problem, zero, mapped, problem.row_norm))
        if optimizer.noise_on == "direction":
            # Its error follows from public facts and four times a row's largest Hessian.
            one = np.ones(problem.n_features)
            NewtonDirection(hessian, one, 4 * hessian.clip, optimizer.change)
    if moments_share(optimizer, problem):
        sums.append(ColumnMoments(problem, MOMENTS_CLIP * problem.row_norm, multiplier))
    for query in widest_sums:
        mechanism.event(query.sensitivity(problem.relation))
    for query in sums:
        session.dry_run(query)


def _of_the_smallest_part(optimizer: Any, problem: Problem, session: PrivacySession) -> Any:
    """Return the mechanism of a part of the budget that is no larger than any of a run."""
    passes = Fraction(optimizer.passes or PLAIN_PASSES)
    share, moments = Fraction(optimizer.hessian_share), moments_share(optimizer, problem)
    parts = [(1 - share) / passes, share / (optimizer.hessians or 1)]
    if optimizer.noise_on == "direction":
        of_trace = Fraction(optimizer.trace_share)
        parts.append(share / passes * min(of_trace, 1 - of_trace))
    before = (1 - Fraction(optimizer.count_share)) * (1 - Fraction(moments))
    smallest = min(*parts, Fraction(moments) or 1) * before / 3
    return noise_of_parts(optimizer, session.accountant, 1 / smallest)
