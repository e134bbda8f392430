"""The progress of a conversion: its stores."""

from dataclasses import astuple

import pandas as pd
import pytest

from dpcore import Schema
from dpcore_tables.commands.convert import StoresWritten
from dpcore_tables.store import convert_partitions

SCHEMA = {
    "columns": {
        "x": {"kind": "numeric", "lower": 0, "upper": 1},
        "y": {"kind": "label", "classes": ["no", "yes"]},
    }
}


@pytest.mark.slow
def test_stores_are_told_of_all_that_are_written(tmp_path):
    (tmp_path / "parts").mkdir()
    for name in "ab":
        table = pd.DataFrame({"x": [0.0, 1.0], "y": ["no", "yes"]})
        table.to_parquet(tmp_path / "parts" / f"{name}.parquet")
    stores = StoresWritten()
    out, schema = str(tmp_path / "out"), Schema.from_dict(SCHEMA)
    convert_partitions(str(tmp_path / "parts"), out, schema, on_store=stores.on_store)
    assert astuple(stores.look()) == ("converting", 2, 2, "2 of 2 stores")
