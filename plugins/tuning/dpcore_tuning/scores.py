"""The score of models on rows held out: the sum of their losses there, each in [0, 1]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.plugin import round_parameters
from dpcore.plugin.parts import Sensitivity, clipped_total, constant, sealed

if TYPE_CHECKING:
    from dpcore.plugin import NeighboringRelation, Problem
    from dpcore.plugin.parts import Block

__all__ = ["MEASURES", "HeldOutLosses"]

MEASURES = ("error", "loss")
_BITS = 20


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class HeldOutLosses:
    """``-sum_i l(x_i.w, y_i)`` for each of several models, l in [0, 1]: the larger, the better.

    A row contributes a number from -1 to 0 to each model's sum. Under add-or-remove-one all sums
    move the same way, by at most 1 each, so that the range of the change is at most 1. Under
    replace-one a sum moves by the difference of two such numbers, at most 1 either way: one sum has
    a bound of 1, and the range of the change of several is at most 2.

    Parameters
    ----------
    problem : public facts; its loss runs on raw rows where ``measure`` is ``loss``.
    models : float64 of one shape each, (n_features,) or (n_classes, n_features), released values,
        which are rounded to the parameters' grid.
    measure : ``error``: 1 for a row whose class the model does not say, as ``ErrorCount`` counts
        it; ``loss``: the row's loss, clipped to 1 and truncated to 2^-20.
    norm : ``l1`` or ``l2`` for one model, whose sum gets noise; ``linf`` for a choice.
    """

    problem: Problem
    models: tuple[np.ndarray, ...]
    measure: Literal["error", "loss"]
    norm: Literal["l1", "l2", "linf"]

    kind: ClassVar[str] = "score"
    thread_safe: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.measure not in MEASURES:
            raise InvalidInputError(f"Expected measure={self.measure!r} to be error or loss.")
        if not self.models or (len(self.models) > 1 and self.norm != "linf"):
            raise InvalidInputError("Expected one model, or several in the norm linf.")
        bound = self.problem.raw_norm_bound
        rounded = tuple(constant(round_parameters(w, bound)) for w in self.models)
        object.__setattr__(self, "models", rounded)

    def start(self) -> np.ndarray:
        return np.zeros(len(self.models), dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        return np.array([-self._total(block, w) for w in self.models], dtype=np.int64)

    def _total(self, block: Block, w: np.ndarray) -> int:
        margins = np.ascontiguousarray(block.margins(w))
        if self.measure == "loss":
            values = np.empty(margins.shape[-1])
            self.problem.loss.value(margins, block.y, values)
            return int(clipped_total(values, 1.0, 2.0**_BITS))
        if margins.ndim > 1:
            wrong = np.count_nonzero(margins.argmax(axis=0) != block.y)
        else:
            wrong = np.count_nonzero((margins > 0) != (block.y > 0))
        return int(wrong) << _BITS

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        return Sensitivity(self.norm, 1.0, relation, _BITS, float(relation.rows_changed))
