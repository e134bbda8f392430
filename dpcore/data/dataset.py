"""Encoded rows with all that is public about them, from a file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from dpcore.data.readers import BadRows, format_of, is_typed
from dpcore.data.schema.schema import Schema
from dpcore.data.stream import encoded_batches, feature_batches, named_schema
from dpcore.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np

    from dpcore.data.blocks.layouts import Rows
    from dpcore.data.blocks.table import Table

__all__ = ["Dataset", "feature_pieces", "load_file", "width_schema"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows as features and labels, and the public facts about them.

    Parameters
    ----------
    name : what to call it.
    X : ndarray (C order), CSR, coded rows or the rows of a store, of shape (n_rows, n_features),
        the intercept column included; every row's l2 norm is at most ``raw_norm_bound`` up to
        rounding.
    y : float64 of shape (n_rows,): -1 and +1, or a regression's clamped target scaled to [-1, 1].
    schema : the public description; from it alone follow the figures below.
    is_generated : whether no row is of a person or thing: their figures are no secret.
    rows_dropped : whether rows that did not satisfy the schema were left out, so that the number of
        rows must not be public.
    typed_by : ``"frame"`` or ``"file"`` where another program gave the columns their types, from
        all of their cells: that these are public is the caller's claim.
    """

    name: str
    X: Rows
    y: np.ndarray
    schema: Schema
    is_generated: bool = False
    rows_dropped: bool = False
    typed_by: Literal["frame", "file"] | None = None

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
        """True if the schema was derived from the rows: a fit is then not private."""
        return self.schema.from_data

    @classmethod
    def from_rows(
        cls,
        name: str,
        rows: tuple[Rows, np.ndarray | None],
        schema: Schema,
        is_generated: bool = False,
    ) -> Dataset:
        """Return the data set of encoded (X, y); InvalidInputError if the labels are not there."""
        X, y = rows
        if y is None:
            raise InvalidInputError(f"{name}: the rows have no labels.")
        return cls(name, X, y, schema, is_generated)

    def take(self, mask: np.ndarray) -> Dataset:
        """Return the rows where the bool array ``mask`` of shape (n_rows,) is true."""
        from dpcore.data.blocks.frozen import freeze
        from dpcore.data.blocks.layouts import layout_of

        X = layout_of(self.X).freeze(self.X[mask])
        return replace(self, X=X, y=freeze(self.y[mask]))

    def table(self) -> Table:
        """Return the rows in blocks, as an engine takes them; InvalidInputError while bounds of
        columns are still to be released."""
        from dpcore.data.blocks.table import Table

        self.schema.require_bounds()
        return Table.from_matrix(
            self.X,
            self.y,
            row_norm=self.row_norm,
            raw_norm_bound=self.raw_norm_bound,
            capacity=self.capacity,
        )

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, n_features={self.n_features})"


def width_schema(
    width: int,
    *,
    classes: Sequence[Any] | None = None,
    target_bounds: Sequence[float] | None = None,
    row_norm: float | None = None,
    intercept: bool = True,
    rows: int | None = None,
    capacity: int | None = None,
    header: bool = False,
    separator: str = "whitespace",
) -> Schema:
    """Return the schema of ``width`` unnamed features and a label.

    ``classes`` : the values that mean -1 and +1, each one value or a list; by default -1 and 1.
    ``target_bounds`` : (lower, upper) of a real-valued target, instead of classes.
    """
    if classes is not None and target_bounds is not None:
        raise InvalidInputError("Expected classes or target_bounds of the label, not both.")
    label: dict[str, Any] = {"kind": "label"}
    if target_bounds is not None:
        lower, upper = _pair("target_bounds = (lower, upper)", target_bounds)
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
    """Return the encoded rows of a file, read only; ``target`` : the label's name, if it is to be
    confirmed.

    Raises InvalidInputError without a schema or for another target than its label, and DataError
    (file, line, column: for the owner's eyes) for a file that cannot be read or, unless
    ``bad_rows`` is ``"drop"``, for the first row that does not satisfy the schema. Under ``"drop"``
    each line of text is a row by itself, so that a cell with line breaks is a bad row too.
    """
    from dpcore.data.blocks.assemble import assemble

    source = os.fspath(path)
    if format_of(source, format) == "dpcore":
        return _load_store(source, schema, target, name)
    if schema is None:
        raise InvalidInputError(_advice(source, format))
    _check_target(target, schema)
    schema = named_schema(source, schema, format)
    pieces = encoded_batches(source, schema, format=format, bad_rows=bad_rows)
    data = Dataset.from_rows(name or os.path.basename(source), assemble(pieces), schema)
    typed_by: Literal["file"] | None = "file" if is_typed(source, format) else None
    return replace(data, rows_dropped=bad_rows == "drop", typed_by=typed_by)


def feature_pieces(
    path: str | os.PathLike[str], schema: Schema, *, bad_rows: BadRows = "refuse"
) -> Iterator[tuple[Rows, np.ndarray | None]]:
    """Yield the feature rows of a file whose label column may be absent, in pieces, each lent
    until the next is asked for, and which of its rows they are: bool, None for all of them.

    Raises as ``load_file``, on the way. Under ``bad_rows="drop"`` rows lack those with a cell that
    does not satisfy the schema.
    """
    if format_of(os.fspath(path)) == "dpcore":
        stored: Any = _load_store(os.fspath(path), schema, None, None).X
        yield from ((rows, None) for rows in stored.pieces())
    else:
        yield from feature_batches(path, schema, bad_rows=bad_rows)


def _load_store(path: str, schema: Schema | None, target: str | None, name: str | None) -> Dataset:
    """Return the rows of a store, which has a schema of its own: another one must agree with it."""
    from dpcore.data.store import open_store

    if schema is not None:
        schema.require_bounds()
    X, y, description = open_store(path)
    own = description.schema
    _check_target(target, own)
    schema = schema and schema.for_names([column.name for column in own.columns])
    if schema is not None and schema.encoding != own.encoding:
        raise InvalidInputError(
            f"The rows of {path} were converted with another schema than this run's; convert them "
            "again with it."
        )
    data = Dataset(name or os.path.basename(path), X, y, own)
    return replace(
        data,
        rows_dropped=description.rows_dropped,
        typed_by="file" if description.is_typed else None,
    )


def _check_target(target: str | None, schema: Schema) -> None:
    if target is not None and target != schema.label.name:
        raise InvalidInputError(
            f"The target {target!r} is not the schema's label, {schema.label.name!r}."
        )


def _advice(path: str, format: str | None) -> str:
    form = format_of(path, format)
    if form in ("csv", "parquet"):
        return (
            f"{path} needs a schema of its public bounds and categories: write one from "
            f"`dpcore schema {path} > schema.toml`, or train with --schema-from-data (not private)."
        )
    return (
        f"{path} needs a schema with its width, its label's classes and its row_norm: write one "
        f"from `dpcore schema {path} > schema.toml`."
    )


def _pair(what: str, values: Any) -> list[Any]:
    try:
        if isinstance(values, (set, frozenset)):
            raise TypeError  # It has no first and no second.
        first, second = values
    except (TypeError, ValueError):
        raise InvalidInputError(f"Expected {what} of the label.") from None
    return [_plain(first), _plain(second)]


def _plain(value: Any) -> Any:
    """Return a NumPy scalar or a sequence of them as plain Python values."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 else value
