"""Partitions and clusters that cannot be used are refused before any release, in one line."""

import itertools
import os
import socket
import tempfile
import threading
import time
from dataclasses import replace
from importlib import metadata

import numpy as np
import pandas as pd
import pytest
from distributed import Client

import dpcore
from dpcore import Schema
from dpcore.errors import DataError, EngineError, InvalidInputError
from dpcore.plugin import RowCount
from dpcore.plugin.engines import Files, Registered
from dpcore_dask import cluster as clusters
from dpcore_dask import registered, stores
from dpcore_dask.engine import DaskEngine
from dpcore_dask.files import FileSource
from dpcore_dask.partition import Partition
from dpcore_dask.versions import require_versions
from dpcore_tables.store import convert


def test_a_partition_opened_anew_says_nothing_of_its_rows(folder, schema):
    path = folder / "4.parquet"
    recipe = FileSource(str(path), schema, "refuse", ())
    seal = Partition(recipe).facts().seal
    rows = pd.read_parquet(path)
    column = rows.columns[0]
    rows[column] = rows[column].astype(object)
    rows.loc[0, column] = "text"
    rows.astype({column: str}).to_parquet(path)
    for ask in (Partition.answer, Partition.dry_run):
        with pytest.raises(DataError, match="4.parquet: the partition was changed") as told:
            ask(Partition(recipe), RowCount("l2"), seal)
        assert "row" not in str(told.value).replace("rows", "")
    # A twin that opens it without that look says what is in a row.
    with pytest.raises(DataError, match="row 1"):
        Partition(recipe).facts()


def test_a_store_of_another_schema_in_its_place_is_one_that_changed(folder, schema):
    path = folder / "4.dpcore"
    convert(folder / "4.parquet", path, schema)
    recipe = FileSource(str(path), schema, "refuse", ())
    seal = Partition(recipe).facts().seal
    convert(folder / "4.parquet", path, Schema.from_dict({**schema.to_dict(), "rows": 5}))
    with pytest.raises(DataError, match="4.dpcore: the partition was changed"):
        Partition(recipe).answer(RowCount("l2"), seal)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "dpcore"])
@pytest.mark.parametrize("change", ["written", "touched", "gone"])
def test_a_partition_that_changes_ends_all_answers(opened, folder, schema, kind, change):
    path = folder / f"2.{kind}"
    if kind == "dpcore":
        convert(folder / "2.parquet", path, schema)
    engine, query = opened(path), RowCount("l2")
    engine.answer(query)
    before, content = os.stat(path), path.read_bytes()
    if change == "written":
        path.write_bytes(content + b"\n")
    elif change == "touched":
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    else:
        path.unlink()
    with pytest.raises(DataError, match="2.*(changed|not there)"):
        engine.answer(query)
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(DataError, match="2.*(changed|not there)"):
        engine.answer(query)


def test_a_partition_opened_anew_has_to_have_the_rows_it_had(opened, folder, schema):
    # As on another worker: a file of the same size and time, and other rows.
    path = folder / "4.parquet"
    recipe = FileSource(str(path), schema, "refuse", ())
    there, query = Partition(recipe), RowCount("l2")
    seal = there.facts().seal
    part = Partition(recipe).answer(query, seal)
    assert np.array_equal(part, there.answer(query, seal))
    before, rows = os.stat(path), pd.read_parquet(path)
    content = path.read_bytes()
    rows.iloc[::-1].to_parquet(path)
    with open(path, "ab") as file:
        file.truncate(max(before.st_size, file.tell()))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    if path.stat().st_size == before.st_size:
        with pytest.raises(DataError, match="changed while it was in use"):
            Partition(recipe).answer(query, seal)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="city"), "1.parquet.*city"),
        (lambda t: t.assign(y="perhaps"), "4.parquet"),
    ],
)
def test_a_partition_of_other_columns_is_named(opened, folder, change, message):
    name = message[:9]
    change(pd.read_parquet(folder / "4.parquet")).to_parquet(folder / name)
    with pytest.raises(DataError, match=message):
        opened(folder)


def test_weights_of_a_store_are_not_left_out(opened, folder, schema):
    pd.read_parquet(folder / "4.parquet").assign(age=1.0).to_parquet(folder / "5.parquet")
    convert(folder / "5.parquet", folder / "4.dpcore", schema, weight="age")
    with pytest.raises(InvalidInputError, match="weights .* which only the engine local takes"):
        opened(folder / "4.dpcore", None)


@pytest.mark.slow
def test_stores_of_two_schemas_are_refused(opened, folder, schema):
    other = Schema.from_dict({**schema.to_dict(), "rows": 5})
    for i, by in ((2, schema), (4, other)):
        convert(folder / f"{i}.parquet", folder / f"{i}.dpcore", by)
    with pytest.raises(InvalidInputError, match="4.dpcore has another schema than .*2.dpcore"):
        opened(folder / "*.dpcore", None)
    with pytest.raises(InvalidInputError, match="4.dpcore has a schema of its own"):
        opened(folder / "*.dpcore")


