"""The step of intervals: what it asks of a run, and what it found of a model."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.errors import InvalidInputError
from dpcore.plugin.steps import Phase, Section
from dpcore_report.intervals.text import intervals_in_words
from dpcore_report.step_values import checked_share

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from dpcore.plugin.parts import Model
    from dpcore.plugin.steps import PublicFacts
    from dpcore_report.intervals.inference import Inference

__all__ = ["Intervals"]


@dataclass(frozen=True)
class Intervals:
    """Standard errors and intervals of a model's coefficients and predictions.

    Parameters
    ----------
    share : of the budget, such as 0.4.
    anyway : whether the run is made where hardly any such fit has intervals, as far as public facts
        tell.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore import Intervals, fit
    >>> X, y = np.array([[0.0], [0.2], [0.9], [1.0]] * 250), np.array([0, 1, 0, 1] * 250)
    >>> public = {"classes": (0, 1), "bounds": (0, 1), "epsilon": 20.0}
    >>> model = fit(X, y, **public, also=[Intervals(share=0.4)])
    >>> Intervals.of(model).lines
    ('Intervals of coefficients were released: dpcore summary MODEL shows them.',)
    >>> model.privacy["intervals"]
    {'share': 0.4}
    """

    name: ClassVar[str] = "intervals"
    phase: ClassVar[Phase] = Phase.RESULT
    needs: ClassVar[frozenset[str]] = frozenset(
        {"adaptive-filter", "one-margin", "public-bounds", "unweighted"}
    )
    asks: ClassVar[str] = "The sums behind intervals are released from the rows"
    instead: ClassVar[str] = "Leave out --intervals-share (intervals_share=)"
    refusal: ClassVar[str] = (
        "There are no intervals where {reason}; leave out --intervals-share (Intervals)."
    )

    share: float | Fraction
    anyway: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "share", checked_share("intervals_share", self.share))

    @classmethod
    def of(cls, model: Model) -> Section | None:
        """Return what is known of a model's coefficients; ``None`` where that was not asked for."""
        if model.intervals is None:
            return None
        return Section(model.intervals, tuple(intervals_in_words(model.intervals)))

    @staticmethod
    def interval_margins(model: Model) -> Callable[[Any], np.ndarray]:
        """Return what returns the ends of the intervals of encoded rows' margins; InvalidInputError
        for a model without intervals."""
        from dpcore_report.intervals.estimate import required_estimate

        return partial(required_estimate(model.intervals).margins, model)

    def check(self, facts: PublicFacts) -> Inference:
        """Return the releases of the sums (``RunStep``)."""
        # Whoever reads a model that has intervals needs no kernel for it.
        from dpcore_report.intervals.forecast import LEAST, forecast_of, in_words
        from dpcore_report.intervals.inference import inference_of, why_none

        for reason, holds in why_none(facts).items():
            if holds:
                raise InvalidInputError(self.refusal.replace("{reason}", reason))
        inference = inference_of(self.share, facts)
        expected = forecast_of(inference)
        if expected is None:
            return inference
        if expected < LEAST and not self.anyway:
            raise InvalidInputError(
                f"This fit would hardly get intervals: {in_words(expected)}. Raise "
                "--intervals-share or epsilon, or use fewer columns; --intervals-anyway "
                "(Intervals(share, anyway=True)) spends the share on them all the same."
            )
        logging.getLogger("dpcore").info("dpcore: Intervals: %s.", in_words(expected))
        return inference
