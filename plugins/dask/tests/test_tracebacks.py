"""No error about rows of a cluster carries a cell, or a library's error that may quote one."""

import traceback

import numpy as np
import pandas as pd
import pytest

import dpcore
from dpcore.errors import DpcoreError

CANARY = "Ypsilanti-Canary"
ROWS = {"age": [41.0, 42.0], "city": ["Bern", "Basel"], "y": ["no", "yes"]}
ODD = {
    "text for a number": {"age": ["41", CANARY]},
    "lists": {"city": [[CANARY], ["Bern"]]},
    "a label": {"y": [CANARY, "no"]},
    "dates": {"age": pd.to_datetime(["2020-01-01", "2021-01-01"])},
    "bytes": {"city": [CANARY.encode() + b"\xff", b"Bern"], "y": [b"\xff" + CANARY.encode(), b""]},
}


def clean(error):
    told = [*traceback.format_exception(error), repr(error), repr(vars(error))]
    assert isinstance(error, DpcoreError)
    assert (error.__context__, error.__cause__) == (None, None)
    assert CANARY not in "".join(told)


@pytest.mark.parametrize("kind", ODD)
def test_errors_of_files_and_frames_on_workers(opened, cluster, schema, tmp_path, kind):
    import dask.dataframe as dd

    pd.DataFrame(ROWS | ODD[kind]).to_parquet(tmp_path / "0.parquet")
    with pytest.raises(DpcoreError) as told:
        opened(tmp_path / "0.parquet")
    clean(told.value)
    if kind in ("lists", "bytes"):  # A cell of objects that is no category; and Dask's own refusal.
        return
    frame = pd.DataFrame({k: pd.Series(v, dtype=object) for k, v in (ROWS | ODD[kind]).items()})
    asked = {"schema": schema, "engine": f"dask:{cluster.scheduler_address}", "seed": 1}
    with pytest.raises(DpcoreError) as told:
        dpcore.fit(dd.from_pandas(frame, npartitions=1), **asked)
    clean(told.value)


def test_an_error_that_dask_makes_of_a_partition(cluster, schema):
    import dask.dataframe as dd

    def broken(part):
        raise ValueError(CANARY + str(np.sum(part["age"])))

    frame = dd.from_pandas(pd.DataFrame(ROWS), npartitions=1)
    frame = frame.map_partitions(broken, meta=pd.DataFrame(ROWS))
    with pytest.raises(DpcoreError) as told:
        dpcore.fit(frame, schema=schema, engine=f"dask:{cluster.scheduler_address}", seed=1)
    clean(told.value)
