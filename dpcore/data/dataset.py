"""Encoded rows with all that is public about them, from a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from dpcore.data.schema import Schema
from dpcore.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_matrix

    from dpcore.data.coded import CodedRows

__all__ = ["Dataset", "load_features", "load_file", "width_schema"]

BadRows = Literal["refuse", "drop"]
_MATRIX_FORMATS = ("libsvm", "npz")


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows as features and labels, and the public facts about them.

    Parameters
    ----------
    name : what to call it.
    X : ndarray (C order), CSR or coded rows of shape (n_rows, n_features), the intercept column
        included; every row's l2 norm is at most ``raw_norm_bound`` up to rounding.
    y : float64 of shape (n_rows,): -1 and +1, or a regression's clamped target scaled to [-1, 1].
    schema : the public description; from it alone follow the figures below.
    source : ``"file"``, ``"generated"`` or ``"array"``.
    """

    name: str
    X: np.ndarray | csr_matrix | CodedRows
    y: np.ndarray
    schema: Schema
    source: Literal["file", "generated", "array"] = "file"

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self.schema.feature_names

    @property
    def n_features(self) -> int:
        return self.schema.n_features

    @property
    def raw_norm_bound(self) -> float:
        """Public bound of the l2 norm of the rows of ``X``."""
        return self.schema.raw_norm_bound

    @property
    def row_norm(self) -> float:
        """Public bound that rows are to be scaled down to, at most ``raw_norm_bound`` in use."""
        return min(self.schema.row_norm, self.schema.raw_norm_bound)

    @property
    def n0(self) -> int | None:
        """The schema's public figure for the number of rows."""
        return self.schema.rows

    @property
    def capacity(self) -> int | None:
        return self.schema.capacity

    @property
    def from_data(self) -> bool:
        """Whether the schema was derived from the rows: what is fitted is then not private."""
        return self.schema.from_data

    @classmethod
    def from_rows(
        cls,
        name: str,
        rows: tuple[np.ndarray | csr_matrix | CodedRows, np.ndarray | None],
        schema: Schema,
        source: Literal["file", "generated", "array"] = "file",
    ) -> Dataset:
        """Return the data set of encoded (X, y); InvalidInputError if the labels are not there."""
        X, y = rows
        if y is None:
            raise InvalidInputError(f"{name}: the rows have no labels.")
        return cls(name, X, y, schema, source)

    def take(self, mask: np.ndarray) -> Dataset:
        """Return the rows where the bool array ``mask`` of shape (n_rows,) is true."""
        return replace(self, X=self.X[mask], y=self.y[mask])

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, n_features={self.n_features})"


def width_schema(
    width: int,
    *,
    classes: Sequence[Any] | None = None,
    bounds: Sequence[float] | None = None,
    row_norm: float | None = None,
    intercept: bool = True,
    rows: int | None = None,
    capacity: int | None = None,
    header: bool = False,
    separator: str = "whitespace",
) -> Schema:
    """Return the schema of ``width`` unnamed features and a label.

    ``classes`` : the values that mean -1 and +1, each one value or a list; by default -1 and 1.
    ``bounds`` : (lower, upper) of a real-valued target, instead of classes.
    """
    if classes is not None and bounds is not None:
        raise InvalidInputError("Expected classes or bounds of the label, not both.")
    label: dict[str, Any] = {"kind": "label"}
    if bounds is not None:
        lower, upper = _pair("bounds = (lower, upper)", bounds)
        label |= {"lower": lower, "upper": upper}
    else:
        label["classes"] = _pair(
            "classes = (negative, positive)", (-1, 1) if classes is None else classes
        )
    data = {
        "width": width,
        "row_norm": row_norm,
        "intercept": intercept,
        "rows": rows,
        "capacity": capacity,
        "header": header,
        "separator": separator,
        "columns": {"label": label},
    }
    return Schema.from_dict({k: _plain(v) for k, v in data.items() if v is not None})


