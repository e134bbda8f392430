"""A sampled question that gains nothing from being sampled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcore.plugin.parts import sealed

if TYPE_CHECKING:
    import numpy as np

    from dpcore.plugin import Loss, NeighboringRelation
    from dpcore.plugin.parts import Sensitivity

__all__ = ["Unamplified"]


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class Unamplified:
    """A sampled question that is charged as if every record were in the sample."""

    _sampled: Any

    @property
    def kind(self) -> str:
        return self._sampled.kind

    @property
    def loss(self) -> Loss:
        return self._sampled.query.loss

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        return self._sampled.sensitivity(relation)

    def answer_table(self, table: Any, noise: Any) -> np.ndarray:
        return self._sampled.answer_table(table, noise)
