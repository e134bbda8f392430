"""Bolt-on private SGD (Wu, Li, Kumar, Chaudhuri, Jha & Naughton, SIGMOD 2017)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError, Slot, check_ranges, option
from dpcore_rsgd_ar import defaults
from dpcore_rsgd_ar.closed_forms import decreasing_steps
from dpcore_rsgd_ar.options import ReleasedOnce, check_problem
from dpcore_rsgd_ar.release import Release, release_pass
from dpcore_rsgd_ar.schedule import Facts, Schedule, batches_of

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession, Problem, Solution

__all__ = ["BoltOn"]

_BATCH = 50


@dataclass(frozen=True, kw_only=True)
class BoltOn:
    """Fits a linear model by mini-batch SGD projected onto a ball, released once at the end.

    Privacy, under replace-one, with R the bound of a row's gradient: without l2, steps of a fixed
    size of at most 2 / L and the sensitivity ``2 epochs step_size R / batch_size`` (their Algorithm
    1); with l2 = mu, the t-th step ``min(1 / L, 1 / (mu t))`` and ``2 R / (mu n)`` (Algorithm 2). A
    projection brings no two points further apart. Rounding is added to both. Gaussian noise is for
    (epsilon, delta), Laplace noise for pure epsilon (``--use noise=laplace --accountant pure``).
    """

    epochs: int = option(10, "passes over the rows", "epochs", range=(1, 10**5))
    batch_size: int | None = option(
        None,
        "about how many rows a batch has",
        "rows",
        "50, or all of fewer",
        range=(1, 2**40),
    )
    step_size: float | None = option(
        None,
        "step where there is no l2",
        "norm of w over norm of a gradient",
        "of gradient flow",
        range=(2.0**-40, 2.0**40),
    )
    radius: float | None = option(
        None,
        "radius of the ball",
        "norm of w",
        "R / mu with l2, none without",
        range=(2.0**-40, 2.0**40),
    )
    use: Mapping[str, str] = field(default_factory=dict)

    name: ClassVar[str] = "bolt-on"
    accountant: ClassVar[str] = "single"
    slots: ClassVar[dict[str, Slot]] = {"noise": Slot(("gaussian", "laplace"), takes=("l2", "l1"))}
    relations: ClassVar[tuple[str, ...]] = ("replace-one",)
    other_relations: ClassVar[str] = ReleasedOnce.other_relations
    needs: ClassVar[tuple[str, ...]] = ("convex-loss", "lipschitz-loss", "fixed-schedule")
    theorem: ClassVar[str] = (
        "Wu et al. 2017, Algorithms 1 and 2; the Gaussian's curve: Balle & Wang 2018, Theorem 8"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "pure epsilon by Laplace noise on each coordinate, of an l1 sensitivity sqrt(d) times that "
        "in l2, instead of a noise whose length has a gamma distribution (about 1.4 times longer)",
        "the exact curve of the Gaussian instead of the classical bound, which needs epsilon <= 1",
        "batches differ by at most one row, of which the smallest is counted; rounding is part of "
        "the sensitivity",
    )

    def __post_init__(self) -> None:
        check_ranges(self)

    def minimize(self, problem: Problem, session: PrivacySession) -> Solution:
        n, facts = check_problem(self, problem, convex_is_enough=True), Facts.of(problem)
        rows = self.batch_size or min(_BATCH, n)
        if facts.mu > 0:
            schedule = self._strongly_convex(facts, n, rows)
        else:
            flow = defaults.flow_for(problem, session.accountant)
            schedule = self._convex(facts, n, rows, flow)
        how = Release(self, randomized=False, rule="bolt-on")
        return release_pass(problem, facts, schedule, session, how)

    def _strongly_convex(self, facts: Facts, n: int, rows: int) -> Schedule:
        """Return the schedule with l2: Algorithm 2's steps in the ball of its minimiser."""
        if self.step_size is not None:
            raise InvalidInputError("With l2 > 0 bolt-on sets its steps itself; drop step_size.")
        steps = decreasing_steps(facts, self.epochs, batches_of(n, rows))
        return Schedule(n, rows, steps, radius=self.radius or facts.gradient / facts.mu)

    def _convex(self, facts: Facts, n: int, rows: int, flow: float) -> Schedule:
        """Return the schedule without l2: steps of one size, until the time of the run is up."""
        time = flow / (facts.smoothness * facts.row_norm**2)
        largest = 2 / facts.curvature
        step = self.step_size or min(largest / 2, time / (self.epochs * batches_of(n, rows)))
        steps = np.full((self.epochs, 1), step)
        return Schedule(n, rows, steps, radius=self.radius or math.inf)
