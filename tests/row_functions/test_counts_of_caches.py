"""What caches of the process count is the same however many blocks the rows are in."""

import sys
import types

import numpy as np
import pandas as pd

from dpcore import Schema
from dpcore.plugin.parts import dataset_from_arrays, load_registry
from dpcore.row_functions import row_function


def calls_counted(n_rows):
    """Return how many calls the caches of this repository count while rows with hats are laid in
    blocks, and each block is asked for a function of its rows, by names of ours."""
    frame = pd.DataFrame({"x": np.linspace(0, 9, n_rows), "y": np.arange(n_rows) % 2 / 2})
    columns = {"x": {"kind": "numeric", "lower": 0, "upper": 9, "knots": 4}}
    columns["y"] = {"kind": "label", "lower": 0, "upper": 1}
    rows = dataset_from_arrays(frame, schema=Schema.from_dict({"columns": columns}))
    loss = load_registry().load("loss", "poisson")()
    kept = {
        name: each.cache_info
        for module in [*sys.modules]
        if module.startswith("dpcore")
        for name, each in [*vars(sys.modules[module]).items()]
        if callable(getattr(each, "cache_info", None))
    }
    before = {name: told().hits for name, told in kept.items()}
    for block in rows.table().blocks:
        loss.value(block.margins(np.zeros(rows.n_features)), block.y, np.empty(block.n_rows))
    return {name: told().hits - before[name] for name, told in kept.items()}


def test_no_cache_counts_blocks_of_rows(monkeypatch):
    calls_counted(10)
    assert calls_counted(10) == calls_counted(20_000)
    # The control: a loop that is asked of its cache for each of three blocks.
    monkeypatch.setattr(row_function, "_LOOPS", types.SimpleNamespace(get=lambda _: None))
    assert (calls_counted(10)["_loop"], calls_counted(20_000)["_loop"]) == (1, 3)
