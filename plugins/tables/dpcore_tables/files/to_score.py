"""Rows that a model is to score: a data set by name or a file, whose labels need not be there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import Registry, Table, load_registry
from dpcore_tables.files.loading import feature_pieces, require_known

if TYPE_CHECKING:
    import numpy as np

    from dpcore import Schema
    from dpcore.plugin.engines import BadRows
    from dpcore_tables.files.passthrough_column import PassthroughColumn
    from dpcore_tables.store.encoded import Rows

__all__ = ["feature_rows"]


def feature_rows(
    data: str,
    schema: Schema,
    bad_rows: BadRows = "refuse",
    texts: PassthroughColumn | None = None,
) -> Iterator[tuple[Rows, np.ndarray | None]]:
    """Yield the feature rows of a registered data set or of a file, in pieces, and which of its
    rows they are. A label column may be absent. Each piece is lent until the next is asked for; the
    rows are bool, None for all of them. ``texts`` : as of ``feature_batches``.

    Raises InvalidInputError for a name of neither, or a data set that has not the encoding of
    ``schema``; as ``feature_pieces`` for a file, on the way.
    """
    if not Registry.has("dataset", data):
        require_known(data)
        yield from feature_pieces(data, schema, bad_rows, texts)
        return
    dataset = load_registry().load("dataset", data)()
    if difference := _difference(dataset.schema, schema):
        raise InvalidInputError(
            f"The rows of the data set {data} are not those that the model takes: {difference}."
        )
    for begin in range(0, dataset.X.shape[0], Table.BLOCK_ROWS):
        yield dataset.X[begin : begin + Table.BLOCK_ROWS], None


def _difference(own: Schema, asked: Schema) -> str:
    """Return how a data set's features differ from those of a schema, as a clause, or nothing."""
    if (own.width, asked.width) != (None, None):
        given = f"{own.n_features - own.intercept} unnamed or encoded features"
        alike = (own.width, own.norm, own.intercept) == (asked.width, asked.norm, asked.intercept)
        return "" if alike else f"it has {given}, or another row_norm or intercept"
    columns = {column.name: column for column in own.features}
    for column in asked.features:
        if column.name not in columns:
            return f"it has no column {column.name!r}"
        if columns[column.name] != column:
            return f"its column {column.name!r} has other bounds or categories"
    if (own.features, own.crosses) != (asked.features, asked.crosses):
        return "it has other columns or crosses beside them, or another order"
    alike = (own.norm, own.intercept) == (asked.norm, asked.intercept)
    return "" if alike else "it has another row_norm or intercept"
