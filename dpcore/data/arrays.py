"""Rows that are already in memory: arrays of numbers, and all others by the package that reads
tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.data.array_schema import schema_beside
from dpcore.data.dataset import Dataset
from dpcore.data.files import BadRows, FrameParts
from dpcore.data.loader import file_loader, loader_if_there
from dpcore.data.matrix import ArraySource, are_numbers
from dpcore.data.schema.columns import Numeric
from dpcore.data.schema.features.transforms import Number
from dpcore.data.targets import on_grid, scale_to_unit
from dpcore.data.units import Coins
from dpcore.errors import BadRowError, InvalidInputError

if TYPE_CHECKING:
    from dpcore.data.blocks.layouts import Matrix, Rows
    from dpcore.data.schema.schema import Schema

__all__ = [
    "as_given",
    "dataset_from_arrays",
    "declares_truth",
    "features_from_arrays",
]

_SOURCE = ArraySource("the array")
_OTHERS = "frames, lists, and labels that are no numbers,"


def dataset_from_arrays(
    X: Any,
    y: Any = None,
    *,
    classes: Sequence[Any] | None = None,
    target_bounds: Sequence[float] | None = None,
    bounds: Sequence[Any] | None = None,
    private_bounds: bool = False,
    row_norm: float | None = 1.0,
    schema: Schema | None = None,
    intercept: bool = True,
    n0: int | None = None,
    capacity: int | None = None,
    coins: Coins = os.urandom,
    weight: str | None = None,
) -> Dataset:
    """Return the data set of rows in memory.

    Parameters
    ----------
    X : real numbers, 2-D or SciPy sparse, whose width is the caller's public claim; or, with a
        ``schema`` of named columns, a frame (pandas, polars, pyarrow, or anything that has
        ``__arrow_c_stream__``), or an array if all of them are numeric.
    y : labels, one per row; for a frame, ``None`` if the label is one of its columns.
    classes : the (negative, positive) values of the label, each one value or a list; by default
        (-1, 1). Never read off ``y``.
    target_bounds : (lower, upper) of a real-valued target, instead of ``classes``.
    bounds : public (lower, upper) of the columns, each a number or one per column: cells are
        clamped to them and mapped to [0, 1], as a schema's numeric columns are. Not for sparse X.
    private_bounds : whether columns of an array have bounds that are still to be released.
    row_norm : public l2 bound that rows are scaled down to, after ``bounds`` and the intercept's 1
        included; ``None`` for the bound that follows from ``bounds``, so that no row is.
    schema : replaces all of the other options but ``coins``, which are ``Dataset.from_rows``'s.
    weight : the column of a frame that has the weights of its rows.

    Raises DataError (row numbers are for the owner's eyes) for values that are not finite, labels
    outside the classes, no columns; InvalidInputError for options that do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin.parts import dataset_from_arrays
    >>> X, y = np.array([[0.0], [3.0]]), np.array(["no", "yes"])
    >>> rows = dataset_from_arrays(X, y, classes=("no", "yes"), bounds=(0, 2), row_norm=None)
    >>> rows.X.tolist(), rows.y.tolist()
    ([[0.0, 1.0], [1.0, 1.0]], [-1.0, 1.0])
    """
    public: dict[str, Any] = {
        "classes": classes,
        "target_bounds": target_bounds,
        "bounds": bounds,
        "private_bounds": private_bounds,
        "row_norm": row_norm,
        "intercept": intercept,
        "n0": n0,
        "capacity": capacity,
    }
    if are_numbers(X) and (y is None or _are_plain_labels(y)):
        matrix = _SOURCE.matrix(X)
        own = schema_beside(schema, matrix.shape[1], **public)
        if _has_plain_features(own) and _has_plain_label(own):
            labels = _one_column(y, matrix.shape[0])
            return Dataset.from_rows("array", _encoded(matrix, labels, own)[:2], own)
    return Dataset.by_loader(
        _OTHERS,
        lambda loader: loader.rows(
            X, y, schema, coins, **({} if weight is None else {"weight": weight}), **public
        ),
    )


def features_from_arrays(
    X: Any, schema: Schema, *, bad_rows: BadRows = "refuse"
) -> tuple[Rows, np.ndarray | None]:
    """Return feature rows as ``dataset_from_arrays`` makes them, without labels (prediction), and
    which of the rows they are: bool, None for all of them."""
    if are_numbers(X) and _has_plain_features(schema):
        rows, _, kept = _encoded(_SOURCE.matrix(X), None, schema, bad_rows)
        return rows, kept
    return file_loader(_OTHERS).features(X, schema, bad_rows)


def as_given(X: Any) -> Any:
    """Return a stream of Arrow, whose rows can be asked for once, as a frame, and other rows as
    they are. Raises DataError for a stream that is no table, and for a frame without rows yet."""
    if are_numbers(X) or isinstance(X, (str, os.PathLike)) or FrameParts.are(X):
        return X
    return file_loader(_OTHERS).frame_of(X)


def declares_truth(X: Any, y: Any, label: str) -> bool:
    """Return whether labels, or the column of a frame that holds them, declare that they are truth
    values."""
    if y is None and are_numbers(X) or _are_plain_labels(y):
        return False
    return file_loader(_OTHERS).declares_truth(X, y, label)


def _are_plain_labels(y: Any) -> bool:
    return are_numbers(y) and not _SOURCE.is_sparse(y) and y.dtype.kind != "b"


def _has_plain_features(schema: Schema) -> bool:
    """Return whether features are numbers as they are, or between bounds and nothing else."""
    if schema.width is not None:
        return True
    if schema.known is None or schema.unit is not None or schema.crosses:
        return False
    return all(
        type(plan.column) is Numeric
        and (plan.column.fill, plan.column.scale) == (None, "linear")
        and not (plan.column.indicator or plan.notation.numbers)
        for plan in schema.plans[:-1]
    )


def _has_plain_label(schema: Schema) -> bool:
    """Return whether each class, or a target, is a number, and each number is one or none."""
    plan = schema.plans[-1]
    takes_numbers = plan.vocabulary is None or plan.vocabulary.takes_numbers
    return takes_numbers and not (plan.notation.numbers or schema.unit or schema.unbounded)


def _one_column(y: Any, n_rows: int) -> np.ndarray:
    """Return labels, one for each row; InvalidInputError if there are none, DataError for
    others."""
    if y is None:
        raise InvalidInputError("Expected y, the labels of the rows of X.")
    _SOURCE.require_no_mask(y, "y")
    if y.ndim != 1:
        raise _SOURCE.no_labels(y)
    _SOURCE.require_one_each(len(y), n_rows)
    return np.asarray(y)


def _read_labels(y: np.ndarray, schema: Schema) -> tuple[np.ndarray, np.ndarray, str]:
    numbers, plan = y.astype(np.float64), schema.plans[-1]
    return plan.labels(numbers if schema.label.is_real else plan.places_of_numbers(numbers))


def _encoded(
    X: Matrix, y: np.ndarray | None, schema: Schema, bad_rows: BadRows = "refuse"
) -> tuple[Matrix, np.ndarray | None, np.ndarray | None]:
    """Return rows, labels where there are some, and which rows were kept, None for all. Raises as
    ``ArraySource.validate_rows``."""
    labels = None if y is None else partial(_read_labels, y, schema)
    if schema.width is None:
        return _between_bounds(X, labels, schema, bad_rows)
    return _SOURCE.validate_rows(X, schema, _SOURCE.place, labels, bad_rows)


def _between_bounds(
    X: Matrix,
    labels: Callable[[], tuple[np.ndarray, np.ndarray, str]] | None,
    schema: Schema,
    bad_rows: BadRows,
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Return the rows of an array whose columns have public bounds, as ``_encoded`` does: each
    number is a function of itself alone, on the feature grid in [0, 1]; the intercept is last."""
    numbers = _SOURCE.dense(X, len(schema.features))
    rows = np.ones((numbers.shape[0], schema.n_features), dtype=np.float32)
    faults = []
    for j, column in enumerate(schema.features):
        assert isinstance(column, Numeric)
        cells = numbers[:, j].astype(np.float64)
        faults.append((column.name, ~np.isfinite(cells), Number.FAULT))
        rows[:, j] = on_grid(scale_to_unit(cells, column.lower, column.upper))
    y = None
    if labels is not None:
        y, fault, reason = labels()
        faults.append((schema.label.name, fault, reason))
    bad = np.logical_or.reduce([fault for _, fault, _ in faults])
    if not bad.any():
        return rows, y, None
    if bad_rows != "drop":
        raise _first_fault(numbers, faults, schema, int(np.argmax(bad)))
    return rows[~bad], y if y is None else y[~bad], ~bad


def _first_fault(
    numbers: np.ndarray, faults: list[tuple[str, np.ndarray, str]], schema: Schema, row: int
) -> BadRowError:
    """Return the error of the first bad row, with what its owner can do where somebody knows."""
    place, (name, _, reason) = next(
        (place, fault) for place, fault in enumerate(faults) if fault[1][row]
    )
    if place < len(schema.features):
        column, notation = schema.features[place], schema.notation
        if (loader := loader_if_there()) is not None:
            reason = loader.advice(numbers[:, place], row, column, notation) or reason
    return BadRowError(f"{_SOURCE.name}, {_SOURCE.place(row)}, column {name!r}: {reason}.")
