"""A private evaluation: counts of rows held out, released for a share of the run's own budget.

A row, or a unit, is trained on or held out by coins that do not depend on any row (by its place,
where the number of rows is public), so one of the two parts would be enough to charge for.
The sum is charged all the same: the figures and the model are then
covered whoever held the rows out, also where the split was somebody's choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.evaluation.error_figures import figures_of_errors
from dpcore.evaluation.figures import figures_of_counts
from dpcore.evaluation.prediction_moments import PredictionMoments
from dpcore.evaluation.score_counts import ScoreCounts
from dpcore.evaluation.words import evaluation_in_words
from dpcore.exact.rounding import float_up
from dpcore.fitting.pre_fit_release import mechanism_for, mechanism_of_epsilon, norm_of
from dpcore.fitting.step_facts import Phase, RowsAsked
from dpcore.fitting.step_shares import exact_share
from dpcore.fitting.step_values import checked_epsilon, checked_share
from dpcore.fitting.steps import Outcome, Section
from dpcore.model.model import check_coefficients

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.step_shares import ShareDoor
    from dpcore.fitting.step_views import PublicFacts, ResultView
    from dpcore.model.model import Model
    from dpcore.protocols import Accountant, Mechanism, Query

__all__ = ["Evaluation", "HeldOutCounts"]


@dataclass(frozen=True)
class Evaluation:
    """Figures of the model on rows held out, released within the budget of its run.

    Parameters
    ----------
    share : of the budget.
    epsilon : of the release by itself, within that of the run, in place of a share.
    test_fraction : of the rows, or units, to be held out by coins.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore import Evaluation, fit
    >>> X, y = np.array([[0.0], [0.2], [0.9], [1.0]] * 250), np.array([0, 0, 1, 1] * 250)
    >>> public = {"classes": (0, 1), "bounds": (0, 1), "epsilon": 20.0}
    >>> model = fit(X, y, **public, also=[Evaluation(share=0.2, test_fraction=0.4)])
    >>> found = Evaluation.of(model)
    >>> found.data["accuracy"]["value"] > 0.5
    True
    >>> found.lines[0].split(" rows")[0][:8]
    'On about'
    """

    name: ClassVar[str] = "evaluation"
    phase: ClassVar[Phase] = Phase.RESULT
    needs: ClassVar[frozenset[str]] = frozenset({"adaptive-filter", "held-out-rows", "rows-here"})
    rows: ClassVar[RowsAsked] = RowsAsked.HELD_OUT
    asks: ClassVar[str] = "The counts of a private evaluation are released from the rows"
    instead: ClassVar[str] = "Leave the evaluation out"

    share: float | Fraction | None = None
    epsilon: float | None = None
    test_fraction: float | None = None

    def __post_init__(self) -> None:
        if self.share is not None and self.epsilon is not None:
            raise InvalidInputError(
                "Expected --evaluate-share (evaluate_share=) or --evaluate-epsilon "
                "(evaluate_epsilon=), not both."
            )
        if self.share is None and self.epsilon is None:
            raise InvalidInputError("Expected a share of the budget for Evaluation, or an epsilon.")
        if self.share is not None:
            object.__setattr__(self, "share", checked_share("evaluate_share", self.share))
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", checked_epsilon("evaluate_epsilon", self.epsilon))
        if self.test_fraction is not None and not 0.0 < self.test_fraction < 1.0:
            raise InvalidInputError(f"Expected 0 < test_fraction={self.test_fraction} < 1.")

    @classmethod
    def of(cls, model: Model) -> Section | None:
        """Return the figures of a model, and the same in words; ``None`` where it has none."""
        if model.evaluation is None:
            return None
        lines = evaluation_in_words(model.evaluation, private=bool(model.privacy["private"]))
        return Section(model.evaluation, tuple(lines))

    def check(self, facts: PublicFacts) -> HeldOutCounts:
        """Return the release of the counts (``RunStep``)."""
        held_out, problem = facts.held_out, facts.held_out_problem
        assert held_out is not None
        reasons = {
            "rows have weights": held_out.weighted,
            "no row is held out": held_out.n_units is not None and held_out.n_units < 1,
        }
        for reason, holds in reasons.items():
            if holds:
                raise InvalidInputError(f"There is no private evaluation where {reason}.")
        mechanism, share, stated = self._mechanism(facts.accountant)
        asked = problem, np.zeros(facts.schema.w_shape), norm_of(mechanism)
        is_real = facts.schema.label.is_real
        query = PredictionMoments(*asked) if is_real else ScoreCounts(*asked)
        return HeldOutCounts(share, stated, query, mechanism)

    def _mechanism(self, accountant: Accountant) -> tuple[Any, Fraction, dict[str, float]]:
        """Return the mechanism for the share or the epsilon that was asked for, the share, and what
        is stated: the share, rounded up, and, where it was asked for, that epsilon."""
        if self.epsilon is None:
            share = exact_share(self.share, "Evaluation")
            return mechanism_for(accountant, share), share, {"share": float(share)}
        mechanism = mechanism_of_epsilon(accountant, self.epsilon)
        cost = accountant.cost(mechanism.nominal_event(mechanism.noise_multiplier))
        own = float_up(cost / Fraction(accountant.budget))
        return mechanism, Fraction(own), {"share": own, "epsilon": self.epsilon}


@dataclass(frozen=True, eq=False)
class HeldOutCounts:
    """One release of counts of rows held out, and the figures that follow (``Request``).

    Parameters
    ----------
    stated : of it in the privacy statement: the share of the budget, and epsilon, where asked for.
    query : of a model of zeros, in whose place the fitted one is put.
    mechanism : costs the share of the whole budget, at most.
    """

    share: Fraction
    stated: dict[str, float]
    query: ScoreCounts | PredictionMoments
    mechanism: Any

    @property
    def releases(self) -> Sequence[tuple[Query, Mechanism]]:
        """The one, of a model of zeros."""
        return ((self.query, self.mechanism),)

    def run(self, door: ShareDoor, view: ResultView) -> Outcome:
        """Return the figures of the model."""
        plan, schema = view.plan, view.schema
        w = check_coefficients(view.solution.w, schema.w_shape, plan.entry.name)
        figures = self._figures(door, replace(self.query, w=w), schema, plan.settings.loss)
        return Outcome(Section(figures))

    def _figures(
        self, door: ShareDoor, query: ScoreCounts | PredictionMoments, schema: Schema, loss: str
    ) -> dict[str, Any]:
        deviation = door.deviation(query, self.mechanism)
        counts = door.release(query, self.mechanism).reshape(query.shape)
        many, label = query.problem.rows_per_unit or 1, schema.label
        if label.is_real:
            return figures_of_errors(counts, label.bounds, deviation, many)
        names, log_odds = tuple(map(str, label.names)), loss == "logistic"
        return figures_of_counts(counts, names, deviation, many, log_odds=log_odds)
