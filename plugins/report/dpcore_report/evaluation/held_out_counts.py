"""The release of a private evaluation: its query, its noise, and the metrics that follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpcore.errors import BudgetExceededError, InvalidInputError
from dpcore.plugin.parts import LossFacts, Model, exact, float_up, smallest_multiplier
from dpcore.plugin.steps import Outcome, Section, StepSession, mechanism_for
from dpcore_report.evaluation.class_counts import ClassCounts, scale_bits
from dpcore_report.evaluation.error_metrics import metrics_of_errors
from dpcore_report.evaluation.group_counts import GroupCounts, GroupMoments
from dpcore_report.evaluation.group_metrics import metrics_by_groups, moments_by_groups
from dpcore_report.evaluation.groups import groups_of
from dpcore_report.evaluation.metrics import metrics_of_classes, metrics_of_counts
from dpcore_report.evaluation.prediction_moments import PredictionMoments
from dpcore_report.evaluation.score_counts import ScoreCounts

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore.plugin import Accountant
    from dpcore.plugin.parts import Mechanism, Query
    from dpcore.plugin.steps import PublicFacts, ResultView

__all__ = ["HeldOutCounts", "counts_of", "mechanism_of_epsilon"]

_MUCH_NOISE = 2.0**60
Sums: TypeAlias = ScoreCounts | ClassCounts | PredictionMoments | GroupCounts | GroupMoments


def counts_of(
    facts: PublicFacts,
    share: float | Fraction | None,
    epsilon: float | None,
    by: str | None = None,
) -> HeldOutCounts:
    """Return the release of counts for a share of the budget, or for an epsilon of its own.
    ``by`` : a column, for whose public groups they are released each."""
    mechanism, cost, stated = _mechanism(facts.accountant, share, epsilon)
    asked = facts.held_out_problem, np.zeros(facts.schema.w_shape), mechanism.needs
    largest: dict[str, Any] = {"largest_weight": facts.plan.settings.weight_bound}
    is_real = facts.schema.label.is_real
    query: Sums
    if by is not None:
        groups = groups_of(facts.schema, by)
        query = (GroupMoments if is_real else GroupCounts)(*asked, groups=groups, **largest)
    elif len(facts.schema.w_shape) > 1:
        query = ClassCounts(*asked, **largest)
    else:
        query = (PredictionMoments if is_real else ScoreCounts)(*asked, **largest)
    return HeldOutCounts(cost, stated, query, mechanism)


def _mechanism(
    accountant: Accountant, share: float | Fraction | None, epsilon: float | None
) -> tuple[Any, Fraction, dict[str, float]]:
    """Return the mechanism for the share or the epsilon that was asked for, the share, and what is
    stated: the share, rounded up, and, where it was asked for, that epsilon."""
    if epsilon is None:
        part = StepSession.exact_share(share, "Evaluation")
        return mechanism_for(accountant, part), part, {"share": float(part)}
    mechanism = mechanism_of_epsilon(accountant, epsilon)
    cost = accountant.cost(mechanism.nominal_event(mechanism.noise_multiplier))
    own = float_up(cost / Fraction(accountant.budget))
    return mechanism, Fraction(own), {"share": own, "epsilon": epsilon}


def mechanism_of_epsilon(accountant: Accountant, epsilon: float) -> Any:
    """Return the mechanism with the least noise of a release of counts that is, by itself,
    (epsilon, delta)-DP, with the delta of the whole budget. What the filter says of it as its only
    release, rounded up, is at most epsilon.

    ``accountant`` : empty. Raises InvalidInputError where this is no part of its budget.
    """
    if epsilon >= accountant.epsilon:
        raise InvalidInputError(
            f"Expected evaluate_epsilon={exact(epsilon)} < {exact(accountant.epsilon)}, the "
            "epsilon of the run: the evaluation is a part of it."
        )
    noise = type(mechanism_for(accountant, 1))

    def holds(m: float) -> bool:
        try:
            charged = accountant.compose(noise.nominal_event(m))
        except BudgetExceededError:
            return False
        return charged.get_epsilon(accountant.delta) <= epsilon

    if not holds(_MUCH_NOISE):
        raise InvalidInputError(
            f"The {accountant.name} accountant states more than evaluate_epsilon={exact(epsilon)} "
            "of every release. Give --evaluate-share (evaluate_share=), or another accountant."
        )
    return noise(smallest_multiplier(holds))


@dataclass(frozen=True, eq=False)
class HeldOutCounts:
    """One release of counts of rows held out, and the metrics that follow (``Request``).

    Parameters
    ----------
    stated : of it in the privacy statement: the share of the budget, and epsilon, where asked for.
    query : of a model of zeros, in whose place the fitted one is put.
    mechanism : costs the share of the whole budget, at most.
    """

    share: Fraction
    stated: dict[str, float]
    query: Sums
    mechanism: Any

    @property
    def releases(self) -> Sequence[tuple[Query, Mechanism]]:
        """The one, of a model of zeros."""
        return ((self.query, self.mechanism),)

    def run(self, session: StepSession, view: ResultView) -> Outcome:
        """Return the metrics of the model."""
        plan, schema = view.plan, view.schema
        w = Model.check_coefficients(view.solution.w, schema.w_shape, plan.entry.name)
        loss = LossFacts.of(view.problem.loss)
        is_weighted = loss.weighs_rows or loss.largest_weight != 1.0
        query = replace(self.query, w=w)
        metrics = self._metrics(session, query, schema, plan.settings.loss, is_weighted)
        if query.largest_weight is not None:
            metrics["largest_weight"] = query.largest_weight
        return Outcome(Section(metrics))

    def _metrics(
        self,
        session: StepSession,
        query: Sums,
        schema: Schema,
        loss: str,
        weighted: bool,
    ) -> dict[str, Any]:
        deviation = session.deviation(query, self.mechanism)
        counts = session.release(query, self.mechanism).reshape(query.shape)
        many, label = query.problem.rows_per_unit or 1, schema.label
        if isinstance(query, GroupMoments):
            return moments_by_groups(counts, query.groups, label.bounds, deviation, many)
        if label.is_real:
            return metrics_of_errors(counts, label.bounds, deviation, many)
        names, log_odds = tuple(map(str, label.names)), loss == "logistic"
        if isinstance(query, GroupCounts):
            asked = deviation, many
            return metrics_by_groups(counts, query.groups, names, asked, weighted=weighted)
        if len(names) > 2:
            bits = scale_bits(len(names), query.norm)
            return metrics_of_classes(counts, names, deviation, many, bits, weighted=weighted)
        told = {"log_odds": log_odds, "weighted": weighted}
        return metrics_of_counts(counts, names, deviation, many, **told)
