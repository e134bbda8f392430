"""Delimited text, with commas or blanks between cells, with named columns or a width."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from dpcore.data.conform import to_numbers
from dpcore.data.raw_matrix import RawMatrix
from dpcore.data.raw_table import RawTable
from dpcore.data.readers.csv import arrow_type, first_width, read_csv, read_delimited
from dpcore.data.readers.lines import utf8_lines
from dpcore.data.readers.whitespace import to_single_spaces
from dpcore.data.schema import Schema

__all__ = ["read_text", "read_text_matrix"]

_LABEL = "label"


def read_text(
    content: bytes,
    source: str,
    schema: Schema,
    *,
    labelled: bool = True,
    drop: bool = False,
    separator: str = ",",
) -> RawTable:
    """Return the schema's columns. ``separator`` : what the file's name says, which holds unless
    the schema sets one. A line that is not UTF-8 is a bad row. Raises as ``read_csv``."""
    content = utf8_lines(content, source, drop=drop, header=schema.header)
    content, separator, quote = _layout(content, schema, separator)
    return read_csv(
        content, source, schema, separator=separator, labelled=labelled, drop=drop, quote=quote
    )


def read_text_matrix(
    content: bytes,
    source: str,
    schema: Schema,
    *,
    labelled: bool = True,
    drop: bool = False,
    separator: str = ",",
) -> RawMatrix:
    """Return rows of ``schema.width`` numbers and, last, the label, which may be absent where
    ``labelled`` is false. A cell that is no number becomes NaN. Raises as ``read_csv``."""
    content = utf8_lines(content, source, drop=drop, header=schema.header)
    content, separator, quote = _layout(content, schema, separator)
    width = schema.width or 0
    features = [f"x{i}" for i in range(1, width + 1)]
    names = [*features, _LABEL]
    if not labelled and first_width(content, separator, quote) == width:
        names.pop()
    types = dict.fromkeys(features, pa.float64())
    if labelled:
        types[_LABEL] = arrow_type(schema.label)
    raw = read_delimited(
        content,
        source,
        names,
        types,
        header=schema.header,
        separator=separator,
        missing=schema.missing,
        drop=drop,
        quote=quote,
    )
    X = np.empty((raw.n_rows, width))
    for j, name in enumerate(features):
        X[:, j] = to_numbers(raw.columns[name], schema.missing)
    return RawMatrix(X, raw.columns.get(_LABEL), source, raw.where)


def _layout(content: bytes, schema: Schema, separator: str) -> tuple[bytes, str, str | None]:
    """Return the content, its separator and its quote character."""
    if schema.separator != ",":
        separator = schema.separator
    if separator == "whitespace":
        return to_single_spaces(content), " ", None
    return content, separator, '"'
