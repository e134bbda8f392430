"""Sums over partitions have the bits of one thread, whatever the partitions and the workers."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

import dpcore
from dpcore.errors import AnswerError, EngineError, InvalidInputError
from dpcore.plugin import RowCount, Settings
from dpcore.plugin.commands import DataRequest, Run, make_plan
from dpcore.plugin.engines import Registered
from dpcore.plugin.parts import (
    Dataset,
    LocalEngine,
    Table,
    load_registry,
)
from dpcore.protocols.file_engine import FileEngine
from dpcore.session.answers import ExactAnswers
from dpcore_dask.engine import DaskEngine
from dpcore_dask.registered import part_of
from dpcore_tables.store import convert


@pytest.fixture
def equal(queries):
    """Return a function that says whether an engine's answers are those over rows at hand."""

    def equal(engine, data):
        local = LocalEngine(data.table(), threads=1)
        return all(np.array_equal(engine.answer(q), local.answer(q)) for q in queries(data))

    return equal


@pytest.mark.slow
def test_parquet_files_give_the_bits_of_one_thread(opened, equal, folder, schema):
    engine, data = opened(folder), Dataset.from_file(folder, schema)
    assert isinstance(engine, FileEngine) and engine.rows.n_units == data.n_units == 32_001
    assert engine.rows.typed_by == "file" and equal(engine, data)


@pytest.mark.slow
def test_stores_and_files_give_the_same(opened, equal, folder, schema):
    data = Dataset.from_file(folder, schema)
    for path in folder.glob("*.parquet"):
        convert(path, path.with_suffix(".dpcore"), schema)
    assert equal(opened(folder / "*.dpcore", None), data)
    assert equal(opened(folder / "*.parquet"), data)


def test_stores_of_a_query_keep_its_claim(opened, tmp_path):
    connection = sqlite3.connect(tmp_path / "people.db")
    with connection:
        connection.execute("CREATE TABLE people (age INT, paid INT)")
        connection.execute("INSERT INTO people VALUES (40, 1), (50, 0)")
    connection.close()
    columns = {"age": {"kind": "numeric", "lower": 0, "upper": 90}}
    columns["paid"] = {"kind": "label", "classes": [0, 1]}
    rows = f"sqlite:///{tmp_path / 'people.db'}?query=select age, paid from people"
    convert(rows, tmp_path / "rows.dpcore", dpcore.Schema.from_dict({"columns": columns}))
    engine = opened(tmp_path / "rows.dpcore", None)
    assert (engine.rows.typed_by, engine.rows.n_units) == ("checked query", 2)


@pytest.mark.slow
def test_one_row_in_all_and_none(opened, equal, folder, schema):
    for name, n_rows in (("3", 1), ("1", 0)):
        engine = opened(folder / f"{name}.parquet")
        assert engine.rows.n_units == n_rows
        assert equal(engine, Dataset.from_file(folder / f"{name}.parquet", schema))


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


class Mean(Offset):
    """Answers with floats."""

    def answer_block(self, block):
        return np.zeros(2)


def test_floats_are_refused_on_the_workers_before_a_charge(opened, folder):
    engine = opened(folder)
    with pytest.raises(AnswerError, match=r"Of no rows it returned float64 of shape \(2,\)"):
        engine.without_rows().answer(Mean())


@pytest.mark.slow
@pytest.mark.parametrize("algo", ["dp-agd", "auto"])
def test_a_fit_is_that_of_the_local_engine(cluster, folder, schema, algo):
    asked = {"schema": schema, "algo": algo, "epsilon": 1.0, "seed": 7, "params": {"steps": 4}}
    local = dpcore.fit(folder, **asked)
    there = dpcore.fit(folder, engine=f"dask:{cluster.scheduler_address}", **asked)
    assert np.array_equal(local.w, there.w)
    assert there.algo["engine"] == "dask", "The address of a scheduler is in a model file."
    assert there.privacy == local.privacy


