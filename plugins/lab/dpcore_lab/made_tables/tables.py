"""Small tables and their neighbours, for checks. Made data: nothing here is private."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import DpcoreError
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import Table, load_registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpcore.plugin import Loss

__all__ = [
    "SEVERAL",
    "Rows",
    "extreme_rows",
    "faint_rows",
    "labels_of",
    "make_problem",
    "make_rows",
    "made_of_problem",
    "neighbours",
    "some_short",
    "stretching_rows",
]

ROW_NORM, RAW_NORM_BOUND = 1.5, 2.0
"""Rows longer than the first carry a factor; none is longer than the second."""

SEVERAL = 3
"""Classes, where they are more than two."""


@dataclass(frozen=True)
class Rows:
    """Rows of a made table: X float64 (n, d), its last column an intercept of 1/2; y of -1, +1, or,
    of more ``n_classes`` than two, the places of classes.

    ``shift`` : of a neighbour, how far behind their old places the common rows are. ``row_norm``
    and ``raw_norm_bound`` : of the table; of rows that are in another layout X is of another type.
    ``units`` : whose each row is, those of each side by side; ``weights`` : of the rows.
    """

    X: Any
    y: np.ndarray
    shift: int = 0
    row_norm: float = ROW_NORM
    raw_norm_bound: float = RAW_NORM_BOUND
    n_classes: int = 2
    capacity: int = 2**20
    units: np.ndarray | None = None
    weights: np.ndarray | None = None

    @property
    def n_margins(self) -> int:
        """Margins of a row: one, or, of more than two classes, one for each."""
        return self.n_classes if self.n_classes > 2 else 1

    def table(self) -> Table:
        return Table.from_matrix(
            self.X,
            self.y,
            row_norm=self.row_norm,
            raw_norm_bound=self.raw_norm_bound,
            capacity=self.capacity,
            units=self.units,
            weights=self.weights,
        )

    @property
    def backwards(self) -> Rows:
        """The same rows, the last one first."""
        return self.take(np.arange(len(self.y))[::-1].copy())

    def take(self, places: np.ndarray, shift: int = 0) -> Rows:
        """Return the rows at some places, in their order, as often as each is named. Of rows with
        units each is a unit by itself. ``shift`` : as a neighbour's."""
        units = None if self.units is None else np.arange(len(places), dtype=np.int64)
        weights = None if self.weights is None else self.weights[places]
        found = replace(self, X=self.X[places], y=self.y[places], shift=shift)
        return replace(found, units=units, weights=weights)

    def and_then(self, others: Rows) -> Rows:
        return replace(self, X=np.vstack([self.X, others.X]), y=np.append(self.y, others.y))


def labels_of(n_classes: int) -> np.ndarray:
    """Return the labels of so many classes: 1.0 and -1.0, which are targets too, or, of more than
    two, their places from 0.0."""
    return np.arange(float(n_classes)) if n_classes > 2 else np.array([1.0, -1.0])


