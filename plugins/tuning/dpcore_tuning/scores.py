"""The score of models on rows held out: the sum of their losses there, each in [0, 1]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.plugin import round_parameters
from dpcore.plugin.parts import Sensitivity, Table, clipped_total, constant, sealed

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

    Where rows have weights, l is the row's part of the largest weight times its error, or its
    weighted loss over the largest weight, clipped to 1: still in [0, 1], whatever a row's weight
    is, so that no bound above changes. Weights are the row's own cells.

    Parameters
    ----------
    problem : public facts; its loss runs on raw rows where ``measure`` is ``loss``.
    models : float64 of one shape each, (n_features,) or (n_classes, n_features), released values,
        which are rounded to the parameters' grid.
    measure : ``error``: 1 for a row whose class the model does not say, as ``ErrorCount`` counts
        it; ``loss``: the row's loss, clipped to 1 and truncated to 2^-20.
    norm : ``l1`` or ``l2`` for one model, whose sum gets noise; ``linf`` for a choice.
    largest_weight : the public bound of the weights of rows; ``None`` where they have none. The
        problem's loss is then of such rows.
    """

    problem: Problem
    models: tuple[np.ndarray, ...]
    measure: Literal["error", "loss"]
    norm: Literal["l1", "l2", "linf"]
    largest_weight: float | None = None

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
        margins, largest = np.ascontiguousarray(block.margins(w)), self.largest_weight
        if self.measure == "loss":
            values = np.empty(margins.shape[-1])
            self.problem.loss.value(margins, block.y, values)
            values /= 1.0 if largest is None else largest
            return int(clipped_total(values, 1.0, 2.0**_BITS))
        y = block.y if largest is None else Table.plain_labels(block.y)
        several = margins.ndim > 1
        wrong = margins.argmax(axis=0) != y if several else (margins > 0) != (y > 0)
        if largest is None:
            return int(np.count_nonzero(wrong)) << _BITS
        shares = np.where(wrong, block.y["weight"] / largest, 0.0)
        return int(clipped_total(shares, 1.0, 2.0**_BITS))

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        return Sensitivity(self.norm, 1.0, relation, _BITS, float(relation.rows_changed))
