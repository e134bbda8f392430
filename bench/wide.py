"""How accurate is the default where most columns are rare, and how long does it take?

The rows of a9a with all pairs of their ones hashed to 2^14 or 2^16 columns, and the ones
themselves: rows of 103 ones, scaled to length 1, and an intercept. `auto` with the logistic loss,
delta = 1e-8, n0 the number of training rows; one fold in five is held out. Printed for each width
and epsilon: mean accuracy in % with its standard error, that of the 123 plain columns beside it and
the difference, the columns that were kept, passes, and median seconds of a fit by the clock and
of its CPU time. With `--algo`, another algorithm than `auto`.

    DPCORE_DATA_DIR=... python bench/wide.py [--fits 5] [--bits 14 --bits 16] [--threads 2]
        [--epsilon .4] [--algo sgd-ma] [--out bench/results/wide.csv]
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from printed import OUT, keep, mean_and_error, parser_of
from scipy import sparse

from dpcore.data.blocks.table import Table
from dpcore.engines.local import LocalEngine
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.noise.source import SystemNoise
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.protocols.problem import Problem
from dpcore.registry.catalogue import load_registry
from dpcore.session.session import TableSession
from dpcore_lab.compare.folds import fold_numbers

EPSILONS = (0.1, 0.4, 1.6)
FOLDS = 5
BOUNDS: dict[str, Any] = {
    "row_norm": math.nextafter(math.sqrt(2) + 2.0**-20, 2),
    "raw_norm_bound": 1024.0,
}
_ODD, _PRIME = 0x9E3779B97F4A7C15, 1_000_003


def crossed(X: sparse.csr_matrix, width: int) -> sparse.csr_matrix:
    """Return rows of the ones of ``X`` and of all their pairs, hashed, of length 1."""
    rows, columns = [], []
    for i in range(X.shape[0]):
        ones = np.sort(X.indices[X.indptr[i] : X.indptr[i + 1]]).astype(np.uint64)
        first, second = np.triu_indices(ones.size)
        mixed = (ones[first] * np.uint64(_PRIME) + ones[second]) * np.uint64(_ODD)
        found = np.unique((mixed >> np.uint64(33)) % np.uint64(width)).astype(np.int64)
        columns.append(found)
        rows.append(np.full(found.size, i))
    where = np.concatenate(rows), np.concatenate(columns)
    counts = np.bincount(where[0], minlength=X.shape[0])
    values = 1 / np.sqrt(counts[where[0]])
    return sparse.csr_matrix((values, where), shape=(X.shape[0], width))


class Rows:
    """One encoding of the rows, cut into those to train on and those to test on."""

    def __init__(self, X: sparse.csr_matrix, y: np.ndarray, held_out: np.ndarray) -> None:
        whole = sparse.hstack([X, np.ones((X.shape[0], 1))], format="csr")
        self._n = int((~held_out).sum())
        self._train = Table.from_matrix(whole[~held_out], y[~held_out], **BOUNDS)
        self._test, self._y = whole[held_out], y[held_out]

    def fit(
        self, algo: str, epsilon: float, threads: int
    ) -> tuple[float, float, float, Mapping[str, Any]]:
        """Return accuracy in %, seconds by the clock and of CPU time, and the details of a fit."""
        plan = make_plan(Settings(algo=algo, epsilon=epsilon, delta=1e-8))
        relation = NeighboringRelation.ADD_OR_REMOVE_ONE
        width = self._test.shape[1]
        problem = Problem(
            plan.loss, 0.0, width, relation=relation, n0=self._n, intercept=True, **BOUNDS
        )
        engine = LocalEngine(self._train, threads)
        session = TableSession(engine, plan.accountant, relation, SystemNoise())
        started, used = time.perf_counter(), time.process_time()
        solution = plan.optimizer.minimize(problem, session)
        seconds, used = time.perf_counter() - started, time.process_time() - used
        right = (self._test @ solution.w > 0) == (self._y > 0)
        return 100 * float(right.mean()), seconds, used, solution.details


class Widths:
    """The rows of a9a by their plain columns, and by crosses hashed to so many."""

    def __init__(self) -> None:
        dataset = load_registry().load("dataset", "a9a")()
        self._ones = dataset.X.tocsr()[:, :-1].copy()
        self._ones.data[:] = 1.0
        relation = NeighboringRelation.ADD_OR_REMOVE_ONE
        numbers = fold_numbers("a9a", self._ones.shape[0], FOLDS, relation, key=None)
        self._y, self._held_out = dataset.y, numbers == 0

    def plain(self) -> Rows:
        lengths = np.sqrt(np.maximum(1, np.diff(self._ones.indptr)))
        unit_rows = sparse.csr_matrix(sparse.diags(1 / lengths) @ self._ones)
        return Rows(unit_rows, self._y, self._held_out)

    def crossed(self, bits: int) -> Rows:
        return Rows(crossed(self._ones, 2**bits), self._y, self._held_out)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--fits", type=int, default=5)
    parser.add_argument("--bits", action="append", type=int)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--algo", default="auto")
    parser.add_argument("--out", type=Path, help=OUT)
    chosen = parser.parse_args()
    widths = Widths()
    narrow = widths.plain()
    rows = []
    print("columns   eps  accuracy   error   plain   below    kept  steps  seconds    CPU")
    for bits in chosen.bits or (14, 16):
        wide = widths.crossed(bits)
        for epsilon in chosen.epsilon or EPSILONS:
            asked = chosen.algo, epsilon, chosen.threads
            beside = [narrow.fit(*asked)[0] for _ in range(chosen.fits)]
            fits = [wide.fit(*asked) for _ in range(chosen.fits)]
            (mean, error), details = mean_and_error([fit[0] for fit in fits]), fits[-1][3]
            seconds, used = (float(np.median([fit[k] for fit in fits])) for k in (1, 2))
            plain, kept = float(np.mean(beside)), details.get("columns", "-")
            print(
                f"{2**bits:>7}{epsilon:>6g}{mean:>10.2f}{error:>8.2f}"
                f"{plain:>8.2f}{plain - mean:>8.2f}{kept:>8}{details['steps']:>7}"
                f"{seconds:>9.2f}{used:>7.2f}",
                flush=True,
            )
            row = {"columns": 2**bits, "epsilon": epsilon, "accuracy": f"{mean:.2f}"}
            rows.append(row | {"error": f"{error:.2f}", "plain": f"{plain:.2f}", "kept": kept})
    keep(chosen.out, rows)


if __name__ == "__main__":
    main()
