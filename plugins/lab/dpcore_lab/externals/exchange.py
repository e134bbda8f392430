"""The files that an external algorithm is handed, and the predictions that it writes.

In a folder of its own are ``request.json``, ``train.arrow`` and ``test.arrow``; it writes
``predictions.arrow``. Tables are Arrow IPC files. Rows are as the schema encodes them, by public
facts alone: a number is in [0, 1] between its public bounds, and of one-hot features a column has
the level, or null for none.
"""

from __future__ import annotations

import json
import math
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from dpcore.errors import DataError, InvalidInputError, replacing
from dpcore_lab.externals.registry import CLASSES, NUMBER

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore.plugin.parts import Dataset

__all__ = ["PREDICTIONS", "Request", "check_rows", "read_predictions", "task_of", "write_request"]

FORMAT = "dpcore external 1"
PREDICTIONS, REQUEST, TRAIN, TEST = "predictions.arrow", "request.json", "train.arrow", "test.arrow"
LABEL, PREDICTION = "label", "prediction"
_MOST_FEATURES = 10_000
_BYTES_A_ROW, _BYTES_BESIDE = 64, 2**20


@dataclass(frozen=True)
class Request:
    """A fit that an external is asked for: rows to train on, rows to predict, and the budget."""

    train: Dataset
    test: Dataset
    epsilon: float
    delta: float
    relation: str
    seed: int | None = None


def task_of(schema: Schema) -> str:
    """Return ``"classes"`` or ``"number"``."""
    return NUMBER if schema.label.is_real else CLASSES


def check_rows(rows: Dataset) -> None:
    """Raise InvalidInputError, by public facts, for rows that no external is handed."""
    schema = rows.schema
    faults = (
        (schema.label.n_classes > 2, "three classes or more"),
        (schema.unit is not None, "units of several rows"),
        (rows.weights is not None, "weights"),
        (schema.n_features > _MOST_FEATURES, f"more than {_MOST_FEATURES:,} features"),
        (not (isinstance(rows.X, np.ndarray) or hasattr(rows.X, "toarray")), "a store"),
    )
    for holds, what in faults:
        if holds:
            raise InvalidInputError(f"External algorithms take no rows of {what}.")


def write_request(folder: Path, request: Request) -> None:
    """Write the files of a request, readable by their owner only, into a folder that is too."""
    train, schema = request.train, request.train.schema
    described = {
        "format": FORMAT,
        "task": task_of(schema),
        "epsilon": request.epsilon,
        "delta": request.delta,
        "relation": request.relation,
        "rows": schema.rows,
        "norm": _norm(schema),
        "seed": request.seed,
        "columns": _columns(schema),
        "label": _label(schema),
        "files": {"train": TRAIN, "test": TEST, "predictions": PREDICTIONS},
    }
    _write(folder / REQUEST, json.dumps(described, indent=1).encode())
    _write(folder / TRAIN, _arrow(train, labelled=True))
    _write(folder / TEST, _arrow(request.test, labelled=False))


def read_predictions(folder: Path, n_rows: int, task: str) -> np.ndarray:
    """Return the predictions, float64 of shape (n_rows,): of two classes the probability of the
    second.

    Raises DataError, with nothing of what was written, for what is no plain file of so many finite
    numbers, probabilities within [0, 1].
    """
    unreadable = DataError("wrote no Arrow file of one column of numbers, prediction.")
    content = _content(folder / PREDICTIONS, _BYTES_BESIDE + _BYTES_A_ROW * n_rows)
    with replacing(pa.ArrowException, OSError, ValueError, KeyError, by=lambda _: unreadable):
        table = pa.ipc.open_file(pa.py_buffer(content)).read_all()
        found: np.ndarray = table.column(PREDICTION).cast(pa.float64()).to_numpy()
    if table.num_columns != 1:
        raise unreadable
    if found.shape != (n_rows,):
        raise DataError("wrote more or fewer predictions than there are test rows.")
    if not np.isfinite(found).all():
        raise DataError("wrote predictions that are no finite numbers.")
    if task == CLASSES and (found.min(initial=0.0) < 0.0 or found.max(initial=0.0) > 1.0):
        raise DataError("wrote predictions that are no probabilities.")
    return found


def _content(path: Path, most: int) -> bytes:
    """Return the bytes of a plain file: what is read must be the external's own."""
    none = DataError("wrote no predictions.")
    refused = DataError("wrote predictions that are no plain file of a size that fits.")
    if path.is_symlink():
        raise refused
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with replacing(OSError, by=lambda _: none):
        descriptor = os.open(path, flags)
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_nlink != 1 or state.st_size > most:
            raise refused
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(most)
    finally:
        os.close(descriptor)


def _columns(schema: Schema) -> list[dict[str, Any]]:
    names, taken = [*schema.feature_names], set[str]()
    if schema.width is not None:
        bound = schema.row_norm
        ends = _number(-bound, bound)
        return [{"name": name, **ends} for name in names[: schema.width]]
    columns: list[dict[str, Any]] = []
    begin = 0
    for part in schema.parts:
        own, begin = names[begin : begin + part.width], begin + part.width
        if part.is_code:
            whole = _unused(own[0].partition("=")[0] if own else "", taken)
            columns.append({"name": whole, "kind": "category", "levels": own})
            continue
        for name in own:
            columns.append({"name": _unused(name, taken), **_number(0.0, 1.0)})
    return columns


def _number(lower: float, upper: float) -> dict[str, Any]:
    return {"kind": "number", "lower": lower, "upper": upper}


def _unused(name: str, taken: set[str]) -> str:
    """Return a name that no column has yet, the label's included."""
    while name in taken or name in (LABEL, ""):
        name += "_"
    taken.add(name)
    return name


def _label(schema: Schema) -> dict[str, Any]:
    label = schema.label
    if label.is_real:
        lower, upper = label.bounds
        return {"name": LABEL, "lower": lower, "upper": upper}
    return {"name": LABEL, "classes": [*map(str, label.names)]}


def _norm(schema: Schema) -> float:
    """Return a bound of the l2 norm of a row's numbers and its one-hot levels, rounded up."""
    if schema.width is not None:
        return schema.row_norm
    return math.nextafter(math.sqrt(schema.square - schema.intercept), math.inf)


def _arrow(rows: Dataset, *, labelled: bool) -> bytes:
    schema = rows.schema
    given: Any = rows.X
    X: np.ndarray = given if isinstance(given, np.ndarray) else given.toarray()
    arrays, begin = {}, 0
    for column in _columns(schema):
        width = len(column["levels"]) if column["kind"] == "category" else 1
        features, begin = X[:, begin : begin + width], begin + width
        arrays[column["name"]] = _array(features, column)
    if labelled:
        arrays[LABEL] = pa.array(_labels(rows))
    table = pa.table(arrays)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    return bytes(sink.getvalue())


def _array(features: np.ndarray, column: dict[str, Any]) -> pa.Array:
    if column["kind"] == "number":
        return pa.array(np.ascontiguousarray(features[:, 0], dtype=np.float64))
    codes = features.argmax(axis=1).astype(np.int32) if features.size else np.zeros(len(features))
    places = pa.array(codes.astype(np.int32), mask=~(features > 0).any(axis=1))
    return pa.DictionaryArray.from_arrays(places, pa.array(column["levels"], pa.string()))


def _labels(rows: Dataset) -> np.ndarray:
    """Return the target in its own unit, or the places of the classes."""
    label = rows.schema.label
    if label.is_real:
        middle, half = label.scale
        return middle + half * rows.y
    return label.places_of(rows.y)


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)
