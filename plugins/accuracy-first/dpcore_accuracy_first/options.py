"""Options of all algorithms: the target, its guarantee, and how a failure ends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from dpcore.errors import TargetNotMetError
from dpcore.plugin import InvalidInputError, Slot, Solution, noise_multiplier, option
from dpcore.plugin.parts import ExPostDpEvent, optimizer_facts
from dpcore_accuracy_first.paper import PUBLISHED_L2

if TYPE_CHECKING:
    import numpy as np

    from dpcore.plugin import Accountant, Problem

__all__ = [
    "ExcessRiskOptions",
    "PublishedOptions",
    "SearchOptions",
    "TargetOptions",
    "kind_of",
    "positive",
    "pure_cap",
]

_OF_A_PAIR = 128.0
"""Bytes of a pair of columns (``bench/memory.py``)."""


@dataclass(frozen=True, kw_only=True)
class ExcessRiskOptions:
    """The target that every algorithm here can be given."""

    target_excess_risk: float | None = option(
        None, "largest mean objective above the exact minimum", "loss", "one target has to be given"
    )
    ball: Literal["pull", "paper"] = option(
        "pull",
        "public ball of all hypotheses: the least one known to hold the minimiser, or the paper's",
    )
    l2_scaled: float = option(
        0.001, "l2 where --l2 is not given, for rows of norm 1", "l2 / row_norm^2"
    )

    slots: ClassVar[dict[str, Slot]] = {}
    relations: ClassVar[tuple[str, ...]] = ("replace-one", "add-or-remove-one")
    needs: ClassVar[tuple[str, ...]] = ("convex-loss", "strong-convexity", "public-size")
    targets: ClassVar[tuple[str, ...]] = ("target_excess_risk",)
    """Options that the command line passes on by their own names; epsilon is an output."""
    accountant: ClassVar[str] = "pure"
    checked_with: ClassVar[dict[str, Any]] = {"target_excess_risk": 1e5}
    """Options that the checks of dpcore_lab.checks run it with: a target for a few rows."""

    def __post_init__(self) -> None:
        positive("target-excess-risk", self.target_excess_risk)
        positive("l2-scaled", self.l2_scaled)

    def default_l2(self, problem: Problem, accountant: Accountant) -> float:
        """Return the l2 of a run that was given none: a thousandth for rows of norm 1. (On adult,
        bank and kddcup99-10-numeric ten times more missed accuracies that this reaches.)"""
        scaled = PUBLISHED_L2 if optimizer_facts(self).as_published else self.l2_scaled
        return scaled * problem.row_norm**2

    def memory(self, problem: Problem) -> float:
        """Return the bytes of the products of all pairs of columns, with copies, where they are
        released."""
        return _OF_A_PAIR * problem.n_features**2 if "squared-loss" in self.needs else 0.0


@dataclass(frozen=True, kw_only=True)
class PublishedOptions:
    """The authors' code in place of an algorithm."""

    as_published: bool = option(False, "behave as the authors' code: not private")

    published_is: ClassVar[str] = (
        "which tests as if the minimum did not move with the rows: half of what an excess risk "
        "moves by"
    )


def positive(name: str, value: float | None) -> None:
    """Raise InvalidInputError unless ``value`` is ``None`` or a finite number > 0."""
    if value is not None and not (math.isfinite(value) and value > 0):
        raise InvalidInputError(f"Expected {name}={value!r} to be finite and > 0.")


