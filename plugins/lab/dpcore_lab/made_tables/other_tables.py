"""Tables with other public facts: norms, widths, layouts, labels and losses, a few rows of each."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import NeighboringRelation, Problem, Settings
from dpcore.plugin.parts import LossFacts
from dpcore_baselines.losses.quantile import Quantile
from dpcore_lab.made_tables.contributions import contributions, largest_share, vectors_of
from dpcore_lab.made_tables.tables import (
    RAW_NORM_BOUND,
    ROW_NORM,
    SEVERAL,
    Rows,
    make_problem,
    stretching_rows,
)
from dpcore_lab.replay.answers import unsampled
from dpcore_lab.replay.canonical import attributes
from dpcore_tables.coded import CodedLayout, CodedRows
from dpcore_tables.weights.sample_weighted import SampleWeighted

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin import Loss

__all__ = ["USUAL_WIDTH", "check_other_tables", "load_other_tables", "of_other_tables"]

USUAL_WIDTH = 5
_ADD, _REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
_SPECIAL = NeighboringRelation.REPLACE_SPECIAL
_DEPTH = 4
_ROWS_PER_UNIT = 3
_MOST_CELLS = 1 << 18
"""Numbers of all rows' parts, at most: of wide answers fewer rows are looked at."""


@dataclass(frozen=True)
class Steeper:
    """Another loss ``factor`` times over: its slopes pass 1."""

    loss: Any
    factor: float = 3.0

    name = "steeper"
    convex = True

    @property
    def classification(self) -> bool:
        return bool(self.loss.classification)

    @property
    def lipschitz(self) -> float:
        return float(self.factor * self.loss.lipschitz)

    @property
    def smoothness(self) -> float:
        return float(self.factor * self.loss.smoothness)

    def value(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        self.loss.value(z, y, out)
        out *= self.factor

    def dvalue(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        self.loss.dvalue(z, y, out)
        out *= self.factor


class SteeperClasses(Steeper):
    """The same of a loss of several classes."""

    multiclass = True
    convex = True


_LOGISTIC, _CLASSES = Settings().make_loss(), Settings(loss="softmax").make_loss()
_LABELS, _REAL = Steeper(_LOGISTIC), Steeper(Quantile(tau=0.25, half_width=0.5))
_STEEP_CLASSES = SteeperClasses(_CLASSES)
_MOST_WEIGHT, _WEIGHTS = 2.5, np.array([1.0, 0.0, 2.5, 0.3, 2.0**-16])
_WEIGHED = SampleWeighted(_LOGISTIC, _MOST_WEIGHT)
_NUMBERS = (0, 3)
"""Places of features that are numbers between bounds."""


@dataclass(frozen=True)
class _Facts:
    """The public facts of a table."""

    n_features: int
    row_norm: float
    layout: str
    relation: NeighboringRelation
    loss: Any = None
    n_classes: int = 2
    also: str = ""
    """``weights`` of rows, ``units`` of three rows, or ``numbers``: features between bounds."""

    @property
    def words(self) -> str:
        name = "the usual loss" if self.loss is None else _name(self.loss)
        classes = f", {self.n_classes} classes" if self.n_classes > 2 else ""
        return (
            f"{self.n_features} features, row_norm={self.row_norm:g}, {self.layout} rows, "
            f"{self.relation.value}, {name}{classes}{', ' if self.also else ''}{self.also}"
        )


def _name(loss: Any) -> str:
    return type(getattr(loss, "loss", loss)).__name__


_TRIED = (
    _Facts(5, 0.25, "CSR", _ADD),
    _Facts(5, 4.0, "dense", _REPLACE),
    _Facts(5, 1.0, "dense", _ADD, _REAL),
    _Facts(5, 1.5, "dense", _SPECIAL),
    _Facts(5, 4.0, "CSR", _SPECIAL, _LABELS),
    _Facts(5, 1.0, "coded", _ADD, _LABELS),
    _Facts(1, 0.25, "dense", _REPLACE, _REAL),
    _Facts(1, 4.0, "CSR", _ADD),
    _Facts(17, 0.25, "dense", _ADD, _LABELS),
    _Facts(17, 1.0, "coded", _REPLACE, _REAL),
    _Facts(17, 1.5, "CSR", _ADD),
    _Facts(5, 4.0, "dense", _REPLACE, _STEEP_CLASSES, 3),
    _Facts(1, 1.5, "CSR", _SPECIAL, _CLASSES, 4),
    _Facts(17, 0.25, "coded", _ADD, _CLASSES, 6),
    _Facts(5, 1.5, "dense", _ADD, _CLASSES, 40),
    _Facts(300, 1.0, "CSR", _ADD),
    _Facts(5, 1.5, "dense", _ADD, _WEIGHED, also="weights"),
    _Facts(5, 1.5, "dense", _ADD, also="units"),
    _Facts(5, 1.5, "dense", _REPLACE, also="numbers"),
)


def load_other_tables(make_query: Callable[[Problem], Any], loss: Loss, given: bool) -> None:
    """Ask for each of the tables, of two rows: for the kernels, which are loaded then."""
    for facts in _tried(loss, given):
        _share(make_query, facts, loss, 2)


def check_other_tables(
    make_query: Callable[[Problem], Any], loss: Loss, given: bool
) -> tuple[int, list[str]]:
    """Check a sum's rows where the public facts are others; return how many tables were made, and
    those that the query does not take.

    ``given`` : the loss was chosen for the query, which is asked for no other.
    """
    shares = {facts: _share(make_query, facts, loss) for facts in _tried(loss, given)}
    left = [facts.words for facts, share in shares.items() if share is None]
    return len(shares) - len(left), left


def of_other_tables() -> tuple[str, ...]:
    """Return, as clauses, the ranges of columns, classes and norms of the tables."""
    columns = [facts.n_features for facts in _TRIED]
    norms = [facts.row_norm for facts in _TRIED]
    classes = max(facts.n_classes for facts in _TRIED)
    return (
        f"columns {min(columns)} to {max(columns)}",
        f"classes 2 to {classes}",
        f"row norms {min(norms):g} to {max(norms):g}",
        f"weights 0 to {_MOST_WEIGHT:g}",
    )


def _tried(loss: Loss, given: bool) -> tuple[_Facts, ...]:
    """Return the facts of the tables to make: with a loss that is given, those that it is for."""
    if not given:
        return _TRIED
    known = [facts for facts in _TRIED if facts.also != "weights"]
    if LossFacts.of(loss).multiclass:
        several = [replace(facts, n_classes=max(facts.n_classes, SEVERAL)) for facts in known]
        return tuple(replace(facts, loss=None) for facts in several)
    return tuple(replace(facts, loss=None) for facts in known if facts.n_classes == 2)


def _share(
    make_query: Callable[[Problem], Any], facts: _Facts, loss: Loss, n_rows: int | None = None
) -> float | None:
    own = loss if facts.loss is None else facts.loss
    rng = np.random.default_rng(facts.n_features)
    try:
        query = _made(make_query, _rows(facts, [], own.classification, rng), facts, own)
        if query is None or (facts.n_features != USUAL_WIDTH and _is_of_usual_width(query)):
            return None
        vectors = vectors_of(query, facts.n_features, facts.n_classes)
        rows = _rows(facts, vectors, own.classification, rng)
        most = max(2, _MOST_CELLS // max(1, query.start().size)) if n_rows is None else n_rows
        few = rows if most >= len(rows.y) else rows.take(np.arange(most))
        parts = contributions(query, few)
    except AssertionError:
        raise
    except Exception:  # of a query that is meant for one width, or one kind of loss
        return None
    try:
        return largest_share(query, parts, facts.relation)
    except AssertionError as error:
        raise AssertionError(f"{error} (With {facts.words}.)") from None


def _made(
    make_query: Callable[[Problem], Any], rows: Rows, facts: _Facts, loss: Loss
) -> Any | None:
    problem = make_problem(rows, facts.relation, loss)
    if facts.also == "units":
        problem = replace(problem, rows_per_unit=_ROWS_PER_UNIT)
    elif facts.also == "numbers":
        problem = replace(problem, numbers=_NUMBERS)
    query = unsampled(make_query(problem))
    query.sensitivity(facts.relation)
    if facts.also == "units" and getattr(type(query), "clips_units", False):
        return None  # Its rows have no bound by themselves.
    return query if hasattr(query, "answer_block") else None


def _is_of_usual_width(value: Any, depth: int = _DEPTH) -> bool:
    """Return whether what a query holds, the problem aside, is as wide as five features: a kernel
    would read beyond its end."""
    if isinstance(value, np.ndarray):
        return USUAL_WIDTH in value.shape
    if not depth or isinstance(value, (Problem, Enum)):
        return False
    if isinstance(value, (tuple, list)):
        held = len(value) == USUAL_WIDTH
        return held or any(_is_of_usual_width(part, depth - 1) for part in value)
    return any(_is_of_usual_width(part, depth - 1) for _, part in attributes(value))


def _rows(
    facts: _Facts, vectors: list[np.ndarray], classification: bool, rng: np.random.Generator
) -> Rows:
    made = stretching_rows(facts.n_features, vectors, facts.n_classes)
    if not classification:
        real = rng.choice([0.0, 0.3, -0.6, 2.0**-16], size=len(made.y) // 2)
        made = made.and_then(Rows(made.X[: real.size], real))
    scale = facts.row_norm / ROW_NORM
    X, bound = made.X * scale, RAW_NORM_BOUND * scale
    if facts.layout == "CSR":
        from scipy.sparse import csr_matrix

        X = csr_matrix(X)
    elif facts.layout == "coded":
        X = _coded(facts.n_features, len(made.y), rng)
        bound = max(bound, math.sqrt(sum(part.shape[1] for part in (X.numeric, X.codes))))
    if facts.also == "numbers":
        X[:, _NUMBERS] = np.clip(np.abs(X[:, _NUMBERS]), 0.0, 1.0)
    made = replace(made, X=X, row_norm=facts.row_norm, raw_norm_bound=bound)
    if facts.also == "weights":
        return replace(made, weights=np.resize(_WEIGHTS, len(made.y)))
    if facts.also == "units":
        return replace(made, units=np.arange(len(made.y)) // _ROWS_PER_UNIT)
    return made


def _coded(n_features: int, n_rows: int, rng: np.random.Generator) -> CodedRows:
    """Return rows of two numeric columns and two of categories, which have the other features."""
    n_codes = n_features - 2
    starts = np.array([0, n_codes // 2, n_codes], dtype=np.int64)
    numbers = np.arange(n_features, dtype=np.int64)
    layout = CodedLayout(n_features, numbers[:2], numbers[2:], starts)
    numeric = rng.choice([0.0, 0.25, 1.0], size=(n_rows, 2)).astype(np.float32)
    codes = rng.integers(starts[:-1], starts[1:], (n_rows, 2)).astype(layout.code_type)
    return CodedRows(layout, numeric, codes)
