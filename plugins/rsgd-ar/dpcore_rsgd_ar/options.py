"""Fields and checks that the optimizers of this plugin share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.plugin import InvalidInputError, Slot

if TYPE_CHECKING:
    from dpcore.plugin import Problem

__all__ = ["ReleasedOnce", "check_loss", "check_problem"]


@dataclass(frozen=True, kw_only=True)
class ReleasedOnce:
    """Base of optimizers that release a model of a strongly convex objective once: the budget goes
    into its noise, and the number of rows is public."""

    use: Mapping[str, str] = field(default_factory=dict)

    accountant: ClassVar[str] = "single"
    slots: ClassVar[dict[str, Slot]] = {"noise": Slot(("gaussian",), takes=("l2", "l1"))}
    relations: ClassVar[tuple[str, ...]] = ("replace-one",)
    needs: ClassVar[tuple[str, ...]] = (
        "convex-loss",
        "lipschitz-loss",
        "strong-convexity",
        "fixed-schedule",
    )


def check_loss(optimizer: Any, problem: Problem) -> None:
    """Raise InvalidInputError for a loss without bounded slope and curvature."""
    loss = problem.loss
    if not (math.isfinite(loss.smoothness) and math.isfinite(loss.lipschitz)):
        raise InvalidInputError(
            f"{optimizer.name} needs a smooth loss of bounded slope, and {loss.name} is none; use "
            "logistic or huber-svm, or dp-agd."
        )


def check_problem(optimizer: Any, problem: Problem, convex_is_enough: bool = False) -> int:
    """Return the number of rows; InvalidInputError for a problem that the theorems do not cover."""
    check_loss(optimizer, problem)
    if not (problem.l2 > 0 or convex_is_enough):
        raise InvalidInputError(
            f"{optimizer.name} needs strong convexity; pass --l2 (l2=) greater than 0."
        )
    if problem.n is None:
        raise InvalidInputError(f"{optimizer.name} needs a public number of rows (replace-one).")
    return problem.n
