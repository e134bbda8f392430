"""Numbers become curves on a cluster as they do in one process, to the bit."""

from dataclasses import replace
from fractions import Fraction

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed
from distributed import Client, LocalCluster

import dpcore
from dpcore import Schema
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin import ClippedGradientSum, NeighboringRelation, Problem, RowCount
from dpcore.plugin.engines import Files
from dpcore.plugin.parts import Dataset, LocalEngine, Logistic
from dpcore_baselines.queries.moments import ColumnMoments
from dpcore_dask.engine import DaskEngine
from dpcore_dask.files import FileSource
from dpcore_dask.partition import Partition
from dpcore_tables.schemas import with_curves
from dpcore_tables.store import convert

SCHEMA = Schema.from_toml("""
[columns]
age = { kind = "numeric", lower = 0, upper = 50 }
pay = { kind = "numeric", lower = -1, upper = 3, fill = 0.5, indicator = true }
city = { kind = "categorical", categories = ["Bern", "Basel"] }
y = { kind = "label", classes = ["no", "yes"] }
""")
BENT = with_curves(SCHEMA)
SIZES = (900, 0, 17_000, 1, 1500)
ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE


def frame(n_rows, seed):
    rng = np.random.default_rng(seed)
    age, pay = rng.uniform(-5, 60, n_rows), rng.normal(1, 1, n_rows)
    pay[rng.random(n_rows) < 0.1] = np.nan
    columns = {
        "age": age,
        "pay": pay,
        "city": rng.choice(["Bern", "Basel", "Genf"], n_rows),
        "y": np.where(np.abs(age - 25) < 12, "yes", "no"),
    }
    return pd.DataFrame(columns).astype({"city": "string", "y": "string"})


@pytest.fixture
def parts():
    return [frame(n_rows, i) for i, n_rows in enumerate(SIZES)]


def problem_of(schema):
    length = schema.raw_norm_bound
    return Problem(Logistic(), 0.0, schema.n_features, length, length, ADD)


def queries_of(schema):
    problem = problem_of(schema)
    w = np.linspace(-2, 2, schema.n_features)
    yield from (RowCount("l2"), ColumnMoments(problem, 0.7), ClippedGradientSum(problem, w, 0.5))


def at_hand(folder, schema):
    """Return an engine over the rows, encoded with their hats at once."""
    return LocalEngine(Dataset.from_file(folder, schema).table(), threads=1)


def test_sums_over_hats_are_those_of_one_thread(cluster, opened, folder):
    engine = opened(folder, SCHEMA)
    bent, local = engine.with_curves(BENT), at_hand(folder, BENT)
    for query in queries_of(BENT):
        assert np.array_equal(bent.answer(query), local.answer(query))
        assert np.array_equal(bent.without_rows().answer(query), query.start())
    few = with_curves(SCHEMA, 5)
    others, query = engine.with_curves(few), ColumnMoments(problem_of(few), 0.7)
    assert np.array_equal(others.answer(query), at_hand(folder, few).answer(query))
    # The rows as they were read are still asked as such.
    lines = at_hand(folder, SCHEMA)
    for query in queries_of(SCHEMA):
        assert np.array_equal(engine.answer(query), lines.answer(query))


def test_sums_of_neighbours_are_as_near_as_stated(opened, tmp_path):
    """In whole numbers; each table is three files."""
    table = frame(300, 4)
    last = pd.DataFrame({"age": [50 / 7 * 3], "pay": [np.nan], "city": ["Bern"], "y": ["no"]})
    odd = pd.DataFrame({"age": [1e9], "pay": [3.0], "city": ["Basel"], "y": ["yes"]})
    found = {}
    for name, rows in (("all", [table, last]), ("less", [table]), ("other", [table, odd])):
        (tmp_path / name).mkdir()
        whole = pd.concat(rows).astype({"city": "string", "y": "string"})
        for k in range(3):
            whole.iloc[k::3].to_parquet(tmp_path / name / f"{k}.parquet")
        bent = opened(tmp_path / name, SCHEMA).with_curves(BENT)
        found[name] = [bent.answer(query) for query in queries_of(BENT)]
    most = 0.0
    for other, relation in (("less", ADD), ("other", REPLACE)):
        for query, one, two in zip(queries_of(BENT), found["all"], found[other], strict=True):
            stated = query.sensitivity(relation) if query.kind != "count" or other == "less" else 0
            change = sum(step**2 for step in (one - two).tolist())
            bound = stated and (Fraction(stated.bound) * 2**stated.grid_bits) ** 2
            assert change <= bound
            most = max(most, float(Fraction(change) / bound) if bound else 0.0)
    assert 0.9 < most <= 1.0


def test_rows_that_were_changed_get_no_hats(folder):
    held = Partition(FileSource(str(folder / "0.parquet"), SCHEMA, "refuse", ()))
    seal = held.facts().seal
    held.make_hats(seal, BENT)
    query = next(iter(queries_of(BENT)))
    assert held.answer(query, seal, BENT).tolist() == [SIZES[0]]
    frame(SIZES[0], 9).to_parquet(folder / "0.parquet")
    with pytest.raises(DataError, match="was changed while it was in use"):
        held.answer(query, seal, BENT)


