"""Rows of units in a store: at most k rows of each, side by side and in one block.

The rows are first written to a file without a name, in the order of their source. Then at most k
rows of each unit are kept, by fresh coins, and each unit gets a random word, which is a keyed hash
of its id whose key is drawn for one conversion and thrown away. The store has the units in the
order of their words, so that neither an id nor the order in which they came is left in it, and whether
a row begins a unit, one byte.

All fits of a store share the coins of its conversion. That is within the theorem of
``dpcore.data.units``: given the coins, the rows kept of two tables that differ in one unit's rows
differ in up to k rows of it. So all that is released of them, of however many runs, is as private
together as it is for a fixed choice, and the coins have one law on both tables.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.data.units import Coins, UnitIds, ends_of_blocks, kept_places
from dpcore.errors import DataError
from dpcore_tables.coded.rows import CodedRows
from dpcore_tables.store.format import STORE_ROWS
from dpcore_tables.store.reader import stored_rows
from dpcore_tables.store.writer import write_pieces

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore_tables.store.rows import StoredRows

__all__ = ["bounded_blocks"]

_BYTES_AT_ONCE = 2**27
"""Of encoded rows that are in memory while the rows of units are brought side by side."""


def bounded_blocks(
    pieces: Iterable[tuple[Any, np.ndarray | None]],
    ids: UnitIds,
    schema: Schema,
    folder: str,
    coins: Coins = os.urandom,
) -> Iterator[tuple[CodedRows, np.ndarray, np.ndarray]]:
    """Yield the blocks (rows, labels, which rows begin a unit as bool) of a store of units, each of
    the caller's own arrays; at most ``rows_per_unit`` rows of a unit are in them.

    ``ids`` : has those of all rows once ``pieces`` are read. ``folder`` : of the file without a
    name. ``coins`` : as ``dpcore.data.units.bounded`` takes them.
    Raises OSError for a file that cannot be written, DataError as ``pieces`` do.
    """
    assert schema.units is not None
    with tempfile.TemporaryFile(dir=folder) as file:
        write_pieces(file, pieces, schema.with_units(None))
        file.flush()
        X, y, _ = stored_rows("rows of units", file)
    units = ids.units()
    if units.size != y.size:
        raise DataError("The number of rows with a unit is not the number of rows.")
    places, units = _in_order(units, schema.units.rows_per_unit, coins)
    is_first = np.diff(units, prepend=-1) != 0
    for begin, end, rows in _gathered(X, places, ends_of_blocks(units, units.size)):
        yield rows, y[places[begin:end]], is_first[begin:end]


def _in_order(units: np.ndarray, rows_per_unit: int, coins: Coins) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of the rows that are kept, by the words of their units, and the units as
    numbered in that order."""
    n_units = int(units.max(initial=-1)) + 1
    words = np.frombuffer(coins(8 * n_units), dtype="<u8")
    rank = np.empty(n_units, dtype=np.int64)
    rank[np.argsort(words, kind="stable")] = np.arange(n_units)
    ranked = rank[units]
    places = kept_places(ranked, rows_per_unit, coins)
    return places, ranked[places]


def _gathered(
    X: StoredRows, places: np.ndarray, ends: list[int]
) -> Iterator[tuple[int, int, CodedRows]]:
    """Yield begin, end and rows of each block; every pass over the stored rows fills many."""
    layout = X.store.layout
    a_row = 4 * layout.numeric.size + layout.code_type.itemsize * (layout.starts.size - 1)
    at_once = max(1, _BYTES_AT_ONCE // max(1, a_row * STORE_ROWS))
    blocks = [*pairwise(ends)]
    for k in range(0, len(blocks), at_once):
        some = blocks[k : k + at_once]
        start = some[0][0]
        rows = _rows_at(X, places[start : some[-1][1]])
        for begin, end in some:
            yield begin, end, rows[begin - start : end - start]


def _rows_at(X: StoredRows, places: np.ndarray) -> CodedRows:
    """Return the rows at some places, in their order, in arrays of their own."""
    layout, edges = X.store.layout, np.cumsum([0, *X.store.block_rows])
    numeric = np.empty((places.size, layout.numeric.size), dtype=np.float32)
    codes = np.empty((places.size, layout.starts.size - 1), dtype=layout.code_type)
    order = np.argsort(places, kind="stable")
    cuts = np.searchsorted(places[order], edges)
    for index, (low, high) in enumerate(pairwise(cuts)):
        if low < high:
            into = order[low:high]
            with X.block(index) as rows:
                taken = rows[places[into] - edges[index]]
                numeric[into], codes[into] = taken.numeric, taken.codes
    return CodedRows(layout, numeric, codes)
