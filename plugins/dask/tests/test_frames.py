"""Frames of Dask: partitions are turned into rows where they are, by the schema alone."""

import pickle

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed
from distributed import Client, LocalCluster, wait

import dpcore
from dpcore import Schema
from dpcore.errors import DataError, EngineError, InvalidInputError
from dpcore.plugin import RowCount
from dpcore.plugin.engines import FrameParts
from dpcore.plugin.parts import LocalEngine, dataset_from_arrays
from dpcore_dask import sources
from dpcore_dask.engine import DaskEngine
from dpcore_dask.frames import FrameSource, held
from dpcore_dask.partition import Partition


@pytest.fixture(scope="module")
def client(cluster):
    with Client(cluster, set_as_default=True) as held:
        yield held


def of_parts(parts):
    given = [delayed(part) for part in parts]
    return dd.from_delayed(given, meta=parts[0].iloc[:0], verify_meta=False)


def engine_of(frame, schema):
    return DaskEngine.open(FrameParts(frame), schema, None)


@pytest.mark.slow
def test_a_frame_gives_the_bits_of_its_rows_at_hand(client, schema, parts, queries):
    engine = engine_of(of_parts(parts), schema)
    data = dataset_from_arrays(pd.concat(parts), schema=schema)
    local = LocalEngine(data.table(), threads=1)
    try:
        assert engine.rows.typed_by == "frame" and engine.rows.n_units == data.n_units
        assert all(np.array_equal(engine.answer(q), local.answer(q)) for q in queries(data))
    finally:
        engine.close()


@pytest.mark.slow
def test_a_fit_of_a_frame_is_that_of_its_rows_at_hand(client, schema, parts):
    asked = {"schema": schema, "algo": "dp-gd", "epsilon": 1.0, "seed": 7}
    asked["params"] = {"steps": 3}
    there = dpcore.fit(of_parts(parts), engine="dask", **asked)
    local = dpcore.fit(pd.concat(parts), **asked)
    assert np.array_equal(local.w, there.w) and there.privacy == local.privacy
    address = f"dask:{client.scheduler.address}"
    assert np.array_equal(dpcore.fit(of_parts(parts), engine=address, **asked).w, there.w)
    kept = of_parts(parts).persist()
    assert np.array_equal(dpcore.fit(kept, engine="dask", **asked).w, there.w)


TYPES = Schema.from_toml("""
[columns]
n = { kind = "numeric", lower = 0, upper = 10 }
whole = { kind = "categorical", categories = ["1", "2", "3"] }
word = { kind = "categorical", categories = ["02139", "a"] }
y = { kind = "label", classes = ["0", "1"] }
""")


def odd_parts():
    """Return partitions whose types differ as their cells do, and the cells as they are."""
    cells = pd.DataFrame(
        {
            "n": [1, 2, 3, 4.5, 5, 6],
            "whole": [1, 2, 3, 1.0, 2.0, 7.0],
            "word": ["a", "02139", "b", 2139, 2139, 4],
            "y": ["0", "1", "0", 1, 0, 1],
        },
        dtype=object,
    )
    parts = [cells.iloc[:3].infer_objects(), cells.iloc[3:].infer_objects()]
    parts[0]["whole"] = parts[0]["whole"].astype("int8")
    assert parts[0].dtypes["n"].kind == "i" and parts[1].dtypes["n"].kind == "f"
    assert parts[1].dtypes["word"].kind == "i" and parts[1].dtypes["y"].kind == "i"
    return parts, cells


def test_the_types_of_a_partition_decide_nothing(client, queries):
    parts, cells = odd_parts()
    engine = engine_of(
        dd.from_delayed([delayed(p) for p in parts], meta=cells.iloc[:0], verify_meta=False), TYPES
    )
    data = dataset_from_arrays(cells, schema=TYPES)
    local = LocalEngine(data.table(), threads=1)
    try:
        assert all(np.array_equal(engine.answer(q), local.answer(q)) for q in queries(data))
    finally:
        engine.close()


def test_what_a_frame_claims_is_refused_as_that_of_one_at_hand(client, schema, parts):
    claimed = [part.assign(city=1) for part in parts]
    for rows in (of_parts(claimed), claimed[0]):
        with pytest.raises(DataError, match="'city' is of type int64, and what is listed"):
            dpcore.fit(rows, schema=schema, engine="dask" if rows is not claimed[0] else "local")
    with pytest.raises(DataError, match="no column 'city'"):
        dpcore.fit(
            of_parts([part.drop(columns="city") for part in parts]), schema=schema, engine="dask"
        )


