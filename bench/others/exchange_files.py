"""The files of the exchange with ``dpcore_lab.externals``, as an external reads and writes them: by
pyarrow and NumPy alone, since each algorithm is in an environment of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

Request = dict[str, Any]

__all__ = ["Request", "columns_of", "is_number", "matrix", "run", "scaled_labels"]


def run(predict: Callable[[Request, pa.Table, pa.Table], np.ndarray]) -> None:
    """Answer the request in the folder that the last argument names by
    ``predict(request, train, test)``."""
    folder = Path(sys.argv[-1])
    request = json.loads((folder / "request.json").read_text())
    files = request["files"]
    found = predict(request, _read(folder / files["train"]), _read(folder / files["test"]))
    table = pa.table({"prediction": np.asarray(found, dtype=np.float64)})
    with pa.OSFile(str(folder / files["predictions"]), "wb") as sink:
        with pa.ipc.new_file(sink, table.schema) as file:
            file.write_table(table)


def is_number(request: Request) -> bool:
    """Return whether a number is to be predicted, not the probability of a class."""
    return request["task"] == "number"


def columns_of(request: Request, kind: str) -> list[dict[str, Any]]:
    return [column for column in request["columns"] if column["kind"] == kind]


def matrix(request: Request, rows: pa.Table) -> np.ndarray:
    """Return numbers as they are, and a 0 or 1 for each public level, float64 of shape (n_rows,
    n_features)."""
    parts = []
    for column in request["columns"]:
        cells = rows.column(column["name"]).combine_chunks()
        if column["kind"] == "number":
            parts.append(cells.to_numpy()[:, None])
            continue
        codes = cells.indices.fill_null(-1).to_numpy()
        parts.append(1.0 * (codes[:, None] == np.arange(len(column["levels"]))))
    return np.hstack([*parts, np.zeros((rows.num_rows, 0))])


def scaled_labels(request: Request, rows: pa.Table) -> np.ndarray:
    """Return the places of classes, or the target mapped from its bounds to [-1, 1]."""
    label = request["label"]
    found = rows.column(label["name"]).to_numpy()
    if not is_number(request):
        return found
    middle = (label["upper"] + label["lower"]) / 2
    return (found - middle) / ((label["upper"] - label["lower"]) / 2)


def _read(path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as source:
        return pa.ipc.open_file(source).read_all()
