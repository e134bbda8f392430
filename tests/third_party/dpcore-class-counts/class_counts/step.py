"""How many rows are of each class: a step beside a fit, for a share of its budget."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.plugin.steps import OneRelease, Outcome, Phase, Section, mechanism_for
from dpcore_tables.statistics import CategoricalColumn, Histogram

if TYPE_CHECKING:
    import numpy as np

    from dpcore.plugin.steps import PublicFacts, ResultView

__all__ = ["ClassCounts"]


@dataclass(frozen=True)
class ClassCounts:
    """Noisy counts of the classes, in the model file as the section ``class-counts``.

    One release: how many rows are of each class. A row is of one class, so that one more or less
    moves one count by 1 (l2: 1), and a row that is replaced moves two (l2: the square root of 2).
    The noise is normal where the run's accountant holds it, else geometric.

    Parameters
    ----------
    share : of the run's budget.
    """

    name: ClassVar[str] = "class-counts"
    phase: ClassVar[Phase] = Phase.RESULT

    share: float | Fraction = Fraction(1, 20)

    def check(self, facts: PublicFacts) -> OneRelease:
        """Return the release; a fit that has no budget to share is refused before anything."""
        share, names = self.share, facts.schema.label.names
        mechanism = mechanism_for(facts.accountant, share)
        query = Histogram(CategoricalColumn((), names), norm=mechanism.needs)

        def follow(view: ResultView, counts: np.ndarray, deviation: float) -> Outcome:
            found = dict(zip(map(str, names), counts.tolist(), strict=True))
            told = (f"{n:,.0f} rows of {name!r}" for name, n in found.items())
            line = f"About {' and '.join(told)}, each with noise of deviation {deviation:.3g}."
            return Outcome(Section({"counts": found, "deviation": deviation}, (line,)))

        return OneRelease(share, query, mechanism, follow)

    @classmethod
    def of(cls, model: Any) -> Section | None:
        """Return the counts of a model; ``None`` where it has none."""
        return Section.of(model, cls.name)
