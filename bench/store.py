"""Tables larger than memory: what do a conversion, a fit and a pass take, beside the file itself?

Five million generated rows of 38 numbers and 3 categories go to Parquet, then to a store; a fit of
``dpcore train`` on the store runs in a process of its own, whose peak memory is read. A pass (a
clipped gradient; a line of 21 losses) is timed against reading the file once from its first to its
last byte, in the system's cache and, with ``--cold``, with the cache dropped for that file before.

    python bench/store.py [--rows 5000000] [--folder FOLDER] [--cold]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from peak import peak_bytes

from dpcore import Schema
from dpcore.data.blocks.table import Table
from dpcore.engines.local import LocalEngine
from dpcore.losses.logistic import Logistic
from dpcore.plugin.parts import Dataset
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.protocols.problem import Problem
from dpcore.queries import ClippedGradientSum
from dpcore_dp_agd.loss_line import ClippedLossLine

N_NUMERIC, CATEGORIES, CHUNK = 38, (3, 11, 66), 2**18
PEAK_LIMIT, PASS_LIMIT = 1000.0, 1.5
RELATION = NeighboringRelation.ADD_OR_REMOVE_ONE


def schema() -> Schema:
    columns: dict[str, object] = {
        f"x{j}": {"kind": "numeric", "lower": 0, "upper": 1} for j in range(N_NUMERIC)
    }
    for j, size in enumerate(CATEGORIES):
        words = [f"c{k}" for k in range(size)]
        columns[f"c{j}"] = {"kind": "categorical", "categories": words}
    columns["y"] = {"kind": "label", "classes": ["no", "yes"]}
    return Schema.from_dict({"rows": 5_000_000, "columns": columns})


def generate(path: Path, n_rows: int) -> None:
    rng = np.random.default_rng(0)
    weights = rng.normal(size=N_NUMERIC)
    writer = None
    for begin in range(0, n_rows, CHUNK):
        n = min(CHUNK, n_rows - begin)
        X = rng.random((n, N_NUMERIC))
        cells = {f"x{j}": pa.array(X[:, j]) for j in range(N_NUMERIC)}
        for j, size in enumerate(CATEGORIES):
            words = pa.array([f"c{k}" for k in range(size)])
            codes = pa.array(rng.integers(0, size, n).astype(np.int32))
            cells[f"c{j}"] = pa.DictionaryArray.from_arrays(codes, words)
        yes = (X - 0.5) @ weights + rng.normal(size=n) > 0
        cells["y"] = pa.array(np.where(yes, "yes", "no"))
        table = pa.table(cells)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def in_a_process(*arguments: str) -> tuple[float, float]:
    """Return the seconds and the peak MB of a ``dpcore`` command."""
    script = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from peak import peak_bytes; from dpcore.cli import app\n"
        "try: app(sys.argv[1:])\n"
        "finally: print(peak_bytes())"
    )
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"dpcore {' '.join(arguments)} failed:\n{done.stderr}")
    return seconds, int(done.stdout.split()[-1]) / 1e6


def timed(call: Callable[[], object], path: Path, cold: bool, repeats: int) -> float:
    """Return the smallest wall time of a few calls, each with the file out of the cache if cold."""
    best = np.inf
    for _ in range(repeats):
        if cold:
            forget(path)
        started = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - started)
    return float(best)


def forget(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_once(path: Path) -> None:
    buffer = bytearray(2**21)
    with path.open("rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def passes(path: Path, cold: bool) -> None:
    started = time.perf_counter()
    data = Dataset.from_file(path, None)
    bounds = {"row_norm": data.row_norm, "raw_norm_bound": data.raw_norm_bound}
    table = Table.from_matrix(data.X, data.y, **bounds)
    opened = time.perf_counter() - started
    problem = Problem(Logistic(), 0.0, data.n_features, relation=RELATION, **bounds)
    steps = np.arange(21) / 64
    w, direction = np.zeros(data.n_features), np.full(data.n_features, 0.125)
    reading = timed(lambda: read_once(path), path, cold, 5)
    print(f"reading the file once: {reading:.3f} s {'from the disk' if cold else 'from the cache'}")
    print(f"opening it, every byte checked: {opened:.2f} s, {opened / reading:.1f} times that")
    for threads in (1, 2):
        engine = LocalEngine(table, threads=threads)

        def gradient(engine: LocalEngine = engine) -> object:
            return engine.answer(ClippedGradientSum(problem, w, 1.0))

        def line(engine: LocalEngine = engine) -> object:
            direction[0] = -direction[0]
            return engine.answer(ClippedLossLine(problem, w, direction, steps, 3.0))

        gradient(), line(), line()
        for name, call in (("gradient", gradient), ("21 losses", line)):
            seconds = timed(call, path, cold, 5)
            print(
                f"a pass, {name}, {threads} thread(s): {seconds:.3f} s, "
                f"{seconds / reading:.2f} times (to reach: {PASS_LIMIT} or less)"
            )
    print(f"peak memory of this process, passes included: {peak_bytes() / 1e6:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--cold", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        source, store, toml = folder / "big.parquet", folder / "big.dpcore", folder / "schema.toml"
        toml.write_text(schema().to_toml())
        if not source.exists():  # In a process of its own, whose memory is not counted here.
            child = multiprocessing.get_context("spawn").Process(
                target=generate, args=(source, options.rows)
            )
            child.start()
            child.join()
        seconds, peak = in_a_process("convert", str(source), str(store), "--schema", str(toml))
        size = store.stat().st_size / 1e6
        print(
            f"{options.rows:,} rows x ({N_NUMERIC} numbers + {len(CATEGORIES)} categories): "
            f"Parquet {source.stat().st_size / 1e6:.0f} MB, store {size:.0f} MB"
        )
        print(f"convert: {seconds:.1f} s, {size / seconds:.0f} MB a second, peak {peak:.0f} MB")
        seconds, peak = in_a_process("train", "--data", str(store), "--quiet")
        print(f"train: {seconds:.1f} s, peak {peak:.0f} MB (to reach: {PEAK_LIMIT:.0f} or less)")
        passes(store, options.cold)


if __name__ == "__main__":
    main()
