"""A private evaluation: counts of rows held out, released for a share of the run's own budget.

A row, or a unit, is trained on or held out by coins that do not depend on any row (by its place,
where the number of rows is public), so one of the two parts would be enough to charge for.
The sum is charged all the same: the metrics and the model are then
covered whoever held the rows out, also where the split was somebody's choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.errors import InvalidInputError
from dpcore.plugin.steps import Phase
from dpcore_report.evaluation.old_names import warn_of_old_name
from dpcore_report.evaluation.table import Metrics
from dpcore_report.evaluation.text import evaluation_in_words
from dpcore_report.step_values import checked_epsilon, checked_share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcore.plugin import Loss
    from dpcore.plugin.parts import Dataset, Model
    from dpcore.plugin.steps import PublicFacts
    from dpcore_report.evaluation.held_out_counts import HeldOutCounts

__all__ = ["Evaluation"]


@dataclass(frozen=True)
class Evaluation:
    """Metrics of the model on rows held out, released within the budget of its run. Where rows have
    weights, metrics are of weighted rows: each counts its part of the largest weight.

    Parameters
    ----------
    share : of the budget.
    epsilon : of the release by itself, within that of the run, in place of a share.
    test_fraction : of the rows, or units, to be held out by coins.
    by : a column of the schema with public categories, or truth values: the same release has the
        counts of each, and the metrics of each and the gaps between them follow, in place of AUC
        and calibration.

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
    >>> found.to_frame().set_index("figure").loc["accuracy", "value"] > 0.5
    np.True_
    """

    name: ClassVar[str] = "evaluation"
    phase: ClassVar[Phase] = Phase.RESULT
    needs: ClassVar[frozenset[str]] = frozenset({"adaptive-filter", "held-out-rows", "rows-here"})
    rows: ClassVar[str] = "held-out"
    asks: ClassVar[str] = "The counts of a private evaluation are released from the rows"
    instead: ClassVar[str] = "Leave the evaluation out"

    share: float | Fraction | None = None
    epsilon: float | None = None
    test_fraction: float | None = None
    by: str | None = None

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
    def of(cls, model: Model) -> Metrics | None:
        """Return the metrics of a model as data, in words (``lines``), and as a frame
        (``to_frame()``); ``None`` where it has none."""
        if model.evaluation is None:
            return None
        lines = evaluation_in_words(model.evaluation, private=bool(model.privacy["private"]))
        return Metrics(model.evaluation, tuple(lines))

    @staticmethod
    def exact_metrics(
        loss: Loss, model: Model, train: Dataset | None, test: Dataset
    ) -> dict[str, Any]:
        """Return metrics of rows to test on, without privacy, of rows trained on where they are at
        hand."""
        from dpcore_report.exact.diagnostics import diagnose

        return diagnose(loss, model, train, test)

    @classmethod
    def exact_figures(cls, *given: Any, **named: Any) -> dict[str, Any]:
        """Return ``exact_metrics``, with a warning: its name of before."""
        warn_of_old_name("Evaluation.exact_figures", "Evaluation.exact_metrics")
        return cls.exact_metrics(*given, **named)

    @staticmethod
    def exact_accuracy(model: Model, rows: Dataset) -> dict[str, Any]:
        """Return the accuracy on rows that are no secret, and that of a constant model."""
        from dpcore_report.exact.diagnostics import accuracy_metrics

        return accuracy_metrics(model, model.margins(rows.X), rows.y)

    @staticmethod
    def exact_score(model: Model, X: Any, y: Any, sample_weight: Any) -> float:
        """Return the accuracy on labelled rows, or the R2 of a regression."""
        from dpcore_report.exact.score import score_of

        return score_of(model, X, y, sample_weight)

    @staticmethod
    def exact_in_words(metrics: Mapping[str, Any]) -> list[str]:
        """Return the lines of ``exact_metrics``."""
        from dpcore_report.exact.text import exact_in_words

        return exact_in_words(metrics)

    def check(self, facts: PublicFacts) -> HeldOutCounts:
        """Return the release of the counts (``RunStep``)."""
        # Whoever reads a model that has metrics needs no kernel for it.
        from dpcore_report.evaluation.held_out_counts import counts_of

        held_out = facts.held_out
        assert held_out is not None
        if held_out.n_units is not None and held_out.n_units < 1:
            raise InvalidInputError("There is no private evaluation where no row is held out.")
        return counts_of(facts, self.share, self.epsilon, self.by)
