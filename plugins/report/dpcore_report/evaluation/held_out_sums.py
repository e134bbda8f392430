"""Sums over rows held out, of what a released model says of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from dpcore.plugin import InvalidInputError, round_parameters
from dpcore.plugin.parts import constant, sealed

if TYPE_CHECKING:
    from dpcore.plugin import Problem

__all__ = ["BITS", "HeldOutSums"]

BITS = 20
"""Sums are on a grid of 2^-20, so that noise is not rounded to whole rows."""


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class HeldOutSums(ABC):
    """Base of the sums of an evaluation; its shape, block by block answer and sensitivity are those
    of the class derived from it.

    Parameters
    ----------
    problem : public facts of the rows.
    w : float64 of shape (n_features,) or (n_classes, n_features), a released value, rounded to the
        parameters' grid.
    norm : of the sensitivity.
    """

    problem: Problem
    w: np.ndarray
    norm: Literal["l1", "l2"] = "l2"

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
