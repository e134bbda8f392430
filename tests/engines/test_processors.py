"""The same bits from code for other processors: without all instructions since SSE2, and that
of AVX2 unless this one's code is of AVX-512, which lies farther from the first."""

import hashlib
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from dpcore.plugin import ClippedGradientSum, NeighboringRelation, Problem
from dpcore.plugin.parts import LocalEngine, Logistic, Table
from dpcore_baselines.losses.hinge import HingeSvm
from dpcore_baselines.losses.huber import HuberSvm
from dpcore_dp_agd.logistic_line import logistic_totals
from dpcore_dp_agd.loss_line import ClippedLossLine
from dpcore_tables.coded import CodedLayout, CodedRows

AVX2 = "+sse4.2,+popcnt,+avx,+avx2,+fma,+bmi,+bmi2,+f16c,+lzcnt,+movbe"
PROCESSORS = {
    "generic": {"NUMBA_CPU_NAME": "generic"},
    "avx2": {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": AVX2},
}
NEEDED = {"generic": (), "avx2": ("avx2", "fma")}


def coded_rows(rng, n):
    layout = CodedLayout(
        8, np.array([0, 1, 7]), np.array([2, 3, 8, 4, 5, 6, 8]), np.array([0, 3, 7])
    )
    numeric = (rng.integers(0, 2**16 + 1, (n, 3)) * 2.0**-16).astype(np.float32)
    codes = np.stack([rng.integers(0, 3, n), rng.integers(3, 7, n)], axis=1).astype(np.uint8)
    return CodedRows(layout, numeric, codes)


def loss_bits(rng):
    """Return the bits of every loss, before the grids of the sums hide the last of them."""
    z, out = rng.normal(0, 20, 4001), np.empty(4001)
    y = rng.choice([-1.0, 1.0], 4001)
    parts = []
    for loss in (Logistic(), HuberSvm(), HingeSvm()):
        for function in (loss.value, loss.dvalue):
            function(z, y, out)
            parts.append(out.view(np.int64).copy())
    # Losses of up to 1/8 in the finest steps that there are, which hide nothing of a float32.
    line = (z + 20 * y, z / 9, np.ones(4001))
    parts.append(logistic_totals(line, y, 0.3, 9, 0.125, 2.0**24))
    return parts


@cache
def answers():
    """Return exact answers of every layout and loss along a path, with odd numbers of rows."""
    rng = np.random.default_rng(9)
    n, relation = 10_007, NeighboringRelation.ADD_OR_REMOVE_ONE
    rows = coded_rows(rng, n)
    y = rng.choice([-1.0, 1.0], n)
    bounds = {"row_norm": 1.25, "raw_norm_bound": 3.0}
    parts = []
    for X in (rows, csr_matrix(rows.tocsr()), rows.toarray()):
        engine = LocalEngine(Table.from_matrix(X, y, **bounds))
        for loss in (Logistic(), HuberSvm(), HingeSvm()):
            problem = Problem(loss, 0.0, 8, relation=relation, **bounds)
            w, direction = rng.normal(size=8), rng.normal(size=8)
            for step in (0.1, 31.7):
                steps = np.arange(11) * step
                line = ClippedLossLine(problem, w, direction, steps, 2.9)
                parts += [engine.answer(line), engine.answer(ClippedGradientSum(problem, w, 0.3))]
                parts.append(engine.answer(ClippedGradientSum(problem, w, 0.3, norm="l1")))
                w = line.w - step * line.direction
    parts += loss_bits(rng)
    return hashlib.sha256(np.concatenate(parts).tobytes()).hexdigest()


def features():
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return set()
    return set(next((line for line in text.splitlines() if line.startswith("flags")), "").split())


@pytest.mark.slow
@pytest.mark.parametrize("name", PROCESSORS)
def test_the_same_bits_on_another_processor(name, tmp_path):
    missing = set(NEEDED[name]) - features()
    if missing:
        pytest.skip(f"this processor lacks {', '.join(sorted(missing))}")
    if name == "avx2" and "avx512f" in features():
        pytest.skip("between this processor's code and that of the other test")
    environment = {**os.environ, **PROCESSORS[name], "NUMBA_CACHE_DIR": str(tmp_path)}
    script = f"import runpy; print(runpy.run_path({str(Path(__file__))!r})['answers']())"
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == answers()
