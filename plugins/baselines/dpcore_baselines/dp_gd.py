"""DP-GD: full-batch gradient descent with momentum and averaging on standardised columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.plugin import (
    ExpectedUtility,
    InvalidInputError,
    Slot,
    Solution,
    check_ranges,
    mechanism_in,
    option,
    round_parameters,
)
from dpcore_baselines.calibration.of_a_run import RULE, CountedScores
from dpcore_baselines.descent import defaults
from dpcore_baselines.descent.averaged import AveragedDescent
from dpcore_baselines.descent.calibrate import MeanRow
from dpcore_baselines.descent.curves import CHOICES, Curves, may_take_curves
from dpcore_baselines.descent.row_count import counted_rows
from dpcore_baselines.descent.run import Run
from dpcore_baselines.descent.sizes import released_sizes
from dpcore_baselines.descent.standardize import MOMENTS_CLIP, dry_run_map, from_moments, unchanged
from dpcore_baselines.descent.step_size import StepSize
from dpcore_baselines.options import noise_of_parts, require_several
from dpcore_baselines.queries.moments import ColumnMoments
from dpcore_baselines.queries.standardized import StandardizedGradientSum
from dpcore_baselines.queries.unit_gradient import UnitGradientSum

if TYPE_CHECKING:
    from dpcore.plugin import Accountant, PrivacySession, Problem
    from dpcore_baselines.queries.standardization import Standardization

__all__ = ["DpGd"]

_FEW_ROWS = (
    "the noise of this budget may hide which class has more rows; about {:,.0f} rows would show "
    "it. The model may predict worse than a constant."
)


@dataclass(frozen=True, kw_only=True)
class DpGd:
    """Fits a linear model by full-batch clipped gradient steps with normal noise.

    First the sums of the columns and of their squares are released, before them, of two classes,
    counts of the sizes of a schema's numbers (``dpcore_baselines.descent.sizes``), and every column
    is centred and scaled by them: a linear map of the rows, so the model stays a linear model of
    the rows as they are. Then follow ``steps`` noisy sums of clipped gradients of the standardised
    rows, all of the same share, with momentum and averaging, which are post-processing.

    Privacy: Gaussian mechanisms whose mu^2 add up (Dong, Roth & Su 2022, Corollary 3.3; chosen from
    earlier outputs: Smith & Thakurta 2022), turned into (epsilon, delta) exactly (Balle & Wang
    2018, Theorem 8). A row contributes at most the clip to a sum: sensitivity ``clip`` under
    add-or-remove-one, ``2 clip`` under replace-one; sizes of m columns move by sqrt(m) and
    sqrt(2 m). Where units have several rows, at most k, it is k times that, or, with ``clip_unit``,
    so much for the sum of a unit. Other noise of an l2 bound (``--use noise=gamma --accountant
    zcdp``) is charged by its own event.

    Fields left at ``None`` are fixed functions of public facts and of the released number of rows
    (``descent.defaults``). Steps grow from a safe one, and are held to what the released gradients
    say of the loss's curvature (``descent.step_size``). Of two classes, where u is below 100,
    columns' coefficients are scaled down once the steps are over; then log odds z become a + b z,
    by what clipping and noise did to them (``descent.calibrate``): post-processing. It needs
    standardised rows with an intercept, of weight 1, each clipped by itself, and an l2 of 0. Then a
    last release corrects the line: counts by class and log odds, or of all rows (``calibration``).
    """

    steps: int | None = option(
        None,
        "gradients, each of an equal share",
        "steps",
        "time / 99, from 50 to 80 (logistic); 50, 100 or 200 (SVM); time / 24.7 (ridge), time / 10 "
        "(quantile), from 50 to 400; for any loss more, up to 400, where released gradients or l2 "
        "show that such steps would overshoot",
        range=(1, 10**6),
    )
    clip: float | None = option(
        None,
        "bound of a row's gradient over the typical length of a standardised row",
        "1",
        "the larger, the stronger the signal u: 0.2 (u / 42)^0.3, from 0.05 to 2; "
        "u = n mu / sqrt(columns that count), n rows, mu the whole budget as Gaussian DP",
        range=(2.0**-10, 2.0**6),
    )
    time: float | None = option(
        None,
        "sum of the step sizes, times the typical length of a standardised row squared",
        "1",
        "5000 (u / 42)^0.8, at most 39467 (logistic) or 3947 (quantile); SVM: 2000 (u / 42)^0.7, "
        "at most 12000, and 2000 u / 42 for u < 42; two classes: u is at least n mu / 6, up to 10",
        range=(2.0**-20, 2.0**40),
    )
    momentum: float = option(
        0.85, "weight of the earlier directions in the next one", "1", range=(0, 1, "[)")
    )
    averaging: float = option(
        3.0,
        "iterate t weighs about t^averaging in the result; negative: the last iterate",
        "1",
        range=(-1, 100),
    )
    moments_share: float | None = option(
        None,
        "share of the budget for the columns' moments; 0: the rows as they are",
        "1",
        "0.1 for up to 128 columns, rising to 0.25 for 2^14; half of it where sizes are counted "
        "before; 0 for real-valued targets",
        range=(0, 1, "[)"),
    )
    count_share: float = option(
        0.02,
        "share of the budget for counting rows where no public number exists",
        "1",
        range=(0, 1, "()"),
    )
    clip_unit: bool = option(
        False,
        "for units of up to k rows: clip the sum of a unit's gradients, by sqrt(k) times the rule",
    )
    calibrated: bool = option(
        True, "logistic loss of two classes: shrink log odds so that probabilities come true"
    )
    calibrate_share: float | None = option(
        None,
        "share of the budget left after moments for counts of rows by class and log odds; 0: none",
        "1",
        RULE,
        range=(0, 1, "[)"),
    )
    curves: str = option(
        "auto",
        "numbers with knots: curves (all), lines (none), or by the signal (auto)",
        rule="curves if u of all columns >= 40 and there are 2,000 rows; flatter ones if u < 60",
    )
    use: Mapping[str, str] = field(default_factory=dict)

    name: ClassVar[str] = "dp-gd"
    accountant: ClassVar[str] = "gdp"
    slots: ClassVar[dict[str, Slot]] = {"noise": Slot(("gaussian",), takes=("l2",))}
    relations: ClassVar[tuple[str, ...]] = ("add-or-remove-one", "replace-one")
    needs: ClassVar[tuple[str, ...]] = ()
    for_units: ClassVar[bool] = True
    multiclass: ClassVar[bool] = True
    theorem: ClassVar[str] = (
        "composition of Gaussian mechanisms: Dong, Roth & Su 2022, Corollary 3.3, fully adaptive: "
        "Smith & Thakurta 2022; conversion: Balle & Wang 2018, Theorem 8; clipped sums: Abadi et "
        "al. 2016, section 3.1"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "columns are standardised by released moments before gradients are clipped",
        "step sizes from public facts and released gradients, momentum and averaging; no sampling, "
        "so no amplification is claimed",
        "defaults are of normal noise whatever fills the slot",
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.curves not in CHOICES:
            raise InvalidInputError(f"Expected curves={self.curves!r} to be one of {CHOICES}.")

    def takes_curves(self, problem: Problem, accountant: Accountant) -> bool:
        """Return whether numbers get hats where the schema gives them none."""
        return may_take_curves(self, problem, accountant)

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        if self.clip_unit and problem.rows_per_unit is None:
            raise InvalidInputError("clip_unit needs units of several rows: unit in the schema.")
        event = mechanism_in(self, "noise", session.accountant).nominal_event(1.0)
        require_several(self, session.accountant, event, event)
        self.refuse_hopeless(Curves.of(problem, 0.0, 0.0, self.curves).counted, session)
        clipped_sum = UnitGradientSum if self.clip_unit else StandardizedGradientSum
        zero = np.zeros(problem.w_shape), dry_run_map(problem)
        session.dry_run(clipped_sum(problem, *zero, problem.row_norm))
        scores = CountedScores.of(self, problem, session, self._moments_share(problem))
        if self._moments_share(problem):
            session.dry_run(ColumnMoments(problem, MOMENTS_CLIP * problem.row_norm))
        n = counted_rows(self, problem, session)
        root = math.sqrt(problem.rows_per_unit or 1) if self.clip_unit else 1.0
        mu = 1 / self._noise(session, 1).noise_multiplier * root / problem.rows_changed
        curves = Curves.of(problem, n, mu, self.curves)
        problem, gradients = curves.counted, partial(curves.gradients, clipped_sum)
        rows, width = self._standardize(problem, session, n, curves)
        columns, length, loss = rows.columns, rows.length, problem.loss
        u = max(defaults.weighed(defaults.signal(n, mu, width), loss), 1e-6)
        clip = (self.clip or defaults.clip_for(u, loss) * root) * length
        lasting = max(defaults.weighed(defaults.lasting_signal(n, mu, width, loss), loss), 1e-6)
        sizes = self._step_size(problem, lasting, columns, length)
        scores = scores.with_signal(max(u, curves.u_lines), n, mu, curves.among_all)
        run = Run(n, gradients, rows, clip, defaults.shrinkage_for(u), sizes, scores)
        w, status, shrunk = run.finished(problem, self._descend(problem, session, run))
        details: dict[str, Any] = {"steps": sizes.steps, "clip": clip, "time": sizes.time, "u": u}
        details |= {"columns": int(np.count_nonzero(columns.scales)), **shrunk, **curves.details()}
        if problem.loss.classification and not defaults.tells_the_majority(n, mu):
            details["warning"] = _FEW_ROWS.format(ExpectedUtility.rounded(defaults.TELLING / mu))
        elif u < 10:
            details["warning"] = "the budget is small for this many features: expect noise."
        return Solution(curves.among_all(w), status=status + curves.in_words(), details=details)

    def _step_size(
        self, problem: Problem, u: float, columns: Standardization, length: float
    ) -> StepSize:
        """Return the step sizes: none longer than l2 allows, nor than released gradients do."""
        loss, momentum = problem.loss, self.momentum
        standardized = self._moments_share(problem) > 0
        time = self.time or defaults.time_for(u, loss, momentum, standardized=standardized)
        steps = self.steps or defaults.steps_for(time, u, loss, momentum, standardized=standardized)
        limit = defaults.limit_for(loss, momentum)
        safe = defaults.largest_step(loss, momentum) / length**2
        return StepSize(
            time=time / length**2,
            steps=steps,
            safe=math.inf if math.isinf(limit) else safe,
            limit=limit,
            longest=defaults.regularised_step(problem.l2 * columns.squared_stretch, momentum),
            most_steps=self.steps or defaults.MOST_STEPS,
        )

    def _moments_share(self, problem: Problem) -> float:
        """Return what was asked for, or the rule's: 0 for a real-valued target, whose few far rows
        are missed by much where columns are longer."""
        if self.moments_share is not None:
            return self.moments_share
        if not problem.loss.classification:
            return 0.0
        hats = sum(n_hats for _, n_hats in problem.curves)
        return defaults.moments_share_for(problem.n_features - hats)

    def _standardize(
        self, problem: Problem, session: PrivacySession, n: float, curves: Curves
    ) -> tuple[MeanRow, float]:
        """Return the map with what the moments say, and the number of columns that count."""
        moments_share = self._moments_share(problem)
        if moments_share == 0:
            same = unchanged(problem), problem.row_norm
            return MeanRow(*same, *np.zeros((2, problem.n_features))), defaults.coordinates(problem)
        sizes = released_sizes(problem, session, n, self._noise, curves.problem.numbers)
        if sizes is not None and self.moments_share is None:
            moments_share /= 2
        mechanism = self._noise(session, 1 / Fraction(moments_share))
        clip, multiplier = MOMENTS_CLIP * problem.row_norm, mechanism.noise_multiplier
        moments = session.release(curves.moments(clip, multiplier), mechanism)
        deviation = multiplier * clip * problem.rows_changed
        columns, length = from_moments(problem, moments, n, deviation, sizes, curves.scales)
        rows = MeanRow.of(columns, length, moments[: problem.n_features] / n, deviation / n)
        return rows, defaults.coordinates(problem, curves.width(columns, length))

    def _descend(self, problem: Problem, session: PrivacySession, run: Run) -> AveragedDescent:
        """Return the descent after its steps, in ``v``, the parameters of standardised rows."""
        n, columns, step_size, l2, planned = run.n, run.rows.columns, run.step_size, problem.l2, 0
        descent = AveragedDescent(problem.w_shape, momentum=self.momentum, averaging=self.averaging)
        while step_size.left:
            if step_size.steps != planned:
                parts = step_size.left / run.scores.left_by(session.accountant)
                planned, mechanism = step_size.steps, self._noise(session, parts)
            w = round_parameters(columns.pull_back(descent.v), problem.raw_norm_bound)
            query = run.gradients(w, columns, run.clip, mechanism.noise_multiplier)
            gradient = session.release(query, mechanism) / n + l2 * columns.map_gradient(w)
            gradient[..., columns.scales == 0] = 0.0  # There is nothing but noise.
            changed = problem.relation.rows_changed if self.clip_unit else problem.rows_changed
            deviation = mechanism.noise_multiplier * run.clip * changed / n
            descent.move(gradient, step_size.next_step(descent.v, gradient, deviation))
        return descent

    def _noise(self, session: PrivacySession, parts: Fraction | int) -> Any:
        """Return the mechanism of one of so many equal parts of what is left of the budget."""
        return noise_of_parts(self, session.accountant, parts)

    def refuse_hopeless(
        self, problem: Problem, session: PrivacySession, share: float = 1.0
    ) -> None:
        """Raise InvalidInputError if this share's smallest part has noise beyond the grid."""
        count, moments = Fraction(self.count_share), Fraction(self._moments_share(problem))
        steps = (self.steps or defaults.MOST_STEPS) / (1 - count) / (1 - moments)
        shares = [1 / count, steps, *([1 / moments / (1 - count)] if moments else [])]
        most = 3 * max(shares) / Fraction(share)  # moments after sizes: 2.36 of their own parts
        mechanism = self._noise(session, most)
        # No row is longer than the root of its columns' number once it is standardised, in mean.
        widest = 2 * max(problem.row_norm, math.sqrt(problem.n_features + 1))
        clip = (self.clip or defaults.most_clip(problem.loss)) * widest
        zero, multiplier = np.zeros(problem.w_shape), mechanism.noise_multiplier
        query = StandardizedGradientSum(problem, zero, unchanged(problem), clip, multiplier)
        widest_noise = type(mechanism)(multiplier * (problem.rows_per_unit or 1))
        widest_noise.event(query.sensitivity(problem.relation))
        ColumnMoments(problem, MOMENTS_CLIP * problem.row_norm, multiplier)
