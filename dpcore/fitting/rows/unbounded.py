"""Rows whose numbers wait for bounds, by the package that reads tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpcore.data.dataset import Dataset
from dpcore.data.loader import file_loader

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema
    from dpcore.protocols import Engine

__all__ = ["bounded_schema", "encoded_rows", "dry_run_rows", "unbounded_rows"]

_WHAT = "columns whose bounds are still to be released"


def bounded_schema(schema: Schema, bounds: Mapping[str, tuple[float, float]]) -> Schema:
    """Return the schema with these bounds of its columns in waiting."""
    found = {column.name: column.between(*bounds[column.name]) for column in schema.unbounded}
    columns = (found.get(column.name, column) for column in schema.columns)
    return replace(schema, columns=tuple(columns))


def encoded_rows(dataset: Dataset, schema: Schema) -> Dataset:
    """Return the data set as the schema encodes it, to the bit, once bounds are there or numbers
    get hat functions; the same one if it is encoded so already. The rows in waiting stay as they
    are. Rows that came without units are without them in the result, whatever the schema says: they
    are tested on."""
    if not dataset.schema.unbounded and dataset.schema.columns == schema.columns:
        return dataset
    if dataset.units is None:
        schema = schema.with_units(None)
    return Dataset.by_loader(_WHAT, lambda loader: loader.bounded(dataset, schema))


def dry_run_rows(dataset: Dataset, schema: Schema) -> Dataset:
    """Return no rows of the data set, encoded as it will be by ``schema`` once its bounds are
    there: what cannot be encoded then is refused now, while nothing is charged."""
    bounds = {column.name: (0.0, 1.0) for column in schema.unbounded}
    none = dataset.take(np.zeros(dataset.X.shape[0], dtype=bool))
    return encoded_rows(none, bounded_schema(schema, bounds))


def unbounded_rows(dataset: Dataset) -> Engine:
    """Return an engine over the cells in waiting of encoded rows; no other query can be asked of
    it. InvalidInputError for more rows of a unit than are used."""
    dataset.require_bounded()
    engine: Engine = file_loader(_WHAT).unbounded_rows(dataset)
    return engine
