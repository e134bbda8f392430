"""Sums over partitions have the bits of one thread, whatever the partitions and the workers."""

import numpy as np
import pytest

import dpcore
from dpcore.data.dataset import load_file
from dpcore.data.store import convert
from dpcore.engines.local import LocalEngine
from dpcore.errors import EngineError, InvalidInputError
from dpcore.losses.logistic import Logistic
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.protocols.file_engine import FileEngine
from dpcore.protocols.problem import Problem
from dpcore.queries import ClippedGradientSum, RowCount
from dpcore_dp_agd.loss_line import ClippedLossLine

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE


def queries(data):
    problem = Problem(Logistic(), 0.0, data.n_features, data.row_norm, data.raw_norm_bound, ADD)
    w, direction = np.zeros(data.n_features), np.ones(data.n_features)
    for step in (0.25, 0.5):
        line = ClippedLossLine(problem, w, direction, np.arange(5) * step, 2.0)
        yield from (line, ClippedGradientSum(problem, w, 0.5), RowCount("l2"))
        w = line.w - step * line.direction


def equal(engine, data):
    local = LocalEngine(data.table(), threads=1)
    return all(np.array_equal(engine.answer(q), local.answer(q)) for q in queries(data))


def test_parquet_files_give_the_bits_of_one_thread(opened, folder, schema):
    engine, data = opened(folder), load_file(folder, schema)
    assert isinstance(engine, FileEngine) and engine.rows.n_units == data.n_units == 32_001
    assert engine.rows.typed_by == "file" and equal(engine, data)


def test_stores_and_files_give_the_same(opened, folder, schema):
    data = load_file(folder, schema)
    for path in folder.glob("*.parquet"):
        convert(path, path.with_suffix(".dpcore"), schema)
    assert equal(opened(folder / "*.dpcore", None), data)
    assert equal(opened(folder / "*.parquet"), data)


def test_one_row_in_all_and_none(opened, folder, schema):
    for name, n_rows in (("3", 1), ("1", 0)):
        engine = opened(folder / f"{name}.parquet")
        assert engine.rows.n_units == n_rows
        assert equal(engine, load_file(folder / f"{name}.parquet", schema))


def test_no_rows_are_asked_before_a_charge(opened, folder):
    engine, query = opened(folder), RowCount("l2")
    assert np.array_equal(engine.without_rows().answer(query), query.start())
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        engine.answer(query)


class Offset:
    """Starts from a public offset, and wraps around."""

    kind = "offset"

    def start(self):
        return np.array([2**63 - 7, 5], dtype=np.int64)

    def answer_block(self, block):
        return np.array([block.n_rows, -(2**62)], dtype=np.int64)


def test_an_offset_counts_once_and_sums_wrap_around(opened, folder):
    n_blocks = 1 + 0 + 3 + 1 + 2
    found = opened(folder).answer(Offset())
    assert found.tolist() == [
        (2**63 - 7 + 32_001) - 2**64,
        (5 - n_blocks * 2**62 + 2**63) % 2**64 - 2**63,
    ]


@pytest.mark.parametrize("algo", ["dp-agd", "auto"])
def test_a_fit_is_that_of_the_local_engine(cluster, folder, schema, algo):
    asked = {"schema": schema, "algo": algo, "epsilon": 1.0, "seed": 7}
    params = {"params": {"steps": 4}} if algo == "dp-agd" else {}
    local = dpcore.fit(folder, **asked, **params)
    there = dpcore.fit(folder, engine=f"dask:{cluster.scheduler_address}", **asked, **params)
    assert np.array_equal(local.w, there.w)
    assert there.algo["engine"] == "dask", "The address of a scheduler is in a model file."
    assert there.privacy == local.privacy


def test_minimisers_run_over_blocks_that_are_not_full(cluster, folder, schema):
    """Their sums are rounded block by block, and partitions have other blocks than one table: equal
    up to the error that their sensitivity counts."""
    asked = {"schema": schema, "algo": "objpert", "epsilon": 1.0, "seed": 7, "l2": 0.01}
    local = dpcore.fit(folder, **asked)
    there = dpcore.fit(folder, engine=f"dask:{cluster.scheduler_address}", **asked)
    assert np.allclose(local.w, there.w, atol=1e-6)
    assert there.privacy == local.privacy


@pytest.mark.parametrize(
    ("algo", "relation", "reason"),
    [
        ("rsgd-ar", "replace-one", "goes through the rows in its own way"),
    ],
)
def test_what_is_no_exact_sum_is_refused_uncharged(cluster, folder, schema, algo, relation, reason):
    asked = {"algo": algo, "relation": relation, "l2": 0.01, "schema": schema, "seed": 1}
    with pytest.raises(InvalidInputError, match=f"{reason}.*--engine local") as refused:
        dpcore.fit(folder / "4.parquet", engine=f"dask:{cluster.scheduler_address}", **asked)
    assert "Nothing was charged" in " ".join(refused.value.__notes__)
