"""A store of encoded rows: numbers, codes and labels of NumPy's, and their schema, in one file."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore import Schema
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin.parts import OutFile
from dpcore_tables.coded import CodedRows
from dpcore_tables.files import assemble
from dpcore_tables.store import RowStore, coded_layout

__all__ = ["STORE"]


@dataclass(frozen=True)
class Stated:
    """What the file says of its rows."""

    schema: Schema
    rows_dropped: bool
    is_typed: bool


def write(
    pieces: Iterable[tuple[Any, np.ndarray | None]],
    out: str,
    schema: Schema,
    rows_dropped: bool,
    is_typed: bool,
) -> None:
    """Write the rows, which have to fit in memory; the file appears when it is whole."""
    X, y = assemble(pieces)
    if not isinstance(X, CodedRows) or y is None:
        raise InvalidInputError("Expected labelled rows with a column of categories to store.")
    stated = {"schema": schema.to_dict(), "dropped": rows_dropped, "typed": is_typed}
    content = io.BytesIO()
    np.savez(content, numeric=X.numeric, codes=X.codes, y=y, stated=json.dumps(stated))
    OutFile(out).write(content.getvalue(), mode=0o600)  # It is as private as the rows are.


def open_rows(path: str) -> tuple[CodedRows, np.ndarray, Stated]:
    """Return rows, labels and what is stated of them."""
    arrays = _arrays(path)
    stated = _stated(arrays)
    X = CodedRows(coded_layout(stated.schema), arrays["numeric"], arrays["codes"])
    return X, arrays["y"], stated


def read_schema(path: str) -> Schema:
    """Return the schema."""
    return _stated(_arrays(path)).schema


def check_target(out: str) -> None:
    """Refuse the name of a folder."""
    if os.path.isdir(out):
        raise InvalidInputError(f"{out!r} is a folder; name a file.")


def _arrays(path: str) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return dict(archive)
    except Exception as error:  # NumPy and zipfile name no complete set of errors.
        kind = type(error).__name__
    raise DataError(f"{path}: no whole store of encoded rows ({kind}).")


def _stated(arrays: dict[str, np.ndarray]) -> Stated:
    stated = json.loads(str(arrays["stated"]))
    return Stated(Schema.from_dict(stated["schema"]), stated["dropped"], stated["typed"])


STORE = RowStore(open_rows, write, read_schema, check_target)
