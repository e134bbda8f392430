"""Files of rows to stores of encoded rows, in bounded memory."""

from __future__ import annotations

import os
from typing import Any

from dpcore import Schema
from dpcore.errors import InvalidInputError
from dpcore.plugin.engines import BadRows
from dpcore.plugin.parts import PrivacyStatement, load_registry
from dpcore.plugin.readers import UnitIds
from dpcore_tables.files.formats import (
    STORE,
    claim_of,
    entry_of,
    is_store,
    is_typed,
    query_of,
    store_of,
)
from dpcore_tables.files.stream import encoded_batches, named_schema
from dpcore_tables.store.contract import RowStore
from dpcore_tables.store.unit_blocks import bounded_blocks
from dpcore_tables.store.writer import write_rows, write_unit_blocks

__all__ = ["convert", "store_at"]


def store_at(path: str) -> RowStore:
    """Return the kind of store that a path names; dpcore's own, which says what the name is to be,
    where it names none."""
    found = store_of(path)
    if found is None:
        found = load_registry(STORE).load(STORE, "dpcore")
    return found


def convert(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    schema: Schema,
    *,
    format: str | None = None,
    bad_rows: BadRows = "refuse",
    weight: str | None = None,
) -> None:
    """Write the rows of a file to the store ``out``, in bounded memory.

    The rows are beside ``out`` under another name until all of them are written; then ``out``
    appears, or is replaced, at once. What an interrupted run left is begun anew by the next one.
    The file can be read by its owner only. Where the schema has units, at most ``rows_per_unit``
    rows of each are kept, once for all fits of the store (``dpcore_tables.store.unit_blocks``);
    all ids, and some words for each row, are in memory then. ``weight`` : the column of weights,
    which the store keeps for fits that ask for them.

    Raises InvalidInputError for a source that is a store, a schema with a width (a store has named
    columns), units in another kind of store than dpcore's, a path that cannot be written (a full
    disk too: nothing is left behind) or that another process is writing, and as ``encoded_batches``
    does.
    """
    if is_store(os.fspath(source), format):
        raise InvalidInputError(f"{os.fspath(source)} is a store already; copy the file.")
    if schema.width is not None:
        raise InvalidInputError(
            "A store has named columns, and this schema describes unnamed features by a width; "
            "train on the file itself."
        )
    schema.require_bounds()
    target = os.fspath(out)
    store = store_at(target)
    store.check_target(target)
    schema = named_schema(source, schema, format)
    ids = None if schema.unit is None else UnitIds()
    if ids is not None and store.write is not write_rows:
        raise InvalidInputError(f"{target!r} is a store that holds no units.")
    pieces = encoded_batches(
        source, schema, format=format, bad_rows=bad_rows, ids=ids, weight=weight
    )
    stated = bad_rows == "drop", is_typed(os.fspath(source), format)
    reader = entry_of(os.fspath(source), format)
    others: dict[str, Any] = {"claim": claim_of(reader, os.fspath(source), schema)}
    if store.write is write_rows:
        # A store of somebody's own has no place for it, and is named itself.
        others["read_by"] = PrivacyStatement.foreign_parts(reader.named_parts())
        others["query"] = query_of(reader, os.fspath(source))
        others["weight"] = weight
    elif weight is not None:
        raise InvalidInputError(f"{target!r} is a store that holds no weights.")
    elif others["claim"]:
        raise InvalidInputError(f"{target!r} is a store that cannot say what its rows rest on.")
    others = {key: value for key, value in others.items() if value}
    if ids is None:
        store.write(pieces, target, schema, *stated, **others)
    else:
        folder = os.path.dirname(os.path.realpath(target))
        blocks = bounded_blocks(pieces, ids, schema, folder, weight)
        write_unit_blocks(target, blocks, schema, *stated, **others)
