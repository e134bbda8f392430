"""Rows of units in a store: at most k rows of each, side by side and in one block.

The rows are first written to a file without a name, in the order of their source. Then at most k
rows of each unit are kept, by fresh coins, and the units are put in the order of random words, one
for each: a keyed hash of its id whose key nobody keeps, and where equal words are no harm. So the
store has neither an id nor the order in which they came, but whether a row begins a unit, one byte.

All fits of a store share the coins of its conversion. That is within the theorem of
``dpcore.data.units``: given the coins, the kept rows of two tables that differ in one unit's rows
differ in up to k rows, all of that unit. So whatever is released of them, by however many runs, is
as private together as for a fixed choice, and the coins have one distribution on both tables.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import DataError
from dpcore.plugin.parts import Dataset
from dpcore.plugin.readers import UnitIds
from dpcore_tables.cells.weights import beside
from dpcore_tables.coded.rows import CodedRows
from dpcore_tables.store.format import STORE_ROWS
from dpcore_tables.store.reader import stored_rows
from dpcore_tables.store.writer import Origin, write_pieces

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
    weight: str | None = None,
    coins: Callable[[int], bytes] = os.urandom,
) -> Iterator[tuple[CodedRows, np.ndarray, np.ndarray]]:
    """Yield the blocks (rows, labels, which rows begin a unit as bool) of a store of units, each of
    the caller's own arrays; at most ``rows_per_unit`` rows of a unit are in them.

    ``ids`` : has those of all rows once ``pieces`` are read. ``folder`` : of the file without a
    name. ``weight`` : the column of the weights that are beside labels. ``coins`` : as
    ``Dataset.from_rows`` takes them.
    Raises OSError for a file that cannot be written, DataError as ``pieces`` do.
    """
    with tempfile.TemporaryFile(dir=folder) as file:
        of_rows = schema.with_units(None)
        write_pieces(file, pieces, of_rows, False, Origin(weight=weight or ""))
        file.flush()
        X, y, found = stored_rows("rows of units", file)
    y = beside(y, found.weights)
    places, is_first = _kept(y, ids, schema, coins)
    blocks, at_once = [*pairwise(_ends(is_first))], max(1, _BYTES_AT_ONCE // _block_bytes(X))
    for k in range(0, len(blocks), at_once):
        some = blocks[k : k + at_once]
        start = some[0][0]
        rows = _rows_at(X, places[start : some[-1][1]])
        for begin, end in some:
            yield rows[begin - start : end - start], y[places[begin:end]], is_first[begin:end]


def _kept(
    y: np.ndarray, ids: UnitIds, schema: Schema, coins: Callable[[int], bytes]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of the rows that are kept, those of a unit side by side, and which of them
    begin one."""
    if ids.units().size != y.size:
        raise DataError("The number of rows with a unit is not the number of rows.")
    # Places stand for rows, and are exact: rows of units are bounded by the core alone.
    rows = np.arange(y.size, dtype=np.float64)[:, np.newaxis], y
    kept = Dataset.from_rows("rows of units", rows, schema, ids=ids, coins=coins)
    words = np.frombuffer(coins(8 * kept.n_units), dtype="<u8")
    units: Any = kept.units
    # Stable: the rows of units of one word stay apart.
    order = np.argsort(words[units], kind="stable")
    places: Any = kept.X
    return places[order, 0].astype(np.int64), np.diff(units[order], prepend=-1) != 0


def _ends(is_first: np.ndarray) -> list[int]:
    """Return 0 and the places where blocks of whole units end, as a table's blocks will."""
    edges, ends = np.append(np.flatnonzero(is_first), is_first.size), [0]
    while ends[-1] < is_first.size:
        ends.append(int(edges[np.searchsorted(edges, ends[-1] + STORE_ROWS, "right") - 1]))
    return ends


def _block_bytes(X: StoredRows) -> int:
    layout = X.store.layout
    row = 4 * layout.numeric.size + layout.code_type.itemsize * (layout.starts.size - 1)
    return STORE_ROWS * max(1, row)


def _rows_at(X: StoredRows, places: np.ndarray) -> CodedRows:
    """Return the rows at some places, in their order, in arrays of their own."""
    layout, edges = X.store.layout, X.edges
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
