"""Fields and checks that the optimizers of this plugin share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.plugin import InvalidInputError, Slot, option
from dpcore_rsgd_ar.schedule import Facts

if TYPE_CHECKING:
    from dpcore.plugin import Problem, Solution

__all__ = ["ReleasedOnce", "UnitRows", "check_loss", "check_problem"]


@dataclass(frozen=True, kw_only=True)
class ReleasedOnce:
    """Base of optimizers that release a model of a strongly convex objective once: the budget goes
    into its noise, and the number of rows is public."""

    use: Mapping[str, str] = field(default_factory=dict)

    accountant: ClassVar[str] = "single"
    slots: ClassVar[dict[str, Slot]] = {"noise": Slot(("gaussian",), takes=("l2", "l1"))}
    relations: ClassVar[tuple[str, ...]] = ("replace-one",)
    other_relations: ClassVar[str] = (
        "The sensitivity of its theorem is over the number of rows, which add-or-remove-one keeps "
        "private: --algo objpert, dp-agd or dp-gd (algo=) do without."
    )
    needs: ClassVar[tuple[str, ...]] = (
        "convex-loss",
        "lipschitz-loss",
        "strong-convexity",
        "fixed-schedule",
    )


@dataclass(frozen=True, kw_only=True)
class UnitRows(ReleasedOnce):
    """Base of optimizers whose preset is the paper's setting: rows of norm 1 and their l2."""

    row_bound: float | None = option(
        None,
        "norm that rows are scaled down to; the model is scaled back",
        "norm of a row",
        "none: rows are as they are",
        range=(2.0**-20, 2.0**20),
    )
    l2_scaled: float | None = option(
        None,
        "l2 where --l2 is not given, for rows of norm 1",
        "l2 / row_norm^2",
        "see l2_share",
        range=(2.0**-60, 2.0**20),
    )

    def facts(self, problem: Problem) -> Facts:
        """Return the constants of the problem, its rows held to ``row_bound``."""
        return Facts.of(problem, None, self.row_bound)

    def scaled_back(self, solution: Solution, problem: Problem, facts: Facts) -> Solution:
        """Return the model of the problem's rows; trained on rows of at most ``row_bound``."""
        return replace(solution, w=solution.w * (facts.row_norm / problem.row_norm))


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
