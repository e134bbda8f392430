"""Arrays that take memory only while they are looked at."""

import errno
import os

import dask
import distributed
import numpy as np
import pytest

from dpcore.errors import EngineError
from dpcore_dask import cluster as clusters
from dpcore_dask import tasks
from dpcore_dask.files import FileSource
from dpcore_dask.mmap_store import MmapStore
from dpcore_dask.partition import Partition
from dpcore_dask.wire import unpacked


@pytest.mark.parametrize("claims", [True, False])
def test_arrays_are_what_they_were_and_may_be_written_where_they_might(
    claims, tmp_path, monkeypatch
):
    if not claims:  # As on macOS, whose files are filled instead.
        monkeypatch.delattr(os, "posix_fallocate")
    mmap_store, rng = MmapStore(str(tmp_path), 1000), np.random.default_rng(0)
    given = [rng.random(n) for n in (0, 1, 9000, 100_000)] + [rng.integers(0, 9, (300, 2))]
    given[2].setflags(write=False)
    held = [mmap_store.keep(array) for array in given]
    mmap_store.release()
    for array, copy in zip(given, held, strict=True):
        assert copy.dtype == array.dtype and np.array_equal(copy, array)
        assert copy.flags.writeable == array.flags.writeable and copy.flags.c_contiguous
        assert mmap_store.keep(copy) is copy and (copy is not array or not array.size)
    assert not os.listdir(tmp_path)


def test_a_full_disk_is_told(monkeypatch, tmp_path):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(EngineError, match="keep a partition on its local disk .No space left"):
        MmapStore(str(tmp_path), 0).keep(np.ones(3))
    monkeypatch.delattr(os, "posix_fallocate")
    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(EngineError, match="keep a partition on its local disk .No space left"):
        MmapStore(str(tmp_path), 0).keep(np.ones(3))


def test_all_that_a_partition_keeps_of_rows_is_on_its_shelf(folder, schema, queries):
    held = Partition(FileSource(str(folder / "2.parquet"), schema, "refuse", ()))
    seal = held.facts().seal
    opened = held._open
    data = type("Facts", (), {"n_features": schema.n_features, "row_norm": 1.2})
    data.raw_norm_bound = schema.raw_norm_bound
    for query in queries(data):
        held.answer(query, seal)
        for block in opened.table.blocks:
            kept = [array for array in vars(block).values() if isinstance(array, np.ndarray)]
            kept += block._norms.values()
            assert len(kept) == 3 and all(map(opened.mmap_store._has, kept))
            assert block._at is block._along is None


def test_a_partition_has_few_files_open_and_the_process_may_have_as_many_as_it_can(folder, schema):
    import resource

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = Partition(FileSource(str(folder / "2.parquet"), schema, "refuse", ()))
    Partition(FileSource(str(folder / "1.parquet"), schema, "refuse", ())).facts()
    before = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limits[1], 1024), limits[1]))
    try:
        held.facts()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (limits[1], limits[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    # Of 20,000 rows it had eleven, one for each doubling of the mmap_store: with the usual limit of
    # 1,024 a worker had room for 90 partitions, and an error without a reason for the next.
    assert len(os.listdir("/proc/self/fd")) - before == 4


def test_a_system_that_refuses_says_why(cluster):
    def refuse():
        raise OSError(errno.EMFILE, "of /secret")

    with cluster.get_client() as client:
        outcome = unpacked(client.submit(tasks._outcome, refuse, pure=False).result())
    with pytest.raises(EngineError, match="In a worker's sum: Too many open files.$"):
        outcome.get()


def test_workers_of_this_machine_keep_no_profile(monkeypatch):
    pytest.importorskip("cryptography", reason="needs the extra dpcore-dask[cluster]")
    asked = []

    def started(**_):
        asked.append(dask.config.get("distributed.worker.profile.enabled"))

    monkeypatch.setattr(distributed, "LocalCluster", started)
    clusters._local_cluster(1)
    assert asked == [False] and dask.config.get("distributed.worker.profile.enabled")
