"""The step of a calibration: log odds are brought to how rows came true, by released counts.

Of two classes, z becomes a + b z; of several by softmax, each margin z_k becomes a_k + b z_k, which
is one temperature and an intercept per class.

The rows counted are those that the model was trained on: every release is charged to the one filter
of the run, which bounds releases that are chosen from earlier ones. What training on them flatters
is little where a run is private: ``bench/probabilities.py`` has the slope of the labels on log odds
of rows trained on beside that of test rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.errors import InvalidInputError
from dpcore.plugin.steps import Phase, Section
from dpcore_report.step_values import checked_share

if TYPE_CHECKING:
    from dpcore.plugin.parts import Model
    from dpcore.plugin.steps import PublicFacts

__all__ = ["Calibration"]

_USUAL, _MOST_CLASSES = 0.03, 50
_OF_LOG_ODDS = ("logistic", "softmax")


@dataclass(frozen=True)
class Calibration:
    """Calibrated log odds by noisy counts: z becomes a + b z, or a_k + b z_k of several classes.

    The model's coefficients are those of the calibrated log odds, so that whatever reads the model
    has them, and an evaluation and intervals beside it are of them. A weighted row counts its
    weight over the largest one, which is public: log odds are then those of the weighted rows.

    Parameters
    ----------
    share : of the budget; ``None`` for 0.03.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore import Calibration, fit
    >>> X, y = np.array([[0.0], [0.2], [0.9], [1.0]] * 250), np.array([0, 1, 0, 1] * 250)
    >>> public = {"classes": (0, 1), "bounds": (0, 1), "epsilon": 20.0}
    >>> model = fit(X, y, **public, also=[Calibration(share=0.05)])
    >>> model.privacy["steps"]
    {'calibration': {'share': 0.05}}
    >>> sorted(Calibration.of(model).data)
    ['added', 'deviation', 'share', 'slope']
    """

    name: ClassVar[str] = "calibration"
    phase: ClassVar[Phase] = Phase.RESULT
    needs: ClassVar[frozenset[str]] = frozenset({"adaptive-filter"})
    asks: ClassVar[str] = "Counts of rows by class and log odds are released from the rows"
    instead: ClassVar[str] = "Leave out --calibrate-share (Calibration)"
    refusal: ClassVar[str] = (
        "There is no calibration where {reason}; leave out --calibrate-share (Calibration)."
    )

    share: float | Fraction | None = None

    def __post_init__(self) -> None:
        share = _USUAL if self.share is None else self.share
        object.__setattr__(self, "share", checked_share("calibrate_share", share))

    @classmethod
    def of(cls, model: Model) -> Section | None:
        """Return the line by which a model's log odds were calibrated; ``None`` where that was not
        asked for."""
        return Section.of(model, cls.name)

    def check(self, facts: PublicFacts) -> Any:
        """Return the release of the counts (``RunStep``)."""
        # Whoever reads a model that was calibrated needs no kernel for it.
        from dpcore_report.calibration.counted import counts_of

        problem, name = facts.problem, facts.plan.settings.loss
        for reason, holds in {
            "each class has a fit of its own, whose probabilities are divided by their sum, which "
            "no line of log odds mends: softmax has one fit of all": facts.ready.fits > 1,
            f"the loss {name} has no log odds": problem.loss.name not in _OF_LOG_ODDS,
            "the model has no intercept": not problem.intercept,
            f"there are more than {_MOST_CLASSES} classes": problem.n_margins > _MOST_CLASSES,
        }.items():
            if holds:
                raise InvalidInputError(self.refusal.replace("{reason}", reason))
        return counts_of(self.share or _USUAL, facts)