@pytest.mark.slow
@pytest.mark.parametrize("params", [{}, {"curves": "all"}, {"curves": "none"}])
@pytest.mark.parametrize("form", ["files", "stores", "frame"])
def test_a_fit_is_that_of_one_process(cluster, folder, parts, form, params):
    asked = {"schema": SCHEMA, "epsilon": 2.0, "seed": 7, "params": params}
    local = dpcore.fit(pd.concat(parts) if form == "frame" else folder, **asked)
    assert local.schema == (SCHEMA if params == {"curves": "none"} else BENT)
    rows, address = folder, f"dask:{cluster.scheduler_address}"
    if form == "stores":
        for path in folder.glob("*.parquet"):
            convert(path, path.with_suffix(".dpcore"), SCHEMA)
        rows = folder / "*.dpcore"
    with Client(cluster, set_as_default=True):
        if form == "frame":
            given = [delayed(part) for part in parts]
            rows = dd.from_delayed(given, meta=parts[0].iloc[:0], verify_meta=False)
        there = dpcore.fit(rows, engine=address, **asked)
    assert there.schema == local.schema and np.array_equal(there.w, local.w)
    assert (there.status, dict(there.details)) == (local.status, dict(local.details))
    assert there.privacy == local.privacy
    held_out = frame(500, 8)
    assert np.array_equal(there.decision_function(held_out), local.decision_function(held_out))


@pytest.mark.slow
def test_a_run_that_leaves_hats_out_is_that_of_lines(cluster, folder):
    asked = {"schema": SCHEMA, "epsilon": 0.005, "seed": 7}
    asked["engine"] = f"dask:{cluster.scheduler_address}"
    model = dpcore.fit(folder, **asked)
    assert model.schema == SCHEMA and "curve" not in model.status
    assert np.array_equal(model.w, dpcore.fit(folder, params={"curves": "none"}, **asked).w)


@pytest.mark.slow
def test_several_classes_and_numbers_follow_curves_by_wish(cluster, folder):
    address = f"dask:{cluster.scheduler_address}"
    columns = {name: column for name, column in _columns().items() if name != "y"}
    labels = {
        "city": {"kind": "label", "classes": ["Bern", "Basel", "Genf"]},
        "pay": {"kind": "label", "lower": -1, "upper": 3},
    }
    for name, label in labels.items():
        own = {**columns, name: label, "y": {"kind": "drop"}}
        if name == "pay":
            own["age"] = columns["age"]
            for path in folder.glob("*.parquet"):
                pd.read_parquet(path).fillna({"pay": 0.5}).to_parquet(path)
        schema = Schema.from_dict({"columns": own})
        asked = {"schema": schema, "algo": "dp-gd", "epsilon": 2.0, "seed": 7}
        asked["params"] = {"curves": "all", "steps": 5}
        local = dpcore.fit(folder, **asked)
        there = dpcore.fit(folder, engine=address, **asked)
        assert local.schema == there.schema != schema and np.array_equal(local.w, there.w)


def _columns():
    return {c.pop("name"): c for c in SCHEMA.to_dict()["columns"]}


@pytest.mark.slow
def test_units_in_one_file_each_take_curves_by_wish(cluster, folder):
    for place, path in enumerate(sorted(folder.glob("*.parquet"))):
        rows = pd.read_parquet(path)
        rows.assign(who=place * 10**6 + np.arange(len(rows)) // 3).to_parquet(path)
    schema = SCHEMA.with_units("who", 2, unit_in_one_file=True)
    asked = {"schema": schema, "epsilon": 4.0, "seed": 7, "params": {"curves": "all"}}
    local = dpcore.fit(folder, **asked)
    there = dpcore.fit(folder, engine=f"dask:{cluster.scheduler_address}", **asked)
    assert local.schema.n_features == BENT.n_features and np.array_equal(there.w, local.w)


def test_what_curves_cannot_be_of_is_refused_before_a_charge(cluster, folder):
    asked = {"epsilon": 2.0, "params": {"curves": "all"}}
    asked["engine"] = f"dask:{cluster.scheduler_address}"
    for schema, also, said in (
        (SCHEMA, [dpcore.Intervals(0.5)], "the run has the step intervals"),
        (replace(SCHEMA, norm=0.5), [], "scaled down to a length of 0.5"),
    ):
        with pytest.raises(InvalidInputError, match=f"There are no curves where .*{said}"):
            dpcore.fit(folder, schema=schema, also=also, **asked)


@pytest.mark.slow
def test_a_worker_that_ends_has_its_hats_made_elsewhere(folder):
    local, address = at_hand(folder, BENT), "127.0.0.1"
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        protocol="tcp://",
        host=address,
        dashboard_address="127.0.0.1:0",
        memory_limit=0,
    ) as held:
        engine = DaskEngine.open(Files(str(folder), address=held.scheduler_address), SCHEMA, None)
        bent = engine.with_curves(BENT)
        with Client(held) as client:
            client.retire_workers([next(iter(client.scheduler_info()["workers"]))])
        for query in queries_of(BENT):
            assert np.array_equal(bent.answer(query), local.answer(query))
        engine.close()