def make_rows(n: int, n_features: int = 5, seed: int = 0, n_classes: int = 2) -> Rows:
    """Return ``n`` rows with a planted rule and one label in ten of another class."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.8, 0.8, size=(n, n_features))
    X[:, -1] = 0.5
    if n_classes > 2:
        places = (X @ rng.normal(size=(n_features, n_classes))).argmax(axis=1)
        places = (places + (rng.random(n) < 0.1)) % n_classes
        return Rows(X, places.astype(np.float64), n_classes=n_classes)
    y = np.where(X @ rng.normal(size=n_features) > 0, 1.0, -1.0)
    return Rows(X, np.where(rng.random(n) < 0.1, -y, y))


def faint_rows(n: int, n_features: int = 5) -> Rows:
    """Return ``n`` rows of one class and next to no length: nothing like those of make_rows."""
    return Rows(np.full((n, n_features), 2.0**-14), np.ones(n))


def some_short(rows: Rows) -> Rows:
    """Return the rows, one in sixteen of them next to nothing."""
    X = rows.X.copy()
    X[::16] *= 2.0**-10
    return replace(rows, X=X)


def extreme_rows(
    n_features: int, seed: int = 0, n_classes: int = 2
) -> list[tuple[np.ndarray, float]]:
    """Return rows that stretch a bound, with every label: zeros, axes and corners at the raw bound,
    random ones."""
    rng = np.random.default_rng(seed)
    points = [np.zeros(n_features), np.full(n_features, -RAW_NORM_BOUND / np.sqrt(n_features))]
    points += [sign * RAW_NORM_BOUND * np.eye(n_features)[0] for sign in (1.0, -1.0)]
    for _ in range(3):
        direction = rng.normal(size=n_features)
        points.append(RAW_NORM_BOUND * direction / np.linalg.norm(direction))
    return [(point, label) for point in points for label in labels_of(n_classes)]


def stretching_rows(n_features: int, vectors: Iterable[np.ndarray], n_classes: int = 2) -> Rows:
    """Return rows at the bound, with every label: along the axes, the diagonal, the given vectors
    (of shape (n_features,)), their pairwise sums and differences, and random directions; and zeros.

    On a search line a row along the direction runs through losses of either sign of its margin, and
    a row that leans on the parameters too starts and ends where another ends and starts.
    """
    rng = np.random.default_rng(n_features)
    given = [v / np.linalg.norm(v) for v in vectors if np.isfinite(v).all() and np.any(v)]
    given += [a + s * b for a, b in combinations(given, 2) for s in (0.3, 1, 3, -0.3, -1, -3)]
    directions = [*given, *np.eye(n_features), np.ones(n_features)]
    directions += list(rng.normal(size=(4, n_features)))
    points = [np.zeros(n_features)]
    for direction in directions:
        norm = np.linalg.norm(direction)
        if norm > 0:
            points += [sign * RAW_NORM_BOUND / norm * direction for sign in (1.0, -1.0)]
    labels = labels_of(n_classes)
    X = np.tile(np.array(points), (labels.size, 1))
    return Rows(X, np.repeat(labels, len(points)), n_classes=n_classes)


def neighbours(rows: Rows, relation: NeighboringRelation, seed: int = 0) -> list[Rows]:
    """Return neighbouring tables of ``rows`` with extreme rows added or put in a row's place."""
    extremes = extreme_rows(rows.X.shape[1], seed, rows.n_classes)
    if relation is NeighboringRelation.REPLACE_ONE:
        made = []
        for k, (x, label) in enumerate(extremes):
            X, y = rows.X.copy(), rows.y.copy()
            i = k % len(y)
            X[i], y[i] = x, label
            made.append(replace(rows, X=X, y=y))
        return made
    added = [
        replace(rows, X=np.vstack([rows.X, x[None, :]]), y=np.append(rows.y, label))
        for x, label in extremes
    ]
    removed = replace(rows, X=rows.X[1:], y=rows.y[1:], shift=-1)
    # A row added in front moves every other row to another place in its block.
    x, label = extremes[-1]
    shifted = replace(rows, X=np.vstack([x, rows.X]), y=np.append(label, rows.y), shift=1)
    return [*added, removed, shifted]


def make_problem(
    rows: Rows, relation: NeighboringRelation, loss: Loss, l2: float = 0.0, n0: int | None = 400
) -> Problem:
    """Return the public facts of a made table."""
    return Problem(
        loss=loss,
        l2=l2,
        n_features=rows.X.shape[1],
        row_norm=rows.row_norm,
        raw_norm_bound=rows.raw_norm_bound,
        relation=relation,
        n=len(rows.y) if relation.size_is_public else None,
        n0=n0,
        capacity=2**20,
        n_margins=rows.n_margins,
    )


def made_of_problem(make: Callable[[Problem], Any]) -> Any:
    """Return what a function makes of a problem of five features: of two classes; of three, or of
    units of several rows, where it refuses those before. What takes none raises as of the first."""
    refused, add = [], NeighboringRelation.ADD_OR_REMOVE_ONE
    for n_classes, name, rows_per_unit in (
        (2, "logistic", None),
        (3, "softmax", None),
        (2, "logistic", 3),
    ):
        loss = load_registry().load("loss", name)()
        problem = make_problem(make_rows(12, n_classes=n_classes), add, loss)
        try:
            return make(replace(problem, rows_per_unit=rows_per_unit))
        except (DpcoreError, ValueError) as error:
            refused.append(error)
    raise refused[0]
