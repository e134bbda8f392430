"""Encoded rows of files, of folders, of stores and of frames: what the core asks of them."""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpcore import Schema
from dpcore.errors import DataError, InvalidInputError, near_names
from dpcore.plugin.engines import BadRows
from dpcore.plugin.parts import Dataset, load_registry
from dpcore.plugin.readers import FileLoader, UnitIds
from dpcore_tables.bounds.unbounded import with_private_bounds
from dpcore_tables.bounds.unbounded_rows import UnboundedRows, bounded_rows
from dpcore_tables.cells.error_hints import advice_on
from dpcore_tables.cells.weights import read_by, weights_apart
from dpcore_tables.curves import curved, curved_schema
from dpcore_tables.databases.address import refuse_query
from dpcore_tables.files.formats import (
    STORE,
    claim_of,
    entry_of,
    format_of,
    is_store,
    loaded,
    query_of,
    store_of,
)
from dpcore_tables.files.input_paths import is_there, name_of, partition_files, refuse_stores
from dpcore_tables.files.read_progress import watched
from dpcore_tables.files.row_part import rows_of_part
from dpcore_tables.files.schema_advice import check_target, schema_advice
from dpcore_tables.files.stream import (
    check_bad_rows,
    encoded_rows,
    feature_batches,
    named_schema,
    open_entry,
)
from dpcore_tables.kinds.crosses import crosses_of
from dpcore_tables.kinds.numeric import number_from
from dpcore_tables.memory.frames import frame_of
from dpcore_tables.memory.rows import (
    dataset_in_memory,
    features_in_memory,
    labels_declare_truth,
)
from dpcore_tables.raw.reader import ReadFacts
from dpcore_tables.schemas.documents import schema_file, schema_keys, schema_toml
from dpcore_tables.schemas.wildcards import expanded

if TYPE_CHECKING:
    import numpy as np

    from dpcore.plugin.parts import Registration
    from dpcore_tables.files.passthrough_column import PassthroughColumn
    from dpcore_tables.store.encoded import Rows

__all__ = ["FILES", "feature_pieces", "require_file", "require_known", "schema_of"]

_REQUESTED = "dpcore_tables.files.requested"
_INFO = "dpcore_tables.commands.info_model"


def _load(
    path: str | os.PathLike[str],
    schema: Schema | None,
    *,
    target: str | None = None,
    format: str | None = None,
    bad_rows: BadRows = "refuse",
    name: str | None = None,
    coins: Callable[[int], bytes] = os.urandom,
    weight: str | None = None,
) -> Dataset:
    """Return the encoded rows of a file, as ``Dataset.from_file`` does."""
    source = os.fspath(path)
    if not os.path.isfile(source):
        refuse_stores(source)
    entry = entry_of(source, format)
    if entry.kind == STORE:
        return _load_store(source, entry, schema, target, name, weight)
    if schema is None:
        raise InvalidInputError(schema_advice(source, format, target))
    if target is not None:
        check_target(target, schema)
    if schema.wildcards:
        schema = named_schema(source, schema, entry.name)
    return _read(entry, source, schema, bad_rows, name or name_of(source), coins, weight)


def _read(
    entry: Registration,
    source: str,
    schema: Schema,
    bad_rows: BadRows,
    name: str,
    coins: Callable[[int], bytes],
    weight: str | None,
) -> Dataset:
    """Return the encoded rows of a file, as a registered reader reads it. Those of a query stay in
    a store, but for what a store does not hold: ids of units, and rows without bounds."""
    from dpcore_tables.files import assemble
    from dpcore_tables.store.nameless import nameless_rows

    ids = None if schema.unit is None else UnitIds()
    check_bad_rows(bad_rows)
    facts = ReadFacts(read_by(schema, weight), drop=bad_rows == "drop")
    file = open_entry(entry, source, facts)
    pieces = encoded_rows(file, source, schema, bad_rows, True, ids, weight)
    claim = claim_of(entry, source, schema)
    is_stored = claim and ids is None and not schema.unbounded
    rows = nameless_rows(pieces, schema, weight) if is_stored else assemble(pieces)
    data = weights_apart(Dataset.from_rows(name, rows, schema, ids=ids, coins=coins))
    return replace(
        data,
        rows_dropped=bad_rows == "drop",
        typed_by=claim or ("file" if entry.data["typed"] else None),
        read_by=entry.named_parts(),
        query=query_of(entry, source),
    )


def feature_pieces(
    path: str | os.PathLike[str],
    schema: Schema,
    bad_rows: BadRows = "refuse",
    texts: PassthroughColumn | None = None,
) -> Iterator[tuple[Rows, np.ndarray | None]]:
    """Yield the feature rows of a file whose label column may be absent, in pieces, and which of
    its rows they are. Each piece is lent until the next is asked for; the rows are bool, None for
    all of them. ``texts`` : as of ``feature_batches``.

    Raises as ``from_file``, on the way. Under ``bad_rows="drop"`` rows lack those with a cell that
    does not satisfy the schema.
    """
    if is_store(source := os.fspath(path)):
        # Whose rows are scored does not matter.
        of_rows = schema.with_units(None)
        data = _load_store(source, entry_of(source), of_rows, None, None, is_scored=True)
        if data.units is not None:
            raise InvalidInputError(
                f"The rows of {source} are in another order than those that it was made of, and "
                "some are left out: name its source."
            )
        # A model's own hat functions follow from what the store holds.
        as_stored = _of_rows(of_rows) == _of_rows(data.schema)
        stored: Any = data.X if as_stored else curved(data.X, of_rows)
        pieces = stored.pieces() if hasattr(stored, "pieces") else (stored,)
        yield from ((rows, None) for rows in pieces)
    else:
        yield from feature_batches(path, schema, bad_rows=bad_rows, texts=texts)


