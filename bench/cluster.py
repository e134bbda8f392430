"""Where does a Dask cluster pay, beside threads of one process?

Eight partitions, or more of ``--most`` rows each, stores of generated rows of 6 numbers and 8
categories; a cluster's workers write eight of them, and more are copies. Asked is the clipped
gradient at a new point every time, as a descent does; by one and two workers of this machine, over
the loopback with TLS, and by the local engine with as many threads over the same stores, one after
the other in each round.

    overhead  a pass over eight partitions of one row each;
    pass      ms by the clock, the least and the median over rounds; ms of CPU time, workers,
              scheduler and the asking process together, and the same in ns per row;
    memory    the largest peak of a worker, above that of one that has opened a single row, in MB
              and in sizes of a partition's file.

The answers of both engines are compared on the way.

    python bench/cluster.py [--rows 1e6 --rows 1e7] [--most 5e5] [--workers 1] [--rounds 9]
"""

from __future__ import annotations

import one_thread  # noqa: F401  (before NumPy)

# isort: split
import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from peak import peak_bytes

from dpcore import Schema
from dpcore.data.blocks.table import Table
from dpcore.data.files import Files
from dpcore.engines.local import LocalEngine
from dpcore.losses.logistic import Logistic
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.protocols.problem import Problem
from dpcore.queries import ClippedGradientSum
from dpcore_dask.cluster import connected
from dpcore_dask.engine import DaskEngine
from dpcore_tables.store import convert, open_store

PARTITIONS = 8
NUMBERS, CATEGORIES = 6, (9, 16, 7, 15, 6, 5, 2, 42)
CHUNK = 2**17
WARM = 2


def schema() -> Schema:
    """Return a schema as wide as census-sim's: 6 numbers, and 102 categories in 8 columns."""
    columns: dict[str, object] = {
        f"x{j}": {"kind": "numeric", "lower": 0, "upper": 1} for j in range(NUMBERS)
    }
    for j, size in enumerate(CATEGORIES):
        words = [f"c{k}" for k in range(size)]
        columns[f"c{j}"] = {"kind": "categorical", "categories": words}
    columns["y"] = {"kind": "label", "classes": ["no", "yes"]}
    return Schema.from_dict({"columns": columns})


def write(path: str, n_rows: int, seed: int) -> None:
    """Write a store of so many rows, by way of a Parquet file."""
    stream, source = np.random.default_rng(seed), f"{path}.parquet"
    names = [column.name for column in schema().columns]
    kinds = dict.fromkeys(names, pa.dictionary(pa.int32(), pa.string()))
    kinds |= {name: pa.float64() for name in names[:NUMBERS]}
    with pq.ParquetWriter(source, pa.schema(list(kinds.items()))) as writer:
        for begin in range(0, n_rows, CHUNK):
            n = min(CHUNK, n_rows - begin)
            cells = [pa.array(stream.random(n)) for _ in range(NUMBERS)]
            for size in CATEGORIES:
                words = pa.array([f"c{k}" for k in range(size)])
                codes = pa.array(stream.integers(0, size, n).astype(np.int32))
                cells.append(pa.DictionaryArray.from_arrays(codes, words))
            labels = pa.array(stream.integers(0, 2, n).astype(np.int32))
            cells.append(pa.DictionaryArray.from_arrays(labels, pa.array(["no", "yes"])))
            writer.write_table(pa.table(dict(zip(names, cells, strict=True))))
    convert(source, path, schema())
    os.remove(source)


