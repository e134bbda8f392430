"""Exact answers of any query on made rows, as a session has them, and how far apart they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import LocalEngine, SeededNoise
from dpcore_lab.made_tables.search import Pair, climb, start_pairs
from dpcore_lab.replay.recorded_noise import (
    NoiseRecorder,
    ReplayedNoise,
    ReplayedWords,
    WordRecorder,
)
from dpcore_lab.replay.replay import assert_within, distance

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin.parts import NoiseSource, Sensitivity
    from dpcore_lab.made_tables.tables import Rows

__all__ = [
    "answer_by",
    "checked_distance",
    "compare_neighbours",
    "exact_answer",
    "search_tables",
    "unsampled",
]


def unsampled(query: Any) -> Any:
    """Return the sum that a sampled query asks of its sample; any other query itself."""
    return query.query if hasattr(query, "sampled_event") else query


def exact_answer(query: Any, rows: Rows, noise: NoiseSource | None = None) -> np.ndarray:
    """Return the answer, int64 of the shape that a sum declares. ``noise`` : for random choices."""
    return answer_by(query, LocalEngine(rows.table()), noise or SeededNoise(1))


def answer_by(query: Any, engine: LocalEngine, noise: NoiseSource) -> np.ndarray:
    """Return an engine's answer, int64 of the shape that a sum declares."""
    name = type(query).__name__
    if hasattr(query, "derive"):
        exact = query.derive(lambda part: answer_by(part, engine, noise), noise)
    elif hasattr(query, "answer_table"):
        exact = engine.answer_table(query, noise)
    else:
        shape, exact = query.start().shape, engine.answer(query)
        assert exact.shape == shape, f"{name}: a defect of the query: the shape is not start()'s."
    assert isinstance(exact, np.ndarray) and exact.dtype == np.int64, (
        f"{name}: a defect of the query: an exact answer is an int64 array."
    )
    return exact


def compare_neighbours(query: Any, rows: Rows, other: Rows, relation: NeighboringRelation) -> float:
    """Return how far apart the answers on neighbouring tables are, as a share of what is declared,
    having checked that it is none above 1. Secret random choices are the same for both."""
    tape, replayed = WordRecorder(SeededNoise(1)), ReplayedWords()
    tape.kept = []
    exact = exact_answer(query, rows, NoiseRecorder(tape))
    replayed.left = tape.kept
    moved = exact_answer(query, other, ReplayedNoise(replayed, other.shift))
    what = f"{type(query).__name__} under {relation.value}"
    return checked_distance(exact, moved, query.sensitivity(relation), what)


def checked_distance(
    exact: np.ndarray, moved: np.ndarray, sensitivity: Sensitivity, what: str
) -> float:
    assert_within(exact, moved, sensitivity, what)
    return distance(exact, moved, sensitivity)


def search_tables(
    query_for: Callable[[Rows], Any | None],
    relation: NeighboringRelation,
    n_features: int,
    n_classes: int,
    evaluations: int,
    n_rows: int | None = None,
) -> float:
    """Return the largest share of its sensitivity by which an answer was found to move between
    neighbours; AssertionError where one moves farther.

    ``query_for`` : the query to ask of a table and its neighbour, ``None`` for none.
    ``n_classes`` : of their labels, 0 for real-valued targets. ``n_rows`` : the number of rows of
    every table, where it is fixed: others are filled up with rows of zeros.
    """

    def measure(pair: Pair) -> float:
        rows, other = pair.tables
        query = query_for(rows)
        return 0.0 if query is None else compare_neighbours(query, rows, other, relation)

    pairs = start_pairs(n_features, relation is NeighboringRelation.REPLACE_ONE, n_classes)
    if n_rows is not None:
        pairs = [pair.filled_up(n_rows) for pair in pairs]
    return climb(measure, pairs, evaluations)
