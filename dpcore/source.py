"""The data of a run: a data set by name or a file with its schema, and the rows held out."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpcore.data.dataset import Dataset, load_file
from dpcore.data.schema import Schema
from dpcore.data.splits import split_rows
from dpcore.errors import DataError, InvalidInputError
from dpcore.registry import load_registry, near_names
from dpcore.statement import part_of

if TYPE_CHECKING:
    from dpcore.plan import Plan

__all__ = ["Data", "DataRequest", "load_data", "schema_reasons", "split"]


@dataclass(frozen=True)
class DataRequest:
    """Where the rows come from, as it was asked for on the command line.

    ``data`` : a registered name or a path. ``target`` : the label column that is meant; it has to
    be the schema's. ``test``, ``test_fraction`` : what to report on, without privacy; at most one.
    """

    data: str = "census-sim"
    schema: Path | None = None
    target: str | None = None
    bad_rows: str = "refuse"
    schema_from_data: bool = False
    test: Path | None = None
    test_fraction: float | None = None


@dataclass(frozen=True)
class Data:
    """Rows to train on, rows to report on if any, and what is to be stated about them.

    ``kept_fraction`` : the public part of the rows that was asked for, by which n0 shrinks.
    ``parts`` : readers that ran on raw rows, as ``"module:function"``.
    """

    train: Dataset
    test: Dataset | None = None
    kept_fraction: float = 1.0
    why_not_private: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()


def load_data(request: DataRequest, plan: Plan) -> Data:
    """Return the data that were asked for.

    Raises InvalidInputError, RegistryError or DataError (for the owner's eyes), all before anything
    is spent.
    """
    _check_request(request)
    dataset, parts = _open(request)
    why_not_private = schema_reasons(dataset)
    if request.test is not None:
        _require_file(request.test)
        test = load_file(request.test, dataset.schema, bad_rows=request.bad_rows)  # type: ignore[arg-type]
        return Data(dataset, test, why_not_private=why_not_private, parts=parts)
    if request.test_fraction is None:
        return Data(dataset, why_not_private=why_not_private, parts=parts)
    train, test = split(dataset, request.test_fraction, plan)
    return Data(train, test, 1.0 - request.test_fraction, why_not_private, parts)


def split(dataset: Dataset, fraction: float, plan: Plan) -> tuple[Dataset, Dataset]:
    """Return the rows kept and the rows held out: by a coin per row under add-or-remove-one, of a
    fixed size where the number of rows is public."""
    draw: Callable[[int], bytes] = os.urandom
    if plan.settings.seed is not None:
        draw = np.random.default_rng((plan.settings.seed, 1)).bytes
    held_out = split_rows(int(dataset.X.shape[0]), fraction, plan.relation, draw)
    return dataset.take(~held_out), dataset.take(held_out)


def _check_request(request: DataRequest) -> None:
    if request.bad_rows not in ("refuse", "drop"):
        raise InvalidInputError(f"Expected bad-rows={request.bad_rows!r} to be refuse or drop.")
    if request.test is not None and request.test_fraction is not None:
        raise InvalidInputError("Expected one of test-fraction and test, not both.")
    fraction = request.test_fraction
    if fraction is not None and not 0.0 < fraction < 1.0:
        raise InvalidInputError(f"Expected 0 < test-fraction={fraction} < 1.")
    if request.schema is not None and request.schema_from_data:
        raise InvalidInputError("Expected one of schema and schema-from-data, not both.")


def _open(request: DataRequest) -> tuple[Dataset, tuple[str, ...]]:
    registry = load_registry()
    if request.data in registry.names("dataset"):
        for option, value in (("schema", request.schema), ("target", request.target)):
            if value is not None:
                raise InvalidInputError(f"The data set {request.data} has its own {option}.")
        if request.schema_from_data:
            raise InvalidInputError(f"The data set {request.data} has its own schema.")
        load = registry.load("dataset", request.data)
        return load(), (part_of(load),)
    if not os.path.exists(request.data) and not _looks_like_a_path(request.data):
        known = registry.names("dataset")
        raise InvalidInputError(
            f"{request.data!r} is neither a file nor a data set.{near_names(request.data, known)}"
        )
    _require_file(request.data)
    return load_file(request.data, _schema(request), bad_rows=request.bad_rows), ()  # type: ignore[arg-type]


def _looks_like_a_path(text: str) -> bool:
    return os.sep in text or bool(os.path.splitext(text)[1])


def _require_file(path: str | Path) -> None:
    if not os.path.isfile(path):
        reason = "it is no file" if os.path.exists(path) else "no such file"
        raise DataError(f"Cannot read {os.fspath(path)!r}: {reason}.")


def _schema(request: DataRequest) -> Schema | None:
    if request.schema_from_data:
        from dpcore.data.template import schema_from_data

        if request.target is None:
            raise InvalidInputError("Expected --target, the label column, with --schema-from-data.")
        return schema_from_data(request.data, request.target)
    if request.schema is None:
        return None
    schema = Schema.read(request.schema)
    if request.target is not None and request.target != schema.label.name:
        raise InvalidInputError(
            f"The label of {os.fspath(request.schema)} is {schema.label.name!r}, "
            f"not {request.target!r}; make that column's kind label in the schema."
        )
    return schema


def schema_reasons(dataset: Dataset) -> tuple[str, ...]:
    if not dataset.from_data:
        return ()
    return ("bounds, categories or classes of the schema were read off the rows",)
