"""The release of a calibration: its query, its noise, and the coefficients that follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import round_parameters
from dpcore.plugin.parts import LossFacts, Model
from dpcore.plugin.steps import Outcome, Section, StepSession, mechanism_for
from dpcore_baselines.calibration.class_lines import ClassLines, class_lines
from dpcore_baselines.calibration.counts_line import CALIBRATED, UNKNOWN, CountsLine, counts_line
from dpcore_baselines.calibration.labelled_scores import ONE, LabelledScores
from dpcore_baselines.calibration.paired_scores import PairedScores

if TYPE_CHECKING:
    from dpcore.plugin import Gaussian, Geometric
    from dpcore.plugin.parts import Mechanism, Query
    from dpcore.plugin.steps import PublicFacts, ResultView

__all__ = ["CountedRows", "counts_of"]

_TOLD = 8
"""Classes that are named in words; the section has all."""


def counts_of(share: float | Fraction, facts: PublicFacts) -> CountedRows:
    """Return the release of counts for a share of the budget."""
    exactly = StepSession.exact_share(share, "Calibration")
    mechanism = mechanism_for(facts.accountant, exactly)
    kind = PairedScores if facts.problem.n_margins > 1 else LabelledScores
    query = kind(facts.problem, np.zeros(facts.schema.w_shape), mechanism.needs)
    return CountedRows(exactly, query, mechanism)


@dataclass(frozen=True, eq=False)
class CountedRows:
    """One release of counts of the rows trained on, and the coefficients that follow (``Request``).

    Parameters
    ----------
    query : of a model of zeros, in whose place the fitted one is put.
    mechanism : costs the share of the whole budget, at most.
    """

    share: Fraction
    query: LabelledScores
    mechanism: Gaussian | Geometric

    @property
    def stated(self) -> dict[str, Any]:
        """The share of the budget."""
        return {"share": float(self.share)}

    @property
    def releases(self) -> Sequence[tuple[Query, Mechanism]]:
        """The one, of a model of zeros."""
        return ((self.query, self.mechanism),)

    def run(self, session: StepSession, view: ResultView) -> Outcome:
        """Return the solution of calibrated log odds, and what was shrunk by how much.

        ``details`` of a solution have a ``slope`` where its optimizer calibrated log odds by what
        it released: little is left to do then, and more for any other.
        """
        solution, problem = view.solution, view.problem
        w = Model.check_coefficients(solution.w, view.schema.w_shape, view.plan.entry.name)
        # Weights of classes may have been released since this was checked.
        query = replace(self.query, problem=problem, w=w)
        deviation = session.deviation(query, self.mechanism)
        counts = session.release(query, self.mechanism)
        if isinstance(query, PairedScores):
            part = query.size / ONE
            lines: CountsLine | ClassLines = class_lines(counts / part, deviation / part, len(w))
        else:
            is_calibrated = "slope" in solution.details
            lines = counts_line(counts, deviation, CALIBRATED if is_calibrated else UNKNOWN)
        moved = round_parameters(lines.of(w, w.shape[-1] - 1), problem.raw_norm_bound)
        largest = LossFacts.of(problem.loss).largest_weight
        said, section = _in_words(lines, view.schema.label.names, largest)
        values = {"share": float(self.share), **section, "deviation": lines.deviation}
        how = f"the slope is known to about {lines.deviation:.2f}"
        counted = "1" if largest == 1.0 else f"its weight over {largest:.4g}, the largest one"
        where = "log odds" if w.ndim == 1 else "log odds of one class over another"
        lines_of = f"{said}, by noisy counts of rows by class and {where}, in which every row "
        told, said = f"{lines_of}counts {counted}; {how}.", f"{said}, by noisy counts."
        if lines.slope == 1.0 and not np.any(lines.added):
            kept = "log odds" if w.ndim == 1 else "margins"
            told = said = f"The {kept} stay as they were, since noise hides all counts of rows."
        status = f"{solution.status} {said}"
        return Outcome(Section(values, (told,)), solution=replace(solution, w=moved, status=status))


def _in_words(
    lines: CountsLine | ClassLines, names: Sequence[Any], largest: float
) -> tuple[str, dict[str, Any]]:
    """Return what was done to the margins, as a clause and as data."""
    weighed = {} if largest == 1.0 else {"largest_weight": largest}
    if isinstance(lines, CountsLine):
        said = f"The log odds were multiplied by {lines.slope:.2f} and moved by {lines.added:+.2f}"
        return said, {"slope": lines.slope, "added": lines.added, **weighed}
    named = [f"{name} by {added:+.2f}" for name, added in zip(names, lines.added, strict=True)]
    most = f"{', '.join(named[:_TOLD])}{', ...' if len(named) > _TOLD else ''}"
    said = f"The margins were multiplied by {lines.slope:.2f} and moved, of {most}"
    return said, {"slope": lines.slope, "added": list(lines.added), **weighed}