@pytest.mark.slow
def test_a_cut_store_and_no_file_at_all(opened, folder, schema):
    convert(folder / "4.parquet", folder / "4.dpcore", schema)
    (folder / "4.dpcore").write_bytes((folder / "4.dpcore").read_bytes()[:-9])
    with pytest.raises(DataError, match="4.dpcore: the store is cut short"):
        opened(folder / "4.dpcore")
    with pytest.raises(DataError, match="would count twice"):
        opened(folder)
    with pytest.raises(DataError, match="not there"):
        opened(folder / "9.parquet")


def test_bad_rows_are_dropped_where_that_is_asked(opened, folder):
    rows = pd.read_parquet(folder / "4.parquet")
    rows.loc[:9, "y"] = "perhaps"
    rows.to_parquet(folder / "4.parquet")
    engine = opened(folder / "4.parquet", bad_rows="drop")
    assert (engine.rows.n_units, engine.rows.rows_dropped) == (8990, True)


def test_nothing_is_left_on_a_disk(opened, folder, schema, monkeypatch):
    made = []
    real = tempfile.mkdtemp

    def mkdtemp(*args, **options):
        found = real(*args, **options)  # several threads are here at once
        made.append(found)
        assert os.stat(found).st_mode & 0o777 == 0o700
        return found

    monkeypatch.setattr(stores.tempfile, "mkdtemp", mkdtemp)
    engine = opened(folder)
    # A busy scheduler may have a part opened twice, the second time still now.
    ends = time.monotonic() + 30
    while any(map(os.path.exists, made)) and time.monotonic() < ends:
        time.sleep(0.01)
    assert len(made) >= 5 and not any(map(os.path.exists, made))
    assert engine.answer(RowCount("l2")).size


def test_an_error_of_a_part_is_told_without_its_text(opened, folder):
    class Tells(RowCount):
        def answer_block(self, block):
            raise ValueError(f"a row: {block.rows()[0]}")

    with pytest.raises(EngineError, match="^ValueError in a worker's sum.$"):
        opened(folder / "4.parquet").answer(Tells("l2"))


def test_what_an_engine_of_files_has_not(cluster, folder, schema):
    engine = f"dask:{cluster.scheduler_address}"
    with pytest.raises(InvalidInputError, match="reads rows where its own processes are"):
        dpcore.fit(np.zeros((9, 2)), np.ones(9), engine=engine)
    stated = schema.to_dict()
    columns = [*stated["columns"], {"name": "id", "kind": "drop"}]
    of_units = {"columns": columns, "unit": "id", "rows_per_unit": 2}
    waiting = {"columns": [{"name": "age", "kind": "numeric"}, *stated["columns"][1:]]}
    for asked, reason in (
        ({"schema": of_units}, "may be in several files"),
        (
            {"schema": waiting, "also": [dpcore.PrivateBounds()]},
            "bounds of column 'age' are private",
        ),
        ({"schema": schema, "classes": (0, 1)}, "classes to be left to the schema"),
    ):
        with pytest.raises(InvalidInputError, match=reason):
            dpcore.fit(folder, engine=engine, **asked)
    with pytest.raises(InvalidInputError, match="takes no address"):
        dpcore.fit(folder, schema=schema, engine="local:tcp://127.0.0.1:1")


