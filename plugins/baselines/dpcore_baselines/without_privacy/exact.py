"""Exact answers, for the baselines that are not private: two questions and no noise."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import (
    LossFacts,
    NonPrivateDpEvent,
    Sensitivity,
    sealed,
)
from dpcore_baselines.without_privacy.references import fit_nonprivate, majority_label

if TYPE_CHECKING:
    from dpcore.plugin import NeighboringRelation, Problem
    from dpcore.plugin.parts import NoiseSource, Table

__all__ = ["Exact", "ExactFit", "MajorityModel"]

_BITS = 32


@sealed
@dataclass(frozen=True, slots=True)
class Exact:
    """Gives the exact answer away. NOT PRIVATE: only the accountant ``none`` holds its event.

    It is not registered, so that no slot can be filled with it.
    """

    name: ClassVar[str] = "exact"
    needs: ClassVar[str] = "none"
    noise_multiplier: ClassVar[float] = 0.0

    def event(self, sensitivity: Sensitivity) -> NonPrivateDpEvent:
        return NonPrivateDpEvent()

    def release(
        self, exact: np.ndarray, sensitivity: Sensitivity, noise: NoiseSource
    ) -> np.ndarray:
        return np.ldexp(exact.astype(np.float64), -sensitivity.grid_bits)


@sealed
class _Question:
    """Its sensitivity is the largest number there is: nothing is claimed of it, and no noise can
    be scaled to it."""

    __slots__ = ()

    kind: ClassVar[str] = "exact answer"

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        return Sensitivity("linf", sys.float_info.max, relation, grid_bits=_BITS)


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class ExactFit(_Question):
    """The minimiser of the mean loss plus ``l2 / 2 ||w||^2``, in steps of 2^-32."""

    problem: Problem

    def answer_table(self, table: Table, noise: NoiseSource) -> np.ndarray:
        problem = self.problem
        w, _ = fit_nonprivate(table, problem.loss, problem.l2, problem.w_shape)
        largest = 2.0 ** (62 - _BITS)
        steps: np.ndarray = np.rint(np.ldexp(np.clip(w, -largest, largest), _BITS)).astype(np.int64)
        return steps


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class MajorityModel(_Question):
    """The commonest label of the rows, on the last column, and 0 elsewhere: with an intercept there
    every row is given that label. Where rows have none, the first is the only label that every row
    can be given by a linear rule, w = 0."""

    problem: Problem

    def __post_init__(self) -> None:
        loss = self.problem.loss
        if not loss.classification:
            raise InvalidInputError(f"majority needs classes, and {loss.name} has none")
        if LossFacts.of(loss).largest_weight != 1.0:
            raise InvalidInputError("majority counts rows: it takes no weights of classes.")

    def answer_table(self, table: Table, noise: NoiseSource) -> np.ndarray:
        w, last = np.zeros(self.problem.w_shape), np.zeros(table.n_features)
        last[-1] = 1.0
        if all((block.margins(last) > 0).all() for block in table.blocks):
            label = majority_label(table)
            if w.ndim == 1:
                w = last * label
            else:
                w[int(label)] = last
        return np.ldexp(w, _BITS).astype(np.int64)