@pytest.mark.slow
def test_steps_ask_the_workers_what_they_ask_of_rows_at_hand(cluster, folder, schema):
    data = {"algo": "dp-gd", "seed": 5, "params": {"steps": 3}, "schema": schema, "epsilon": 50.0}
    for steps in ([dpcore.BalancedWeights()], [dpcore.Intervals(0.5)]):
        there = dpcore.fit(folder, **data, also=steps, engine=f"dask:{cluster.scheduler_address}")
        here = dpcore.fit(folder, **data, also=steps)
        assert np.array_equal(there.w, here.w) and there.privacy == here.privacy
        assert (there.class_weights, there.intervals) == (here.class_weights, here.intervals)


@pytest.mark.slow
def test_minimisers_run_over_blocks_that_are_not_full(cluster, folder, schema):
    """Their sums are rounded block by block, and partitions have other blocks than one table: equal
    up to the error that their sensitivity counts."""
    asked = {"schema": schema, "algo": "objpert", "epsilon": 1.0, "seed": 7, "l2": 0.01}
    local = dpcore.fit(folder, **asked)
    there = dpcore.fit(folder, engine=f"dask:{cluster.scheduler_address}", **asked)
    assert np.allclose(local.w, there.w, atol=1e-6)
    assert there.privacy == local.privacy


@pytest.mark.slow
def test_a_registered_data_set_is_cut_into_blocks(cluster, equal):
    source = Registered("census-sim", cluster.scheduler_address)
    engine, data = (
        DaskEngine.open(source, None, None),
        load_registry().load("dataset", "census-sim")(),
    )
    try:
        assert engine.rows.n_units == data.n_units and engine.rows.is_generated
        assert equal(engine, data)
    finally:
        engine.close()
    for count in (1, 3, 7, 90):
        sizes = [part_of(data, place, count).n_units for place in range(count)]
        assert (
            sum(sizes) == data.n_units and sum(size % Table.BLOCK_ROWS > 0 for size in sizes) == 1
        )


@pytest.mark.slow
def test_a_run_on_a_data_set_by_name_states_the_same(cluster):
    asked = {"algo": "dp-gd", "epsilon": 1.0, "seed": 7, "params": {"steps": 2}}
    engines = "local", f"dask:{cluster.scheduler_address}"
    here, there = (
        Run.train(make_plan(Settings(engine=engine, **asked)), DataRequest("census-sim"))
        for engine in engines
    )
    assert np.array_equal(here.model.w, there.model.w)
    assert here.model.privacy == there.model.privacy and here.facts == there.facts
    assert here.model.schema.curve_features  # as rows at hand have them


_UNITS = {"unit": "id", "rows_per_unit": 2, "unit_in_one_file": True}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"algo": "rsgd-ar", "relation": "replace-one", "l2": 0.01}, "in one secret order"),
        ({"algo": "sgd-ma"}, "PoissonSample goes through the rows"),
        ({"algo": "sgd-adv"}, "PoissonSample goes through the rows"),
        ({"algo": "dp-agd", "params": {"batch_size": 200}}, "Batch goes through the rows"),
        ({"algo": "dp-gd", "params": {"clip_unit": True}}, "adds up whole units"),
    ],
)
def test_what_is_no_exact_sum_is_refused_uncharged(
    cluster, folder, schema, monkeypatch, asked, reason
):
    # Without a public number of rows, all but the first ask for a noisy one before their own sums.
    stated = {key: value for key, value in schema.to_dict().items() if key != "rows"}
    if "adds up" in reason:
        stated |= _UNITS
        rows = pd.read_parquet(folder / "4.parquet")
        rows.assign(id=np.arange(len(rows)) // 2).to_parquet(folder / "4.parquet")

    def refusal():
        engine = f"dask:{cluster.scheduler_address}"
        with pytest.raises(InvalidInputError, match=f"{reason}.*--engine local") as refused:
            dpcore.fit(folder / "4.parquet", engine=engine, schema=stated, **asked)
        return " ".join(refused.value.__notes__)

    assert "Nothing was charged" in refusal()
    # A twin that asks the engine at a release alone has paid for the count by then.
    monkeypatch.setattr(ExactAnswers, "dry_run", lambda self, query: None)
    counts = asked["algo"] != "rsgd-ar"
    assert ("Charged, and spent" in refusal()) == counts
