"""The schedule of a pass of SGD, as public data: batches, step sizes, averages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import LossFacts, constant, sealed

if TYPE_CHECKING:
    from dpcore.plugin import Problem

__all__ = ["Facts", "Schedule", "batches_of"]


@sealed
@dataclass(frozen=True, slots=True)
class Facts:
    """The constants of ``f(w, x, y) = loss(x.w, y) + (mu / 2) ||w||^2`` that the proofs use.

    Parameters
    ----------
    mu : strong convexity. Where rows are scaled down, the problem's l2 by the square of that scale:
        a model scaled back to the problem's rows then has the problem's objective.
    row_norm : bound that the rows are scaled down to.
    lipschitz, smoothness : bounds of the first two derivatives of the loss in the margin.
        The slope is held to the first: a loss with a bounded slope is as convex and as smooth.
    n_features : width of ``w``.
    largest_weight : the loss's own, which the error of its slopes grows with.
    """

    mu: float
    row_norm: float
    lipschitz: float
    smoothness: float
    n_features: int
    largest_weight: float = 1.0

    @classmethod
    def of(
        cls, problem: Problem, clip: float | None = None, row_bound: float | None = None
    ) -> Facts:
        """Return the facts of a problem whose slopes are held to ``clip`` and rows to
        ``row_bound``, where these are smaller than what the problem allows.

        Raises InvalidInputError for a loss that is not convex, or without bounded slope and
        curvature: no step on it is a contraction.
        """
        loss = LossFacts.of(problem.loss)
        if not (loss.convex and math.isfinite(loss.smoothness) and math.isfinite(loss.lipschitz)):
            raise InvalidInputError(
                f"A pass of SGD needs a convex loss of bounded slope and curvature, and {loss.name}"
                " is none; use logistic or huber-svm."
            )
        for name, held in (("clip", clip), ("row_bound", row_bound)):
            if held is not None and not 0 < held < math.inf:
                raise InvalidInputError(f"Expected {name}={held!r} to be finite and > 0.")
        norm = min(problem.row_norm, row_bound or problem.row_norm)
        return cls(
            mu=problem.l2 * (norm / problem.row_norm) ** 2,
            row_norm=norm,
            lipschitz=min(loss.lipschitz, clip or loss.lipschitz),
            smoothness=loss.smoothness,
            n_features=problem.n_features,
            largest_weight=max(1.0, loss.largest_weight),
        )

    @property
    def gradient(self) -> float:
        """R, rounded up: bound of the gradient of a row's loss. The regulariser's part cancels
        between neighbours, since it is the same for every row at the same ``w``."""
        return math.nextafter(self.lipschitz * self.row_norm, math.inf)

    @property
    def curvature(self) -> float:
        """L, rounded up: smoothness of ``f``, the regulariser included."""
        bends = math.nextafter(self.smoothness * self.row_norm, math.inf) * self.row_norm
        return math.nextafter(math.nextafter(bends, math.inf) + self.mu, math.inf)


def batches_of(n: int, batch_size: int) -> int:
    """Return how many batches of about ``batch_size`` of ``n`` rows there are: the quotient rounded
    to nearest, 1 at least."""
    return max(1, (2 * n + batch_size) // (2 * batch_size))


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Batches in cyclic order, a step for each, and when the iterates are averaged.

    Parameters
    ----------
    n : number of rows, public under replace-one.
    batch_size : about how many rows a batch has: see ``batches_of``. Batches differ by at most one
        row, since what a row moves is divided by the size of its batch: with a last batch of what
        is left, that batch alone would set the sensitivity.
    step_sizes : float64 of shape (epochs, n_batches) or (epochs, 1), > 0.
    average_every : epochs after which the iterates since the last average are replaced by their
        mean; 0 for never.
    radius : iterates are projected onto the ball of this radius; ``inf`` for no ball.
    order : ``"permutation"`` of the rows, which are copied, or ``"offset"``: as they are stored,
        begun at a random place.

    Raises InvalidInputError for a batch larger than the table, averages that do not come out even,
    or numbers that are none.
    """

    n: int
    batch_size: int
    step_sizes: np.ndarray
    average_every: int = 0
    radius: float = math.inf
    order: str = "permutation"

    def __post_init__(self) -> None:
        if not 1 <= self.batch_size <= self.n:
            raise InvalidInputError(
                f"Expected batch_size={self.batch_size} between 1 and the {self.n} rows."
            )
        if self.order not in ("permutation", "offset"):
            raise InvalidInputError(f"Expected order={self.order!r}: permutation or offset.")
        if self.average_every < 0 or not self.radius > 0:
            raise InvalidInputError(
                f"Expected tau={self.average_every} of at least 0 and radius={self.radius} > 0."
            )
        if self.average_every and self.epochs % self.average_every:
            raise InvalidInputError(
                f"Expected tau={self.average_every} to divide epochs={self.epochs}: the run ends "
                "with an average."
            )
        steps = constant(self.step_sizes)  # float64, as the bounds of rounding are
        if not (steps.size and np.isfinite(steps).all() and (steps > 0).all()):
            raise InvalidInputError("Expected finite step sizes > 0.")
        object.__setattr__(self, "step_sizes", steps)

    @property
    def epochs(self) -> int:
        return len(self.step_sizes)

    @property
    def n_batches(self) -> int:
        return batches_of(self.n, self.batch_size)

    @property
    def sizes(self) -> np.ndarray:
        """Rows of each batch, the larger batches first: int64 of shape (n_batches,)."""
        rows, larger = divmod(self.n, self.n_batches)
        sizes = np.full(self.n_batches, rows, dtype=np.int64)
        sizes[:larger] += 1
        return sizes
