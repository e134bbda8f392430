"""How long do privgene's scores of one generation take, and how much of it is margins?

48,842 generated rows and 50 candidates, dense rows and compressed sparse ones. CPU milliseconds,
the least of some repeats on one thread: scores in one pass over the rows for all candidates, and
scores with a pass for each candidate, of the same bits.

    python bench/candidates.py [--repeats 9]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from dpcore.data.blocks.table import Table
from dpcore.losses.logistic import Logistic
from dpcore.plugin.parts import clipped_total
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.protocols.problem import Problem
from dpcore_baselines.losses.hinge import HingeSvm
from dpcore_baselines.scores import ClippedLossScores

ROWS, CANDIDATES = 48_842, 50
WIDTHS = (5, 30, 108)


def tables() -> Iterator[tuple[str, Any]]:
    """Yield the name and the table of each form of the rows."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(ROWS) < 0.5, -1.0, 1.0)
    bounds = {"raw_norm_bound": 1.0, "row_norm": 1.0}
    for width in WIDTHS:
        X = rng.normal(size=(ROWS, width))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        yield f"dense, {width} features", Table.from_matrix(X, y, **bounds)
    X *= rng.random(X.shape) < 0.13
    yield "sparse, 108 features, 14 a row", Table.from_matrix(csr_matrix(X), y, **bounds)


def apart(query: ClippedLossScores, block: Any) -> np.ndarray:
    """Return the scores of a block by margins of one candidate after the other."""
    values, scores = np.empty(block.n_rows), []
    for w in query.candidates:
        query.loss.value(block.margins(w), block.y, values)
        scores.append(-clipped_total(values, query.loss_clip, 2.0**query.bits))
    return np.array(scores)


def least(run: Callable[[], object], repeats: int) -> float:
    """Return the least CPU milliseconds of a run, after one that loads kernels."""
    run()
    spent = []
    for _ in range(repeats):
        started = time.process_time()
        run()
        spent.append(time.process_time() - started)
    return 1000 * min(spent)


def passes(answer_block: Callable[[Any], np.ndarray], table: Table) -> None:
    for block in table.blocks:
        answer_block(block)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    for name, table in tables():
        for loss in (Logistic(), HingeSvm()):
            relation = NeighboringRelation.ADD_OR_REMOVE_ONE
            facts: dict[str, Any] = {"row_norm": 1.0, "raw_norm_bound": 1.0, "l2": 0.0}
            problem = Problem(loss, n_features=table.n_features, relation=relation, **facts)
            points = np.random.default_rng(1).normal(size=(CANDIDATES, table.n_features))
            query = ClippedLossScores(problem, points, 2.0)
            for block in table.blocks:
                assert np.array_equal(query.answer_block(block), apart(query, block))
            forms = query.answer_block, partial(apart, query)
            one, many = (least(partial(passes, form, table), repeats) for form in forms)
            print(
                f"{name}, {loss.name}: {one:.1f} ms in one pass, {many:.1f} ms in {CANDIDATES}: "
                f"{many / one:.1f} times"
            )


if __name__ == "__main__":
    main()