def test_a_bad_row_is_named_for_the_owner_before_any_release(client, schema, parts):
    parts[2].loc[7, "y"] = "perhaps"
    with pytest.raises(DataError, match="partition 3 of the frame, row 8, column 'y'"):
        dpcore.fit(of_parts(parts), schema=schema, engine="dask")


def test_what_does_not_go_with_a_frame(client, schema, parts):
    rows = of_parts(parts)
    weighed = {"sample_weight": np.ones(3), "weight_bound": 2.0}
    for asked, reason in (
        ({}, "engine='dask'\\) sums over them there"),
        ({"engine": "dask", "y": np.ones(3)}, "label is one of its columns"),
        ({"engine": "dask", **weighed}, "those of X are not"),
    ):
        with pytest.raises(InvalidInputError, match=reason):
            dpcore.fit(rows, schema=schema, **asked)
    with pytest.raises(InvalidInputError, match="needs a schema"):
        dpcore.fit(rows, engine="dask")
    with pytest.raises(InvalidInputError, match="a frame of named columns"):
        dpcore.fit(rows.to_dask_array(), schema=schema, engine="dask")
    with pytest.raises(InvalidInputError, match="a frame of named columns"):
        dpcore.fit(rows["y"], schema=schema, engine="dask")


def test_a_partition_that_cannot_be_worked_out_is_told_without_its_text(client, schema, parts):
    def fails():
        raise ValueError("a row: 38, Bern")

    rows = dd.from_delayed([delayed(fails)()], meta=parts[0].iloc[:0], verify_meta=False)
    with pytest.raises(EngineError, match="work out a partition of the frame .ValueError.") as told:
        engine_of(rows, schema)
    assert "Bern" not in str(told.value) and told.value.__cause__ is None


def test_rows_that_are_not_the_same_again_are_refused(client, schema, parts):
    """As where a worker ended, and Dask works its partitions out anew."""
    source = FrameSource(1, schema, "refuse", ())
    first, query = held(source, parts[0]), RowCount("l2")
    seal = first.facts().seal
    total = first.answer(query, seal)
    assert np.array_equal(held(source, parts[0].copy()).answer(query, seal), total)
    for other in (parts[0].iloc[::-1], parts[0].iloc[1:], parts[0].assign(city="Basel")):
        with pytest.raises(DataError, match="partition 1 of the frame: the partition was changed"):
            held(source, other).answer(query, seal)
    bad = held(source, parts[0].assign(y="perhaps"))
    with pytest.raises(DataError, match="was changed while it was in use") as told:
        bad.answer(query, seal)
    assert "perhaps" not in str(told.value)


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "later", "forgotten"])
def test_a_worker_that_ends_while_a_frame_is_made_ends_the_fit(schema, parts, monkeypatch, when):
    """Of a random source, partitions made before and after would be of two tables. So would they
    be where a worker comes while they are made and ends again. ``forgotten`` : the scheduler keeps
    no more than so many events, and cannot say what happened before."""
    begin = sources._frame
    asked = {"threads_per_worker": 1, "processes": False, "dashboard_address": "127.0.0.1:0"}
    cluster = LocalCluster(n_workers=2, **asked)

    def begun(parts, schema, client):
        made = begin(parts, schema, client)
        if when == "later":
            before = set(client.nthreads())
            cluster.scale(3)
            client.wait_for_workers(3, timeout=60)
            client.retire_workers(list(set(client.nthreads()) - before))
        elif when == "before":
            wait(made[1]._partitions)  # One that is at work does not retire.
            client.retire_workers([min(client.nthreads())])
        else:
            cluster.scheduler._broker.truncate("all")
        return made

    with cluster, Client(cluster, set_as_default=True) as client:
        client.log_event("all", "somebody's own")
        engine_of(of_parts(parts), schema).close()
        monkeypatch.setattr(sources, "_frame", begun)
        with pytest.raises(EngineError, match="A worker ended while the partitions of the frame"):
            engine_of(of_parts(parts), schema)


def test_a_partition_may_be_moved_and_its_frame_is_not_kept(schema, parts):
    source = FrameSource(3, schema, "refuse", ())
    there, query = held(source, parts[2]), RowCount("l2")
    seal = there.facts().seal
    moved = pickle.loads(pickle.dumps(there))
    assert isinstance(moved, Partition) and moved.facts() == there.facts()
    assert np.array_equal(moved.answer(query, seal), there.answer(query, seal))
    bad = held(source, parts[2].assign(y="perhaps"))
    with pytest.raises(DataError, match="row 1"):
        bad.facts()
    with pytest.raises(DataError, match="row 1"):
        pickle.loads(pickle.dumps(bad)).facts()