def generate(client: Any, folder: str, n_rows: int, most: float) -> None:
    """Write partitions of so many rows together: eight, and copies where that is not enough."""
    copies = max(1, round(n_rows / (PARTITIONS * most)))
    n_rows //= copies
    sizes = [n_rows // PARTITIONS + (i < n_rows % PARTITIONS) for i in range(PARTITIONS)]
    paths = [os.path.join(folder, f"{i}.dpcore") for i in range(PARTITIONS)]
    client.gather(client.map(write, paths, sizes, range(PARTITIONS), pure=False))
    for path in paths:
        for k in range(1, copies):
            shutil.copyfile(path, f"{path.removesuffix('.dpcore')}-{k}.dpcore")


def local_engine(folder: str, threads: int) -> Any:
    blocks: list[Any] = []
    for name in sorted(os.listdir(folder)):
        X, y, description = open_store(os.path.join(folder, name))
        bound = description.schema.raw_norm_bound
        row_norm = min(description.schema.row_norm, bound)
        table = Table.from_matrix(X, y, row_norm=row_norm, raw_norm_bound=bound)
        blocks += table.blocks
    return LocalEngine(table.with_blocks(blocks), threads=threads)


def questions(schema: Any) -> Callable[[int], ClippedGradientSum]:
    bound = schema.raw_norm_bound
    row_norm = min(schema.row_norm, bound)
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    problem = Problem(Logistic(), 0.0, schema.n_features, row_norm, bound, relation)
    stream = np.random.default_rng(1)
    points = stream.normal(size=(64, schema.n_features)) / 8
    return lambda i: ClippedGradientSum(problem, points[i % 64], 1.0)


@dataclass
class Spent:
    """Seconds of passes by the clock, and seconds of CPU time of all of them."""

    wall: list[float] = field(default_factory=list)
    cpu: float = 0.0

    def answer(self, engine: Any, query: ClippedGradientSum) -> np.ndarray:
        wall, cpu = time.perf_counter(), time.process_time()
        found: np.ndarray = engine.answer(query)
        self.wall.append(time.perf_counter() - wall)
        self.cpu += time.process_time() - cpu
        return found

    def cells(self, n_rows: int) -> list[str]:
        least, median = 1e3 * min(self.wall), 1e3 * statistics.median(self.wall)
        cpu = 1e3 * self.cpu / len(self.wall)
        return [f"{least:.1f} / {median:.1f}", f"{cpu:.1f}", f"{1e6 * cpu / n_rows:.1f}"]


def measure(n_rows: int, workers: int, rounds: int, most: float) -> list[str]:
    """Return the cells of a row of the table."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        single, rows = os.path.join(folder, "single"), os.path.join(folder, "rows")
        os.mkdir(single), os.mkdir(rows)
        write(os.path.join(single, "0.dpcore"), 1, 0)
        with connected(None, workers) as client:
            empty = max(client.run(loaded, single).values())
            generate(client, rows, n_rows, most)
        local = local_engine(rows, workers)
        with closing(DaskEngine.open(Files(rows), None, workers)) as engine:
            there, here = passes(engine, local, rounds)
            above = max(engine._client.run(peak_bytes).values()) - empty
        partition = os.path.getsize(os.path.join(rows, "0.dpcore"))
    memory = f"{above / 1e6:.0f}", f"{above / partition:.1f}"
    return [*there.cells(n_rows), *here.cells(n_rows), *memory]


def passes(engine: DaskEngine, local: LocalEngine, rounds: int) -> tuple[Spent, Spent]:
    """Return what passes of both take, one after the other in each round."""
    ask, there, here = questions(engine.rows.schema), Spent(), Spent()
    for i in range(WARM):
        engine.answer(ask(-i)), local.answer(ask(-i))
    before = sum(engine._client.run(time.process_time).values())
    for i in range(rounds):
        if not np.array_equal(there.answer(engine, ask(i)), here.answer(local, ask(i))):
            raise SystemExit("The engines do not agree.")
    there.cpu += sum(engine._client.run(time.process_time).values()) - before
    return there, here


def loaded(store: str) -> int:
    """Return the peak of a worker that has loaded what a sum needs, and a row."""
    local_engine(store, 1).answer(questions(schema())(0))
    return peak_bytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, action="append")
    parser.add_argument("--workers", type=int, action="append")
    parser.add_argument("--most", type=float, default=5e5)
    parser.add_argument("--rounds", type=int, default=9)
    asked = parser.parse_args()
    times = "{0}, ms | {0}, CPU ms | {0}, CPU ns a row"
    print(
        "| rows | workers |",
        times.format("dask"),
        "|",
        times.format("local"),
        "| MB above | partitions |",
    )
    print("|---" * 10 + "|")
    for n_rows in [PARTITIONS, *map(int, asked.rows or (1e6, 1e7))]:
        for workers in asked.workers or (1, 2):
            cells = [
                f"{n_rows:.0e}",
                str(workers),
                *measure(n_rows, workers, asked.rounds, asked.most),
            ]
            print("|", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