def _load_store(
    path: str,
    entry: Registration,
    schema: Schema | None,
    target: str | None,
    name: str | None,
    weight: str | None = None,
    is_scored: bool = False,
) -> Dataset:
    """Return the rows of a store, which has a schema of its own: another one must agree with it,
    but for hat functions where rows are scored."""
    if schema is not None:
        schema.require_bounds()
    X, y, description = loaded(entry).open(path)
    own = description.schema
    check_target(target, own)
    schema = schema and schema.for_names([column.name for column in own.columns])
    if schema is not None and schema.unit is not None and schema.units != own.units:
        raise InvalidInputError(
            f"The store {path} has no units by {schema.unit!r}, or another number of rows of each: "
            "convert its source with this schema."
        )
    bent = curved_schema(own) if is_scored else own
    if schema is not None and _of_rows(schema) not in (_of_rows(own), _of_rows(bent)):
        raise InvalidInputError(
            f"The rows of {path} were converted with another schema than this run's; convert them "
            "again with it."
        )
    if weight is not None and weight != getattr(description, "weight", ""):
        raise InvalidInputError(
            f"The store {path} has no weights {weight!r} of its rows: convert its source with "
            f"--weight {weight}."
        )
    if weight is None and not is_scored:
        _tell_of_weights(path, getattr(description, "weight", ""))
    weights = None if weight is None else description.weights
    units = getattr(description, "units", None)
    data = Dataset(name or os.path.basename(path), X, y, own, units=units, weights=weights)
    return replace(
        data,
        rows_dropped=description.rows_dropped,
        typed_by=getattr(description, "claim", "") or ("file" if description.is_typed else None),
        read_by=(*entry.named_parts(), *getattr(description, "read_by", ())),
        query=getattr(description, "query", ""),
    )


def _tell_of_weights(path: str, weight: str) -> None:
    """Say that the weights of a store's rows are left out, if it has some: a public fact of it."""
    if weight:
        logging.getLogger("dpcore").warning(
            "dpcore: warning: %s has weights %r of its rows, which are left out: each row counts "
            "once. --weight %s --weight-bound NUMBER of train and tune (sample_weight="
            "Weights(%r, bound=NUMBER) in Python) takes them.",
            *(path, weight, weight, weight),
        )


def _of_rows(schema: Schema) -> tuple[Any, ...]:
    """Return all that encoded rows depend on besides the cells' notation."""
    return schema.columns, schema.crosses, schema.width, schema.norm, schema.intercept


def require_known(data: str) -> None:
    """Raise InvalidInputError for what is neither a file nor a data set."""
    if "?query=" in data:
        refuse_query(data)
    if not is_there(data) and not _looks_like_a_path(data):
        hint = near_names(data, load_registry().names("dataset"))
        raise InvalidInputError(f"{data!r} is neither a file nor a data set.{hint}")


def _looks_like_a_path(text: str) -> bool:
    return os.sep in text or bool(os.path.splitext(text)[1])


def require_file(path: str) -> None:
    """Raise DataError for what cannot be read."""
    # A store that is not there may be in the making, which its reader tells.
    if os.path.isfile(path) or path.endswith(".dpcore"):
        return
    if "://" in path and format_of(path):  # A registered reader says whether it is there.
        return
    if not (is_there(path) and format_of(path) in ("csv", "parquet")):
        reason = "it is no file" if os.path.exists(path) else "no such file"
        raise DataError(f"Cannot read {path!r}: {reason}.")


def schema_of(path: str) -> Schema | None:
    """Return the schema of a file that keeps its own, if it is one and there."""
    store = store_of(path) if os.path.isfile(path) else None
    return None if store is None else store.schema(path)


def _later(module: str, name: str) -> Callable[..., Any]:
    """Return a function that is imported when it is called."""

    def called(*asked: Any, **options: Any) -> Any:
        return getattr(importlib.import_module(module), name)(*asked, **options)

    return called


FILES = FileLoader(
    load=_load,
    pieces=feature_pieces,
    require_known=require_known,
    format_of=format_of,
    schema_of=schema_of,
    partitions=partition_files,
    requested=_later(_REQUESTED, "requested"),
    tested=_later(_REQUESTED, "tested"),
    source_of=_later(_REQUESTED, "source_of"),
    with_schema=_later(_REQUESTED, "with_schema"),
    schema_of_rows=_later(_REQUESTED, "schema_of_rows"),
    predict=_later("dpcore_tables.commands.predict", "predict"),
    info=_later(_INFO, "info_of_file"),
    schema_lines=_later(_INFO, "schema_lines"),
    rows=dataset_in_memory,
    features=features_in_memory,
    frame_of=frame_of,
    declares_truth=labels_declare_truth,
    schema_keys=schema_keys,
    schema_file=schema_file,
    schema_toml=schema_toml,
    schema_columns=expanded,
    with_private_bounds=with_private_bounds,
    number=number_from,
    crosses=crosses_of,
    advice=advice_on,
    bounded=bounded_rows,
    with_curves=_later("dpcore_tables.curves", "fitted_with_curves"),
    unbounded_rows=UnboundedRows,
    rows_of_part=rows_of_part,
    watched=watched,
)
"""Files, and rows in memory, as the core asks for them."""
