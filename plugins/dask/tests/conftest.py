"""A cluster of threads in this process, over the loopback, and partitions of one table."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore import Schema
from dpcore.plugin import ClippedGradientSum, NeighboringRelation, Problem, RowCount
from dpcore.plugin.engines import Files
from dpcore.plugin.parts import Logistic
from dpcore_dask.engine import DaskEngine
from dpcore_dp_agd.loss_line import ClippedLossLine

SIZES = (3000, 0, 20_000, 1, 9000)
SCHEMA = """
rows = 30000
row_norm = 1.2
[columns]
age = { kind = "numeric", lower = 0, upper = 90 }
city = { kind = "categorical", categories = ["Bern", "Basel"] }
y = { kind = "label", classes = ["no", "yes"] }
"""


def frame(n_rows, seed):
    rng = np.random.default_rng(seed)
    columns = {
        "age": rng.uniform(-5, 99, n_rows),
        "city": rng.choice(["Bern", "Basel", "Genf"], n_rows),
        "y": rng.choice(["no", "yes"], n_rows),
    }
    return pd.DataFrame(columns).astype({"city": "string", "y": "string"})


@pytest.fixture(scope="session")
def schema():
    return Schema.from_toml(SCHEMA)


ADD = NeighboringRelation.ADD_OR_REMOVE_ONE


def _queries(data):
    problem = Problem(Logistic(), 0.0, data.n_features, data.row_norm, data.raw_norm_bound, ADD)
    w, direction = np.zeros(data.n_features), np.ones(data.n_features)
    for step in (0.25, 0.5):
        line = ClippedLossLine(problem, w, direction, np.arange(5) * step, 2.0)
        yield from (line, ClippedGradientSum(problem, w, 0.5), RowCount("l2"))
        w = line.w - step * line.direction


@pytest.fixture
def queries():
    """Return a function that makes questions of a data set."""
    return _queries


@pytest.fixture
def parts():
    """Return the rows of the partitions."""
    return [frame(n_rows, i) for i, n_rows in enumerate(SIZES)]


@pytest.fixture
def folder(tmp_path, parts):
    """Return a folder of Parquet files, one of them empty, one of a row."""
    place = tmp_path / "rows"
    place.mkdir()
    for i, part in enumerate(parts):
        part.to_parquet(place / f"{i}.parquet")
    return place


@pytest.fixture(scope="module")
def cluster():
    """Return a cluster of three workers in threads of this process."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=3,
        threads_per_worker=1,
        processes=False,
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit=0,
    ) as held:
        yield held


@pytest.fixture
def opened(cluster, schema):
    """Return a function that opens files on the cluster; what it opened is closed afterwards."""
    engines = []

    def opened(place: Path, by=schema, **options):
        files = Files(str(place), address=cluster.scheduler_address, **options)
        engines.append(DaskEngine.open(files, by, None))
        return engines[-1]

    yield opened
    for engine in reversed(engines):  # Each gives back the level of the log that it found.
        engine.close()
