"""What memory does a fit take beside its rows, by columns, of every algorithm?

Fits of 300 sparse rows of 27 ones, each in a process of its own, of so many columns and of a tenth
of them: printed are the bytes that a column more takes at its peak, seconds by the clock of the
wider one, and what `dpcore.fitting.planning.memory` says beforehand, or how the fit ended.

    python bench/memory.py [--columns 100000] [--algo sgd-ma --algo privgene] [--most-gb 12]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np
from peak import peak_bytes
from scipy import sparse

from dpcore import fit
from dpcore.errors import DpcoreError, DpcoreWarning
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.protocols.problem import Problem
from dpcore.registry.catalogue import load_registry
from dpcore.registry.tables.optimizer_spec import OptimizerFacts, optimizer_facts

ROWS, ONES = 300, 27
_ALONE = "--one"


def asked(name: str, facts: OptimizerFacts) -> dict[str, Any]:
    """Return the words of a fit by an algorithm."""
    loss = "ridge" if "squared-loss" in facts.needs else "logistic"
    words: dict[str, Any] = {"algo": name, "loss": loss, "relation": facts.relations[0]}
    if facts.targets:
        return {**words, "targets": dict(facts.checked_with)}
    return {**words, "epsilon": 1.0, "delta": 1e-6}


def fit_once(name: str, columns: int) -> str:
    """Return the peak in bytes, seconds and how a fit in this process ended, by tabs."""
    rng = np.random.default_rng(0)
    where = np.repeat(np.arange(ROWS), ONES), rng.integers(0, columns, ROWS * ONES)
    X = sparse.csr_matrix((np.ones(ROWS * ONES), where), shape=(ROWS, columns))
    y = np.where(rng.random(ROWS) < 0.5, 1, -1)
    words = asked(name, optimizer_facts(load_registry().load("optimizer", name)))
    bounds = {"target_bounds" if words["loss"] == "ridge" else "classes": (-1, 1)}
    started, before = time.perf_counter(), peak_bytes()
    try:
        fit(X, y, row_norm=6.0, n0=ROWS, **(bounds | words))
        end = "fitted"
    except (DpcoreError, MemoryError) as error:
        charged = "; ".join(getattr(error, "__notes__", ()))
        end = f"{type(error).__name__}: {error} {charged}"
    return f"{peak_bytes() - before}\t{time.perf_counter() - started:.1f}\t{end}"


def in_a_process(name: str, columns: int, most_gb: float) -> tuple[float, str, str]:
    """Return what ``fit_once`` does in a process of its own, which has so much memory."""
    most = int(most_gb * 2**30)
    command = [sys.executable, __file__, _ALONE, name, str(columns)]
    ran = subprocess.run(
        command,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
    )
    if ran.returncode:
        return float("nan"), "-", f"died: {ran.stderr.strip().splitlines()[-1:]}"
    count, seconds, end = ran.stdout.rstrip("\n").split("\t")
    return float(count), seconds, end


def foretold(name: str, columns: int) -> float:
    """Return the bytes that are said beforehand."""
    words = asked(name, optimizer_facts(load_registry().load("optimizer", name)))
    plan = make_plan(Settings(**words))
    public: dict[str, Any] = {"row_norm": 6.0, "raw_norm_bound": 6.0, "relation": plan.relation}
    return plan.memory_of(Problem(plan.loss, 0.0, columns + 1, **public))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--columns", type=int, default=100_000)
    parser.add_argument("--algo", action="append")
    parser.add_argument("--most-gb", type=float, default=12.0)
    chosen = parser.parse_args()
    print(f"{'algorithm':<16}{'a column':>10}{'foretold':>10}{'seconds':>9}  how it ended")
    for entry in load_registry().entries("optimizer"):
        facts = optimizer_facts(load_registry().load("optimizer", entry.name))
        left_out = facts.answered_by or not facts.private
        if left_out or entry.name not in (chosen.algo or [entry.name]):
            continue
        runs = [
            in_a_process(entry.name, columns, chosen.most_gb)
            for columns in (chosen.columns // 10, chosen.columns)
        ]
        each = (runs[1][0] - runs[0][0]) / (0.9 * chosen.columns)
        said = foretold(entry.name, chosen.columns) / chosen.columns
        print(
            f"{entry.name:<16}{each:>10.0f}{said:>10.0f}{runs[1][1]:>9}  {runs[1][2]}", flush=True
        )


if __name__ == "__main__":
    if sys.argv[1:2] == [_ALONE]:
        warnings.simplefilter("ignore", DpcoreWarning)
        print(fit_once(sys.argv[2], int(sys.argv[3])))
    else:
        main()
