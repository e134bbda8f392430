"""Cells of coded rows that are stored as they are, and cannot change, are held once."""

import numpy as np

from dpcore.plugin.parts import Table
from dpcore_tables.coded.block import share


def test_only_the_stored_form_is_shared():
    values = Table.freeze(np.arange(6.0).reshape(2, 3).copy())
    assert share(values, values.copy()) is values
    for original in (
        Table.freeze(np.asfortranarray(values.copy())),
        Table.freeze(values.astype(np.float32)),
    ):
        copy = np.ascontiguousarray(original, dtype=np.float64)
        assert share(original, copy) is copy
    assert share(values[:, :2], values[:, :2].copy()) is not values
    other = values + 1
    assert share(values, other) is other
