"""The excess of a hypothesis above the least objective, as one answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import Sensitivity, sealed
from dpcore_accuracy_first.objectives.loss_sum import ErrorCount, ObjectiveSum
from dpcore_accuracy_first.objectives.minimizer import MinimumObjective
from dpcore_accuracy_first.objectives.quadratic import MinimumQuadratic, QuadraticObjective

if TYPE_CHECKING:
    import numpy as np

    from dpcore.plugin import NeighboringRelation
    from dpcore.plugin.parts import NoiseSource

__all__ = ["Excess"]

_QUESTIONS = (ObjectiveSum, ErrorCount, QuadraticObjective)
_REFERENCES = (MinimumObjective, MinimumQuadratic)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class Excess:
    """``question - reference``: what moves either of them moves it, so the sensitivities add up
    (2 B / n of a mean under replace-one: the minimum moves with the rows too).

    Parameters
    ----------
    question : an ObjectiveSum, an ErrorCount or a QuadraticObjective, one number. ``reference`` : a
        MinimumObjective or a MinimumQuadratic, another on its grid. ``base`` : what they ask for.

    Raises InvalidInputError for any other class: the sum of sensitivities is one of numbers.
    """

    question: Any
    reference: Any
    base: Any

    kind: ClassVar[str] = "excess-risk"

    def __post_init__(self) -> None:
        for part, classes in ((self.question, _QUESTIONS), (self.reference, _REFERENCES)):
            if type(part) not in classes:
                known = ", ".join(each.__name__ for each in classes)
                raise InvalidInputError(f"Expected {known} and not {type(part).__name__}.")
        of_sums = type(self.reference) is MinimumQuadratic
        if self.base is not (self.reference.gram if of_sums else self.reference.minimizer):
            raise InvalidInputError("Expected the base that the reference is worked out from.")

    def derive(self, ask: Callable[[Any], np.ndarray], noise: NoiseSource) -> np.ndarray:
        base = ask(self.base)

        def known(query: Any) -> np.ndarray:
            return base.copy() if query is self.base else ask(query)

        least = self.reference.derive(known, noise)
        derived = hasattr(self.question, "derive")
        asked = self.question.derive(known, noise) if derived else ask(self.question)
        excess: np.ndarray = asked - least
        return excess

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        question = self.question.sensitivity(relation)
        reference = self.reference.sensitivity(relation)
        if question.grid_bits != reference.grid_bits:
            raise InvalidInputError(
                f"{type(self.question).__name__} and {type(self.reference).__name__} are on "
                "different grids: their steps cannot be subtracted."
            )
        bound = (question.bound + reference.bound) * (1 + 2.0**-50)
        return Sensitivity("l1", bound, relation, grid_bits=question.grid_bits)
