"""Arrays that take memory only while they are looked at."""

import errno
import os

import numpy as np
import pytest

from dpcore.errors import EngineError
from dpcore_dask.files import FileSource
from dpcore_dask.partition import Partition
from dpcore_dask.shelf import Shelf


def test_arrays_are_what_they_were_and_may_be_written_where_they_might(tmp_path):
    shelf, rng = Shelf(str(tmp_path)), np.random.default_rng(0)
    given = [rng.random(n) for n in (0, 1, 9000, 100_000)] + [rng.integers(0, 9, (300, 2))]
    given[2].setflags(write=False)
    held = [shelf.keep(array) for array in given]
    shelf.release()
    for array, copy in zip(given, held, strict=True):
        assert copy.dtype == array.dtype and np.array_equal(copy, array)
        assert copy.flags.writeable == array.flags.writeable and copy.flags.c_contiguous
        assert shelf.keep(copy) is copy and (copy is not array or not array.size)
    assert not os.listdir(tmp_path)


def test_a_full_disk_is_told(monkeypatch, tmp_path):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(EngineError, match="local disk .No space left"):
        Shelf(str(tmp_path)).keep(np.ones(3))


def test_all_that_a_partition_keeps_of_rows_is_on_its_shelf(folder, schema, queries):
    held = Partition(FileSource(str(folder / "2.parquet"), schema, "refuse", ()))
    seal = held.facts().seal
    opened, shelf = held._open
    data = type("Facts", (), {"n_features": schema.n_features, "row_norm": 1.2})
    data.raw_norm_bound = schema.raw_norm_bound
    for query in queries(data):
        held.answer(query, seal)
        for block in opened.table.blocks:
            kept = [array for array in vars(block).values() if isinstance(array, np.ndarray)]
            kept += block._norms.values()
            assert len(kept) == 3 and all(map(shelf._has, kept))
            assert block._at is block._along is None
