"""Units of several rows, each claimed to be in one partition: its rows are bounded there."""

import pickle
from dataclasses import replace

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed

import dpcore
from dpcore import Schema
from dpcore.data.units import coins_of
from dpcore.errors import InvalidInputError
from dpcore.plugin import RowCount
from dpcore.plugin.engines import Files, FrameParts, Registered
from dpcore.plugin.parts import Dataset, LocalEngine, dataset_from_arrays
from dpcore_dask.coins import PartCoins
from dpcore_dask.engine import DaskEngine
from dpcore_dask.files import FileSource, rows_in
from dpcore_dask.frames import FrameSource, held
from dpcore_dask.partition import Partition
from dpcore_report.guarantee import units_in
from dpcore_tables.store import convert, convert_partitions

MOST = 3
CLAIM = {"unit": "id", "rows_per_unit": MOST, "unit_missing": "row", "unit_in_one_file": True}
CLAIMED = "was taken as public, as the schema claims it; it was not checked."


@pytest.fixture
def claimed(schema):
    return Schema.from_dict({**schema.to_dict(), **CLAIM})


@pytest.fixture
def parts(parts):
    """Return partitions of units of one row to nine, in no order, and rows without an id."""
    rng = np.random.default_rng(0)
    for place, part in enumerate(parts):
        ids = rng.integers(0, 1 + len(part) // 3, len(part)) + 100_000 * place
        part["id"] = pd.array([str(i) if i % 10 else None for i in ids], dtype="string")
    return parts


@pytest.fixture
def engine_of(cluster):
    """Return a function that opens a source on the cluster; it is closed afterwards."""
    engines = []

    def engine_of(source, schema):
        engines.append(DaskEngine.open(source, schema, None))
        return engines[-1]

    yield engine_of
    for engine in engines:
        engine.close()


@pytest.mark.slow
def test_files_give_the_bits_of_one_table(cluster, engine_of, folder, claimed, queries):
    data = Dataset.from_file(folder, claimed, coins=coins_of(7, "units"))
    local = LocalEngine(data.table(), threads=1)
    source = Files(str(folder), address=cluster.scheduler_address, seed=7)
    engine = engine_of(source, claimed)
    assert engine.rows.n_units == data.n_units < len(data.y) < 32_001
    assert all(np.array_equal(engine.answer(q), local.answer(q)) for q in queries(data))
    # Another seed keeps other rows, as many of them: the coins matter.
    other = engine_of(replace(source, seed=8), claimed)
    asked, counted = list(queries(data)), RowCount("l2")
    assert not all(np.array_equal(other.answer(q), local.answer(q)) for q in asked)
    assert np.array_equal(other.answer(counted), local.answer(counted))


def test_a_frame_gives_the_bits_of_one_table(cluster, engine_of, parts, claimed, queries):
    data = dataset_from_arrays(pd.concat(parts), schema=claimed, coins=coins_of(7, "units"))
    local = LocalEngine(data.table(), threads=1)
    # What a partition's own cells made of the type of its ids decides nothing.
    given = [delayed(part.astype({"id": "float64"})) for part in parts]
    frame = dd.from_delayed(given, meta=parts[0].iloc[:0], verify_meta=False)
    engine = engine_of(FrameParts(frame, cluster.scheduler_address, 7), claimed)
    assert engine.rows.n_units == data.n_units
    assert all(np.array_equal(engine.answer(q), local.answer(q)) for q in queries(data))


@pytest.mark.slow
def test_stores_of_units_are_partitions_where_the_claim_is_made(
    cluster, engine_of, folder, claimed, queries, tmp_path
):
    wide = Schema.from_dict({**claimed.to_dict(), "rows_per_unit": 40})
    whole, kept = Dataset.from_file(folder, wide), Dataset.from_file(folder, claimed)
    assert np.bincount(whole.units).max() < 40 and len(kept.y) < len(whole.y)
    opened = {}
    for name, schema in {"whole": wide, "kept": claimed}.items():
        convert_partitions(folder, tmp_path / name, schema)
        source = Files(str(tmp_path / name), address=cluster.scheduler_address)
        opened[name] = engine_of(source, schema if name == "kept" else None)
        assert opened[name].rows.n_units == whole.n_units
        assert opened[name].rows.schema.units == schema.units
    local = LocalEngine(whole.table(), threads=1)
    answers = opened["whole"].answer
    assert all(np.array_equal(answers(q), local.answer(q)) for q in queries(whole))
    # As many rows are left out as of one table; of the other store, the twin, none are.
    counted = LocalEngine(kept.table(), threads=1).answer(RowCount("l2"))
    assert np.array_equal(opened["kept"].answer(RowCount("l2")), counted)
    assert not np.array_equal(answers(RowCount("l2")), counted)
    engine = f"dask:{cluster.scheduler_address}"
    few = {"steps": 3}
    model = dpcore.fit(tmp_path / "kept", engine=engine, epsilon=1.0, algo="dp-gd", params=few)
    assert CLAIMED in model.privacy["sentence"] and model.privacy["private"]


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
def test_a_fit_states_the_claim_that_it_rests_on(cluster, folder, claimed, relation):
    asked = {"schema": claimed, "algo": "dp-gd", "epsilon": 1.0, "seed": 7, "relation": relation}
    asked["params"] = {"steps": 2}
    here = dpcore.fit(folder, **asked)
    there = dpcore.fit(folder, engine=f"dask:{cluster.scheduler_address}", **asked)
    assert np.array_equal(here.w, there.w)
    assert here.report.get("units_train") == there.report.get("units_train")
    assert ("units_train" in there.report) is (relation == "replace-one")
    fresh = dpcore.fit(folder, engine=f"dask:{cluster.scheduler_address}", **asked | {"seed": None})
    stated, of_here = fresh.privacy, dpcore.fit(folder, **asked | {"seed": None}).privacy
    assert stated["private"] and CLAIMED in stated["sentence"]
    assert CLAIMED not in of_here["sentence"] and "rows_in_one_file" not in of_here["units"]
    assert stated["units"]["rows_in_one_file"] == "claimed, not checked"
    assert CLAIMED in units_in(stated).note
    assert stated["unit_of_protection"] == of_here["unit_of_protection"]


def test_a_claim_that_is_false_is_found_in_no_row(cluster, engine_of, tmp_path, parts, claimed):
    """It is a fact taken as public: a unit in two files has twice the rows, and nobody is told."""
    rows = parts[2].iloc[:100].assign(id="one")
    for name in "ab":
        rows.to_parquet(tmp_path / f"{name}.parquet")
    source = Files(f"{tmp_path}/*.parquet", address=cluster.scheduler_address)
    counted = engine_of(source, claimed).answer(RowCount("l2"))
    assert counted[0] == 2 * MOST
    whole = Dataset.from_file(tmp_path, claimed)
    assert LocalEngine(whole.table(), threads=1).answer(RowCount("l2"))[0] == MOST


def test_a_partition_opened_again_keeps_the_same_rows(folder, claimed, parts):
    path, query = str(folder / "4.parquet"), RowCount("l2")
    for seed in (None, 3):
        coins = PartCoins.drawn(seed, 5)
        source = FileSource(path, claimed, "refuse", (), coins)
        first = Partition(source)
        again = Partition(pickle.loads(pickle.dumps(source)))
        assert first.facts() == again.facts()
        assert np.array_equal(
            again.answer(query, first.facts().seal), first.answer(query, first.facts().seal)
        )
        frame = held(FrameSource(5, claimed, "refuse", (), coins), parts[4])
        assert frame.facts().n_units == first.facts().n_units
        assert pickle.loads(pickle.dumps(frame)).facts() == frame.facts()
    # A twin that draws coins where it opens a partition is not known again.
    drawn = [replace(source, coins=PartCoins.drawn(None, 5)) for _ in range(2)]
    assert len({Partition(one).facts().seal for one in drawn}) == 2


def test_coins_of_a_seed_are_those_of_one_table():
    whole = coins_of(5, "units")(800)
    for n_before in (0, 1, 37):
        assert PartCoins.drawn(5, n_before)(80) == whole[8 * n_before :][:80]
    fresh = PartCoins.drawn(None, 0)
    assert fresh(24) == fresh(24) and fresh(24) != PartCoins.drawn(None, 0)(24)
    assert fresh.key.hex() not in repr(fresh) and repr(fresh.key) not in repr(fresh)


def test_a_file_that_does_not_say_how_many_rows_it_has(tmp_path, folder):
    (tmp_path / "odd.parquet").write_bytes(b"PAR1")
    assert rows_in(str(tmp_path / "odd.parquet")) == rows_in(str(tmp_path / "none.parquet")) == 0
    assert rows_in(str(folder / "2.parquet")) == 20_000


@pytest.mark.slow
def test_what_units_are_refused_for(
    cluster, engine_of, folder, schema, claimed, tmp_path, monkeypatch
):
    engine = f"dask:{cluster.scheduler_address}"
    by_unit = {"schema": claimed, "algo": "dp-gd", "params": {"clip_unit": True, "steps": 2}}
    with pytest.raises(InvalidInputError, match="adds up whole units.*use --engine local"):
        dpcore.fit(folder, engine=engine, **by_unit)
    without = Schema.from_dict({**claimed.to_dict(), "unit_in_one_file": False})
    with pytest.raises(InvalidInputError, match="claims so by unit_in_one_file = true"):
        dpcore.fit(folder, engine=engine, schema=without)
    pd.read_parquet(folder / "4.parquet").drop(columns="id").to_parquet(tmp_path / "rows.parquet")
    convert(tmp_path / "rows.parquet", tmp_path / "of-rows.dpcore", schema)
    with pytest.raises(InvalidInputError, match="of-rows.dpcore was not converted with units"):
        dpcore.fit(tmp_path / "of-rows.dpcore", engine=engine, schema=claimed)
    convert(folder / "4.parquet", tmp_path / "of-units.dpcore", without)
    with pytest.raises(InvalidInputError, match="of-units.dpcore was not .*claims by unit_in_one"):
        dpcore.fit(tmp_path / "of-units.dpcore", engine=engine)
    whole = Dataset.from_file(folder, claimed)
    monkeypatch.setattr("dpcore_dask.registered.load_whole", lambda name: whole)
    with pytest.raises(InvalidInputError, match="has units of several rows.*cut one in two"):
        engine_of(Registered("census-sim", cluster.scheduler_address), None)