def test_a_scheduler_that_does_not_answer_is_one_line(folder, schema, monkeypatch):
    monkeypatch.setattr(clusters, "_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        closed = silent.getsockname()[1]
        for address, reason in (
            (f"tcp://127.0.0.1:{closed}", "No Dask scheduler answers"),
            ("nonsense", "such as tcp://HOST:8786: missing port number"),
            ("tcp://localhost", "such as tcp://HOST:8786: missing port number"),
            ("http://localhost:1", "such as tcp://HOST:8786: unknown address scheme"),
            (f"tls://127.0.0.1:{closed}", "needs certificates in Dask's configuration"),
        ):
            with pytest.raises(InvalidInputError, match=reason) as told:
                dpcore.fit(folder, schema=schema, engine=f"dask:{address}")
            assert "\n" not in str(told.value)


def test_what_listens_and_is_no_scheduler_is_one_line(folder, schema):
    # The first bytes of an answer are how many to expect: of this one 3 EiB, which ended in a
    # MemoryError.
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            came, _ = server.accept()
            with came:
                came.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" + 64 * b"x")
                came.recv(64)

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(InvalidInputError, match="No Dask scheduler answers") as told:
            dpcore.fit(folder, schema=schema, engine=f"dask:{address}")
        thread.join()
    assert "\n" not in str(told.value)


def test_a_worker_of_another_version_is_refused_before_the_data(opened, folder, monkeypatch):
    mine = clusters.own_versions()
    monkeypatch.setattr(clusters, "own_versions", lambda: {**mine, "numba": "0.1"})
    with pytest.raises(EngineError, match="worker tcp://.* has numba .*, and this process 0.1"):
        opened(folder / "no such folder")
    monkeypatch.setattr(clusters, "own_versions", lambda: mine)
    ask = Client.run_on_scheduler
    for package, others, told in (
        ("dpcore", {}, "The scheduler has dpcore not installed"),
        ("numba", {"numba": "0.1"}, "The scheduler has numba 0.1, and this process"),
    ):

        def answer(self, version, name, package=package, others=others):
            if name == package and not others:
                raise metadata.PackageNotFoundError(name)
            return others.get(name) or ask(self, version, name)

        monkeypatch.setattr(Client, "run_on_scheduler", answer)
        with pytest.raises(EngineError, match=told):
            opened(folder / "no such folder")
    with pytest.raises(EngineError, match="has numpy not installed"):
        require_versions(mine, {**mine, "numpy": None} | {"numpy": "not installed"})
    other = FileSource(str(folder / "4.parquet"), None, "refuse", (("numpy", "1"),))
    with pytest.raises(EngineError, match="A worker has numpy"):
        Partition(other).facts()


@pytest.mark.slow
def test_a_plugin_of_another_version_is_refused(opened, folder, monkeypatch):
    """A worker sums by its own class of a question, and the sensitivity is stated here."""
    mine = clusters.own_versions()
    assert {"dpcore-baselines", "dpcore-dp-agd"} <= mine.keys()
    monkeypatch.setattr(clusters, "own_versions", lambda: {**mine, "dpcore-baselines": "0.0.9"})
    with pytest.raises(
        EngineError, match=r"worker tcp://.* has dpcore-baselines .* process 0\.0\.9"
    ):
        opened(folder / "no such folder")
    monkeypatch.setattr(clusters, "own_versions", lambda: {**mine, "not-on-workers": "1"})
    opened(folder)
    name = str(folder / "4.parquet")
    joined = FileSource(name, None, "refuse", (("dpcore-dp-agd", "0.0.9"), ("not-there", "1")))
    with pytest.raises(EngineError, match="A worker has dpcore-dp-agd"):
        Partition(joined).facts()
    require_versions({"not-there": "1"}, {})
    for needed in ("numba", "dpcore-baselines"):
        with pytest.raises(EngineError, match=f"has {needed} not installed"):
            require_versions({needed: "1"}, {})


@pytest.mark.parametrize("what", ["another order", "another row"])
def test_parts_of_a_data_set_are_parts_of_one_whole(cluster, monkeypatch, what):
    """Each worker loads it for itself: of two orders, a row may be in two parts."""
    source = Registered("census-sim", cluster.scheduler_address)
    whole, loads = registered.load_whole(source.name), itertools.count()

    def load(name):
        """Return the rows, from the second load on with their halves exchanged, or one row less."""
        if next(loads) == 0:
            return whole
        half, all_but_one = whole.n_units // 2, np.arange(whole.n_units) > 0
        places = np.roll(np.arange(whole.n_units), half)
        return whole.take(places if what == "another order" else all_but_one)

    monkeypatch.setattr(registered, "load_whole", load)
    with pytest.raises(DataError, match="another one each time it is loaded"):
        DaskEngine.open(source, None, None)


def test_weights_of_a_data_set_are_not_left_out(cluster, monkeypatch):
    source = Registered("census-sim", cluster.scheduler_address)
    whole = registered.load_whole(source.name)
    weighted = replace(whole, weights=np.ones(whole.n_units))
    monkeypatch.setattr(registered, "load_whole", lambda name: weighted)
    with pytest.raises(InvalidInputError, match="weights"):
        DaskEngine.open(source, None, None)


@pytest.mark.parametrize("place", ["none.parquet", "none/*.dpcore", "none"])
def test_files_that_are_not_there_start_no_workers(folder, schema, monkeypatch, place):
    def starts(n_workers):
        raise AssertionError("workers were started")

    monkeypatch.setattr(clusters, "_local_cluster", starts)
    with pytest.raises(DataError, match="none.*not there|No such file: .*none"):
        dpcore.fit(folder / place, schema=schema, engine="dask")
    with pytest.raises(AssertionError, match="workers were started"):
        dpcore.fit(folder, schema=schema, engine="dask")


def test_dask_itself_is_an_extra(monkeypatch, folder, schema):
    monkeypatch.setattr(clusters, "find_spec", lambda name: None)
    with pytest.raises(InvalidInputError, match="the extra dask brings"):
        DaskEngine.open(Files(str(folder)), schema, 1)
