"""Workers that end in a pass, a scheduler that is lost, and connections by certificates."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import dask
import dask.dataframe
import numpy as np
import pytest
from distributed import Client, KilledWorker, LocalCluster, Security

import dpcore
from dpcore.errors import DataError, EngineError, InvalidInputError
from dpcore.plugin import RowCount
from dpcore.plugin.engines import Files, FrameParts
from dpcore.session.dry_run import DryRun
from dpcore_dask import partition_workers, sources
from dpcore_dask.cluster import connected, lost_is_told
from dpcore_dask.engine import DaskEngine
from dpcore_dask.wire import packed
from dpcore_ledger import TableLedger, Terms

ON_WORKERS = str(Path(__file__).parent / "on_workers")


@pytest.fixture
def asked(monkeypatch):
    """Return the module of sums that workers can import too."""
    monkeypatch.syspath_prepend(ON_WORKERS)
    import dask_ends

    return dask_ends


def small_cluster(**options):
    held = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "memory_limit": 0}
    return LocalCluster(host="127.0.0.1", **held | options)


def opened(cluster, folder, schema):
    return DaskEngine.open(Files(str(folder), address=cluster.scheduler_address), schema, None)


@pytest.fixture(scope="module")
def forking():
    """The program that forks a worker for each line of its input: each that starts anew imports
    for seconds."""
    environment = {**os.environ, "PYTHONPATH": ON_WORKERS, "NUMBA_NUM_THREADS": "1"}
    program = [sys.executable, str(Path(ON_WORKERS, "forked_workers.py"))]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(program, env=environment, text=True, **pipes) as running:
        yield running


@pytest.fixture
def worker_processes(forking):
    """Return what starts so many workers that nobody starts again, and ends them."""

    @contextmanager
    def workers(cluster, count):
        started = []
        for _ in range(count):
            print(cluster.scheduler_address, file=forking.stdin, flush=True)
            started.append(int(forking.stdout.readline()))
        try:
            yield
        finally:
            for worker in started:
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)

    return workers


@pytest.mark.slow
def test_workers_that_are_killed_in_a_pass_cost_nothing_but_time(
    asked, folder, schema, tmp_path, worker_processes
):
    cluster = small_cluster(n_workers=0, processes=False, protocol="tcp://")
    with cluster, worker_processes(cluster, 3):
        with Client(cluster, set_as_default=False) as client:
            client.wait_for_workers(3, timeout=60)
        engine, query = opened(cluster, folder, schema), asked.EndsWorkers(str(tmp_path), times=2)
        try:
            for _ in range(2):
                assert engine.answer(query).tolist() == [100 + 32_001, 7]
            assert len(list(tmp_path.glob("ended-*"))) == 2
            assert len(cluster.scheduler.workers) == 1
        finally:
            engine.close()


@pytest.mark.slow
def test_a_pass_goes_on_with_workers_that_come_when_all_have_ended(
    asked, folder, schema, tmp_path, monkeypatch, worker_processes
):
    monkeypatch.setattr(partition_workers, "_SECONDS", 20)
    cluster = small_cluster(n_workers=0, processes=False, protocol="tcp://")
    with cluster, ExitStack() as later:
        with worker_processes(cluster, 1), Client(cluster, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=60)
            engine, query = opened(cluster, folder, schema), asked.EndsWorkers(str(tmp_path), 1)

            def start_another():
                while cluster.scheduler.workers:
                    time.sleep(0.01)
                later.enter_context(worker_processes(cluster, 1))

            thread = threading.Thread(target=start_another)
            thread.start()
            try:
                for _ in range(2):
                    assert engine.answer(query).tolist() == [100 + 32_001, 7]
            finally:
                thread.join()
                engine.close()


@pytest.mark.slow
def test_no_partition_is_bound_to_the_worker_that_opened_it(cluster, folder, schema, monkeypatch):
    def bound():
        found = cluster.scheduler.tasks.items()
        return [bool(t.worker_restrictions) for key, t in found if key.startswith("open_partition")]

    engine = opened(cluster, folder, schema)
    assert bound() == [False] * 5
    engine.close()
    # What is given to some workers alone waits for these, though others may have it too.
    monkeypatch.setattr(partition_workers, "_unbind", lambda client, futures: None)
    engine = opened(cluster, folder, schema)
    assert True in bound()
    engine.close()


@pytest.mark.slow
def test_a_file_that_changed_is_refused_by_the_worker_that_opens_it_next(
    asked, folder, schema, tmp_path, worker_processes
):
    cluster = small_cluster(n_workers=0, processes=False, protocol="tcp://")
    with cluster, worker_processes(cluster, 2):
        with Client(cluster, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        engine = opened(cluster, folder, schema)
        query = asked.ChangesAndEnds(str(folder), str(tmp_path / "changed"))
        try:
            for question in (query, RowCount("l2")):
                with pytest.raises(DataError, match="parquet: the partition was changed") as told:
                    engine.answer(question)
                assert " row" not in str(told.value)
            assert len(cluster.scheduler.workers) == 1 and (tmp_path / "changed").exists()
        finally:
            engine.close()


@pytest.mark.slow
@pytest.mark.parametrize("same", [True, False])
def test_a_frame_is_worked_out_again_where_a_worker_ended(
    asked, folder, parts, schema, tmp_path, same, worker_processes
):
    cluster = small_cluster(n_workers=0, processes=False, protocol="tcp://")
    with cluster, worker_processes(cluster, 2), Client(cluster) as client:
        client.wait_for_workers(2, timeout=60)
        paths = sorted(map(str, folder.glob("*.parquet")))
        read = asked.read_rows if same else asked.read_other_rows_again
        given = [dask.delayed(read)(path, str(tmp_path)) for path in paths]
        frame = dask.dataframe.from_delayed(given, meta=parts[0].iloc[:0], verify_meta=False)
        engine, query = DaskEngine.open(FrameParts(frame), schema, None), RowCount("l2")
        try:
            total = engine.answer(query)
            ends = asked.EndsWorkers(str(tmp_path), times=1)
            if same:
                for _ in range(2):
                    assert engine.answer(ends).tolist() == [100 + 32_001, 7]
                assert np.array_equal(engine.answer(query), total)
            else:
                for question in (ends, query):
                    with pytest.raises(DataError, match="of the frame: the partition was changed"):
                        engine.answer(question)
            assert len(cluster.scheduler.workers) == 1
        finally:
            engine.close()


def test_a_sum_that_ends_every_worker_is_told():
    with pytest.raises(EngineError, match="ended one after the other"), lost_is_told():
        raise KilledWorker("answer", None, 4)


@pytest.mark.slow
def test_a_lost_scheduler_is_told_and_the_charge_stays(asked, folder, schema, tmp_path):
    class Watched(RowCount):
        """Counts rows, slowly."""

        def answer_block(self, block):
            (tmp_path / "begun").touch()
            time.sleep(0.3)
            return super().answer_block(block)

    cluster = small_cluster(n_workers=1, processes=False, protocol="tcp://")
    engine = opened(cluster, folder, schema)

    def lose():
        while not (tmp_path / "begun").exists():
            time.sleep(0.01)
        cluster.close()

    thread = threading.Thread(target=lose)
    thread.start()
    try:
        for _ in range(2):
            with pytest.raises(EngineError, match="what was charged stays charged"):
                engine.answer(Watched("l2"))
    finally:
        thread.join()
        engine.close()


def test_a_lost_scheduler_is_told_without_tracebacks_of_the_client():
    # The client logs its failed attempts to connect again, each with a page of traceback.
    log = logging.getLogger("distributed.client")
    before = log.level
    with small_cluster(n_workers=1, processes=False, protocol="tcp://") as cluster:
        with connected(cluster.scheduler_address, None):
            assert not log.isEnabledFor(logging.ERROR)
        assert log.level == before < logging.CRITICAL


@pytest.mark.slow
def test_a_fit_whose_scheduler_is_lost_stays_charged_on_disk(folder, schema, tmp_path, monkeypatch):
    ledger, sums = TableLedger.create(tmp_path / "t.ledger", Terms.of(3.0, 1e-6)), []

    class Loses(partition_workers.Shares):
        def sums(self, query, seals):
            sums.append(query)
            if len(sums) == 2:
                cluster.close()
            return super().sums(query, seals)

    monkeypatch.setattr(sources, "Shares", Loses)
    cluster = small_cluster(n_workers=1, processes=False, protocol="tcp://")
    asked = {"schema": schema, "algo": "dp-gd", "epsilon": 1.0, "ledger": ledger.path}
    with pytest.raises(EngineError, match="what was charged stays charged") as told:
        dpcore.fit(folder, engine=f"dask:{cluster.scheduler_address}", **asked)
    assert len(sums) == 2 and "Charged, and spent" in " ".join(told.value.__notes__)
    (run,) = ledger.state().runs.values()
    assert run.outcome == "ended by EngineError" and ledger.state().spent(0).spent > 0


@pytest.mark.slow
def test_sums_are_not_waited_for_without_workers(folder, schema, monkeypatch):
    monkeypatch.setattr(partition_workers, "_SECONDS", 0.2)
    with small_cluster(n_workers=1, processes=False, protocol="tcp://") as cluster:
        engine = opened(cluster, folder, schema)
        cluster.scale(0)
        cluster.sync(cluster._correct_state)
        dry_run, query = DryRun(engine, None), RowCount("l2")
        for ask in (lambda: dry_run.ask(query, [query]), lambda: engine.answer(query)):
            with pytest.raises(EngineError, match="no worker"):
                ask()
        engine.close()


@pytest.mark.slow
def test_sums_that_end_with_their_worker_are_not_waited_for_either(folder, schema, monkeypatch):
    monkeypatch.setattr(partition_workers, "_SECONDS", 1.0)
    waited, query = partition_workers._wait, RowCount("l2")
    with small_cluster(n_workers=1, processes=False, protocol="tcp://") as cluster:
        engine = opened(cluster, folder, schema)
        assert engine.answer(query) > 0

        def wait_and_end(client, futures):
            waited(client, futures)
            cluster.scale(0)
            cluster.sync(cluster._correct_state)

        monkeypatch.setattr(partition_workers, "_wait", wait_and_end)
        with pytest.raises(EngineError, match="no worker"):
            engine.answer(query)
        engine.close()


def test_sums_that_come_slowly_are_waited_for_longer(monkeypatch):
    monkeypatch.setattr(partition_workers, "_wait", lambda client, futures: None)
    given = []

    class SlowLine:
        def gather(self):
            raise AssertionError

        def sync(self, gather, futures, callback_timeout):
            given.append(callback_timeout)
            if callback_timeout < 5 * partition_workers._SECONDS:  # A twin would ask for ever.
                assert len(given) < 9
                raise TimeoutError
            return [packed("sums")]

    assert partition_workers.outcomes_of(SlowLine(), []) == ["sums"]
    assert given == [times * partition_workers._SECONDS for times in (1, 2, 4, 8)]


@pytest.mark.slow
def test_certificates_are_taken_from_dasks_configuration(folder, schema):
    pytest.importorskip("cryptography", reason="needs the extra dpcore-dask[cluster]")
    made = Security.temporary()
    with small_cluster(n_workers=1, processes=False, security=made) as cluster:
        address = cluster.scheduler_address
        assert address.startswith("tls://")
        with pytest.raises(InvalidInputError, match="needs certificates in Dask.s configuration"):
            DaskEngine.open(Files(str(folder), address=address), schema, None)
        own = {
            "distributed.comm.require-encryption": True,
            "distributed.comm.tls.ca-file": made.tls_ca_file,
            "distributed.comm.tls.client.cert": made.tls_client_cert,
            "distributed.comm.tls.client.key": made.tls_client_key,
        }
        with dask.config.set(own):
            engine = opened(cluster, folder, schema)
            assert engine.answer(RowCount("l2")).size
            engine.close()