def load_file(
    path: str | os.PathLike[str],
    schema: Schema | None,
    *,
    target: str | None = None,
    format: str | None = None,
    bad_rows: BadRows = "refuse",
    name: str | None = None,
) -> Dataset:
    """Return the encoded rows of a file. ``target`` : the label's name, if it is to be confirmed.

    Raises InvalidInputError without a schema or for another target than its label, and DataError
    (file, line, column: for the owner's eyes) for a file that cannot be read or, unless
    ``bad_rows`` is ``"drop"``, for the first row that does not satisfy the schema. Under ``"drop"``
    each line of text is a row by itself, so that a cell with line breaks is a bad row too.
    """
    source = os.fspath(path)
    if schema is None:
        raise InvalidInputError(_advice(source, format))
    if target is not None and target != schema.label.name:
        raise InvalidInputError(
            f"The target {target!r} is not the schema's label, {schema.label.name!r}."
        )
    rows = _load(source, schema, format, bad_rows, labelled=True)
    return Dataset.from_rows(name or os.path.basename(source), rows, schema)


def load_features(
    path: str | os.PathLike[str], schema: Schema, *, format: str | None = None
) -> np.ndarray | csr_matrix | CodedRows:
    """Return the feature rows of a file whose label column may be absent, one per row in order.

    Raises as ``load_file``.
    """
    return _load(os.fspath(path), schema, format, "refuse", labelled=False)[0]


def _load(
    path: str, schema: Schema, format: str | None, bad_rows: BadRows, labelled: bool
) -> tuple[np.ndarray | csr_matrix | CodedRows, np.ndarray | None]:
    from dpcore.data.readers import format_of

    if bad_rows not in ("refuse", "drop"):
        raise InvalidInputError(f"Expected bad_rows={bad_rows!r} to be refuse or drop.")
    form = format_of(path, format)
    if schema.width is None and form in _MATRIX_FORMATS:
        raise InvalidInputError(f"A {form} file has unnamed features: its schema needs a width.")
    if schema.width is not None and form == "parquet":
        raise InvalidInputError("A Parquet file has named columns: its schema has no width.")
    if schema.width is not None:
        return _load_matrix(path, form, schema, bad_rows, labelled)
    return _load_columns(path, form, schema, bad_rows, labelled)


def _load_columns(
    path: str, form: str, schema: Schema, bad_rows: BadRows, labelled: bool
) -> tuple[np.ndarray | csr_matrix | CodedRows, np.ndarray | None]:
    from dpcore.data.conform import conform
    from dpcore.data.encode import encode
    from dpcore.data.readers import separator_of
    from dpcore.data.readers.content import read_bytes
    from dpcore.data.readers.parquet import read_parquet
    from dpcore.data.readers.text import read_text

    if form == "parquet":
        raw = read_parquet(path, schema, labelled=labelled)
    else:
        raw = read_text(
            read_bytes(path),
            path,
            schema,
            labelled=labelled,
            drop=bad_rows == "drop",
            separator=separator_of(path, form),
        )
    return encode(conform(raw, schema, labelled=labelled, bad_rows=bad_rows), schema)


def _load_matrix(
    path: str, form: str, schema: Schema, bad_rows: BadRows, labelled: bool
) -> tuple[np.ndarray | csr_matrix | CodedRows, np.ndarray | None]:
    from dpcore.data.raw_matrix import conform_matrix
    from dpcore.data.readers import separator_of
    from dpcore.data.readers.content import read_bytes
    from dpcore.data.readers.libsvm import read_libsvm
    from dpcore.data.readers.npz import read_npz
    from dpcore.data.readers.text import read_text_matrix

    drop = bad_rows == "drop"
    if form == "npz":
        raw = read_npz(path, labelled=labelled)
    elif form == "libsvm":
        raw = read_libsvm(read_bytes(path), path, schema.width or 0, drop=drop)
    else:
        raw = read_text_matrix(
            read_bytes(path),
            path,
            schema,
            labelled=labelled,
            drop=drop,
            separator=separator_of(path, form),
        )
    return conform_matrix(raw, schema, labelled=labelled, bad_rows=bad_rows)


def _advice(path: str, format: str | None) -> str:
    from dpcore.data.readers import format_of

    form = format_of(path, format)
    if form in ("csv", "parquet"):
        return (
            f"{path} needs a schema of its public bounds and categories: write one from "
            f"`dpcore schema {path} > schema.toml`, or pass --schema-from-data (not private)."
        )
    return (
        f"{path} needs a schema with its width, its label's classes and its row_norm: write one "
        f"from `dpcore schema {path} > schema.toml`."
    )


def _pair(what: str, values: Any) -> list[Any]:
    try:
        first, second = values
    except (TypeError, ValueError):
        raise InvalidInputError(f"Expected {what} of the label.") from None
    return [_plain(first), _plain(second)]


def _plain(value: Any) -> Any:
    """Return a NumPy scalar or a sequence of them as plain Python values."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 else value