@dataclass(frozen=True, kw_only=True)
class TargetOptions(ExcessRiskOptions):
    """A target among three, tested on the training rows without being met for certain.

    ``alpha`` below is the excess risk, or the slack of the other two targets.
    """

    target_accuracy: float | None = option(
        None, "share of the training rows to be classified right", "1", "one target has to be given"
    )
    target_risk: float | None = option(
        None, "largest mean objective", "loss", "one target has to be given"
    )
    slack: float | None = option(
        None,
        "how far beside target-accuracy or target-risk a model may be",
        "the target's unit",
        "needed with these two",
    )
    failure_probability: float = option(
        0.1, "chance that a model beside the target is returned, or a level that meets it missed"
    )
    beta: float = option(
        0.25, "a last level within this share of alpha of the target is found to meet it", "alpha"
    )
    release_last: bool = option(
        False, "where no level met the target, return the last one at its cost"
    )

    targets: ClassVar[tuple[str, ...]] = (
        "target_accuracy",
        "target_excess_risk",
        "target_risk",
        "slack",
        "failure_probability",
        "release_last",
    )
    checked_with: ClassVar[dict[str, Any]] = {"target_excess_risk": 1e5, "release_last": True}

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("target-risk", self.target_risk)
        positive("slack", self.slack)
        if self.target_accuracy is not None and not 0 < self.target_accuracy <= 1:
            raise InvalidInputError(f"Expected 0 < target-accuracy={self.target_accuracy!r} <= 1.")
        if self.target_accuracy is not None and self.slack is not None and self.slack >= 1:
            raise InvalidInputError(f"Expected slack={self.slack!r} < 1, a share of the rows.")
        if self.target_accuracy is not None and (self.slack or 0.0) >= self.target_accuracy:
            raise InvalidInputError(
                f"Expected slack={self.slack!r} below target-accuracy={self.target_accuracy!r}: "
                "any model has an accuracy of 0 or more."
            )
        if not 1e-6 <= self.failure_probability < 0.5:
            raise InvalidInputError(
                f"Expected 1e-6 <= failure-probability={self.failure_probability!r} < 0.5."
            )
        if not 0 <= self.beta < 1:
            raise InvalidInputError(f"Expected 0 <= beta={self.beta!r} < 1.")
        if self.target_excess_risk is not None and self.slack is not None:
            raise InvalidInputError(
                "Expected target-excess-risk without slack: it is a distance from the minimum."
            )

    @property
    def _excess_of_minimiser(self) -> float | None:
        """The excess risk asked for, where noise is on the minimiser; ``None`` for others."""
        return None if "squared-loss" in self.needs else self.target_excess_risk

    def missed(self, w: np.ndarray, details: dict[str, Any]) -> Solution:
        """Return the last hypothesis, if that was asked for; TargetNotMetError otherwise."""
        text = f"The target was NOT met at any of {details['levels_tested']} levels"
        details = {**details, "target_met": False}
        if not self.release_last:
            raise TargetNotMetError(
                f"{text}: no model. Ask for less, allow more slack, or raise --epsilon-max; "
                "--release-last gives the last level's model all the same.",
                details,
            )
        details["warning"] = "the target was not met; this is the last level's model."
        return Solution(w, f"{text}; the last one is returned, as asked.", details)


def kind_of(options: TargetOptions) -> str:
    """Return the one target that was given: accuracy, excess-risk or risk.

    Raises InvalidInputError for none, for two, or for a slack that is missing.
    """
    given = {
        "accuracy": options.target_accuracy,
        "excess-risk": options.target_excess_risk,
        "risk": options.target_risk,
    }
    chosen = [name for name, value in given.items() if value is not None]
    if len(chosen) != 1:
        which = " and ".join(f"--target-{name}" for name in chosen) or "none"
        raise InvalidInputError(
            "Expected one of --target-accuracy, --target-excess-risk and --target-risk, not "
            f"{which}."
        )
    if chosen != ["excess-risk"] and options.slack is None:
        raise InvalidInputError(
            f"Expected --slack with --target-{chosen[0]}: how far beside it a model may be. A "
            "target without slack cannot be tested privately."
        )
    return chosen[0]


@dataclass(frozen=True, kw_only=True)
class SearchOptions(TargetOptions, PublishedOptions):
    """A search that the paper has constants for."""

    threshold: Literal["exact", "paper"] = option(
        "exact", "constants of the tests: for what is promised, or the paper's"
    )
    grid: Literal["worst-case", "paper"] = option(
        "worst-case",
        "levels from public facts up to what the worst case leaves, or the paper's: from 1/n to "
        "four times the epsilon of the utility theorem, those of them that the worst case leaves",
    )

    def _kind(self) -> str:
        """Return the one target that was given; InvalidInputError where the paper's levels do not
        follow from it."""
        kind = kind_of(self)
        if kind != "excess-risk" and self.grid == "paper":
            raise InvalidInputError(
                "Expected --target-excess-risk: the paper's levels follow from a utility theorem, "
                "which is about that."
            )
        return kind


def pure_cap(accountant: Accountant) -> float:
    """Return the largest epsilon of an epsilon-DP release that the filter still takes."""
    return 1 / noise_multiplier(accountant, lambda m: ExPostDpEvent(1 / m), accountant.remaining)
