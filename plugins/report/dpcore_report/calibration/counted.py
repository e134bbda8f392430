"""The release of a calibration: its query, its noise, and the coefficients that follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.fitting.steps.shares import exact_share
from dpcore.model.model import check_coefficients
from dpcore.plugin import round_parameters
from dpcore.plugin.steps import Outcome, Section, mechanism_for
from dpcore_baselines.calibration.counts_line import CALIBRATED, UNKNOWN, counts_line
from dpcore_baselines.calibration.labelled_scores import LabelledScores

if TYPE_CHECKING:
    from dpcore.plugin import Gaussian, Geometric
    from dpcore.plugin.parts import Mechanism, Query
    from dpcore.plugin.steps import PublicFacts, ResultView, ShareDoor

__all__ = ["CountedRows", "counts_of"]


def counts_of(share: float | Fraction, facts: PublicFacts) -> CountedRows:
    """Return the release of counts for a share of the budget."""
    exactly = exact_share(share, "Calibration")
    mechanism = mechanism_for(facts.accountant, exactly)
    query = LabelledScores(facts.problem, np.zeros(facts.schema.w_shape), mechanism.needs)
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

    def run(self, door: ShareDoor, view: ResultView) -> Outcome:
        """Return the solution of calibrated log odds, and what was shrunk by how much.

        ``details`` of a solution have a ``slope`` where its optimizer calibrated log odds by what
        it released: little is left to do then, and more for any other.
        """
        solution, bound = view.solution, view.problem.raw_norm_bound
        w = check_coefficients(solution.w, view.schema.w_shape, view.plan.entry.name)
        query = replace(self.query, w=w)
        deviation = door.deviation(query, self.mechanism)
        prior = CALIBRATED if "slope" in solution.details else UNKNOWN
        line = counts_line(door.release(query, self.mechanism), deviation, prior)
        moved = round_parameters(line.of(w, w.size - 1), bound)
        said = f"The log odds were multiplied by {line.slope:.2f} and moved by {line.added:+.2f}"
        figures = {"share": float(self.share), "slope": line.slope, "added": line.added}
        figures["deviation"] = line.deviation
        spread = f"the slope is known to about {line.deviation:.2f}"
        how = (
            f"by noisy counts of rows by class and log odds, in which every row counts 1; {spread}"
        )
        return Outcome(
            Section(figures, (f"{said}, {how}.",)),
            solution=replace(
                solution, w=moved, status=f"{solution.status} {said}, by noisy counts."
            ),
        )
