"""Parts of a sum that rows contribute, and how far two of them are apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import NeighboringRelation
from dpcore_lab.replay.answers import checked_distance, exact_answer
from dpcore_lab.replay.canonical import attributes

if TYPE_CHECKING:
    from dpcore.plugin.parts import Query, Sensitivity
    from dpcore_lab.made_tables.tables import Rows

__all__ = ["contributions", "largest_share", "vectors_of"]

_ROWS_OF_A_MATRIX = 2


def contributions(query: Query, rows: Rows) -> np.ndarray:
    """Return each row's part of the answer, having checked that the answer is their sum."""
    exact, start = exact_answer(query, rows), query.start()
    parts = np.array(
        [_part(query, block, i) for block in rows.table().blocks for i in range(block.n_rows)]
    )
    total = start + np.sum(parts, axis=0, dtype=np.int64)
    assert np.array_equal(total, exact), (
        f"{type(query).__name__}: over {len(parts):,} rows the answer is not the sum of the rows' "
        "answers: a row's part depends on the other rows, or on earlier calls."
    )
    backwards = exact_answer(query, rows.backwards)
    assert np.array_equal(backwards, exact), "The answer depends on the order of the rows."
    return parts


def _part(query: Query, block: Any, i: int) -> np.ndarray:
    part = query.answer_block(block.take(np.array([i], dtype=np.int64)))
    start = query.start()
    assert part.shape == start.shape and part.dtype == start.dtype == np.int64, (
        f"{type(query).__name__}: a defect of the query: answer_block gives no int64 array of the "
        "shape of start(), which is what it declares before the data are asked."
    )
    return part


def vectors_of(query: Any, n_features: int, n_classes: int) -> list[np.ndarray]:
    """Return the vectors that a query holds, as wide as the rows; of parameters of several classes
    those of the first two."""
    held = [np.asarray(value) for _, value in attributes(query)]
    vectors = [value for value in held if value.shape == (n_features,)]
    for value in held:
        if n_classes > 2 and value.shape == (n_classes, n_features):
            vectors += list(value[:_ROWS_OF_A_MATRIX])
    return vectors


def largest_share(query: Query, parts: np.ndarray, relation: NeighboringRelation) -> float:
    """Return the largest share of the sensitivity that a row's part takes, or the exchange of two
    under replace-one; AssertionError where one exceeds it."""
    sensitivity = query.sensitivity(relation)
    what = f"{type(query).__name__} under {relation.value}"
    flat = parts.reshape(len(parts), -1)
    if relation is not NeighboringRelation.REPLACE_ONE:
        return max(checked_distance(part, np.zeros_like(part), sensitivity, what) for part in flat)
    rough = flat.astype(np.float64)
    farthest = {
        (i, j) for i, part in enumerate(rough) for j in _farthest(rough - part, sensitivity)
    }
    return max(checked_distance(flat[i], flat[j], sensitivity, what) for i, j in sorted(farthest))


def _farthest(changes: np.ndarray, sensitivity: Sensitivity) -> set[int]:
    """Return the places of the largest changes, in floats; the judgement of them is exact."""
    order = {"l1": 1, "l2": 2, "linf": np.inf}[sensitivity.norm]
    spread = changes.max(axis=1) - changes.min(axis=1)
    return {int(np.linalg.norm(changes, ord=order, axis=1).argmax()), int(spread.argmax())}
