"""Sums over rows held out, of what a released model says of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from dpcore.plugin import InvalidInputError, round_parameters
from dpcore.plugin.parts import Table, constant, sealed

if TYPE_CHECKING:
    from dpcore.plugin import Problem
    from dpcore.plugin.parts import Block

__all__ = ["BITS", "HeldOutSums"]

BITS = 20
"""Sums are on a grid of 2^-20, so that noise is not rounded to whole rows."""


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class HeldOutSums(ABC):
    """Base of the sums of an evaluation; its shape, block by block answer and sensitivity are those
    of the class derived from it.

    Where rows have weights, a row counts its part of the largest one, from 0 to 1 and truncated to
    2^-20, in the place of 1. So whatever bounds what a row of the count 1 moves bounds what a row
    moves: a weight is a cell of the row, and in no other row's count.

    Parameters
    ----------
    problem : public facts of the rows.
    w : float64 of shape (n_features,) or (n_classes, n_features), a released value, rounded to the
        parameters' grid.
    norm : of the sensitivity.
    largest_weight : the public bound of the weights of rows; ``None`` where they have none.
    """

    problem: Problem
    w: np.ndarray
    norm: Literal["l1", "l2"] = "l2"
    largest_weight: float | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "evaluation"
    thread_safe: ClassVar[bool] = True
    of_classes: ClassVar[bool] = False
    """Whether ``w`` may have a row for each class."""

    def __post_init__(self) -> None:
        *classes, length = np.shape(self.w)
        if length != self.problem.n_features or len(classes) > self.of_classes:
            raise InvalidInputError(f"Expected w of {self.problem.n_features} features.")
        rounded = round_parameters(self.w, self.problem.raw_norm_bound)
        object.__setattr__(self, "w", constant(rounded))

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of the sums; the answer is flat."""

    def start(self) -> np.ndarray:
        return np.zeros(math.prod(self.shape), dtype=np.int64)

    def _labels(self, block: Block) -> np.ndarray:
        """Return the labels of rows whose weights are counted; pairs of both, with which nothing
        can be computed, where nobody asked for weights."""
        return block.y if self.largest_weight is None else Table.plain_labels(block.y)

    def _counts(self, block: Block) -> np.ndarray:
        """Return what each row counts, int64 in steps of 2^-20."""
        if self.largest_weight is None:
            return np.full(block.y.size, 1 << BITS)
        parts = np.fmax(np.fmin(block.y["weight"] / self.largest_weight, 1.0), 0.0)
        return np.ldexp(parts, BITS).astype(np.int64)

    @staticmethod
    def _in_cells(cells: np.ndarray, counts: np.ndarray, length: int) -> np.ndarray:
        """Return the sum of the counts of the rows of each cell, int64: sums of whole numbers in
        float64 are exact, with fewer than 2^33 rows in a block."""
        return np.bincount(cells, counts, minlength=length).astype(np.int64)
