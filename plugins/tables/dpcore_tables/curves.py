"""Numbers with hat functions beside them, which nobody chose: rows, and the model of a run.

What a row holds of a number is what hats follow from (``dpcore_tables.kinds.even_hats``), so that
nothing is encoded again: the rows are the same, and mean more features.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.columns import Label, Numeric
from dpcore.plugin.parts import Dataset
from dpcore_tables.bounds.unbounded import Unbounded
from dpcore_tables.cells.features import coded_layout
from dpcore_tables.coded.rows import CodedRows
from dpcore_tables.kinds.curve import KNOTS, Curve
from dpcore_tables.kinds.even_hats import hats_behind
from dpcore_tables.store.rows import StoredRows

if TYPE_CHECKING:
    from dpcore import Model, Schema
    from dpcore_tables.coded.rows import CodedLayout
    from dpcore_tables.store.encoded import Rows

__all__ = ["curved", "curved_schema", "fitted_with_curves", "with_curves"]

_BESIDE = {"calibration", "evaluation", "private_bounds"}
"""Steps that ask for scores of rows, whatever the features are, or for cells before there are
features."""
_OF_CURVES = ("curves", "u_with_hats")
"""The values of a run's details that are of its hats."""
_BOUNDED = (Numeric, Label)


def fitted_with_curves(run: Any, fit: Callable[[Any], Model]) -> Model:
    """Return the model of a run whose numbers have hat functions (``FileLoader.with_curves``).

    Where none can be had the run is as it was: blocks that the caller made, rows that are scaled
    down, an engine that reads rows itself and makes no hats. So it is beside steps that ask for
    more than scores, such as intervals: of nine features in the place of one they would hold more
    noise. The status says so then. Where curves were asked for by ``curves=all`` that is refused by
    InvalidInputError.

    Where bounds are private, how many hats there are follows from the schema, before anything is
    released, and hats themselves from the bounds, once these are. Whether hats count is decided
    after that, by what is left of the budget.
    """
    rows, lines = run.dataset, run.dataset.schema
    schema = curved_schema(lines)
    is_here = type(rows) is Dataset and run.engine is None and run.table is None
    makes_hats = run.engine is not None and run.plan.engine_facts.with_curves is not None
    others = ", ".join(sorted({step.name for step in run.plan.settings.also} - _BESIDE))
    reasons = {
        "an engine reads the rows itself, or they are no table's": not (is_here or makes_hats),
        f"the run has the step {others}": bool(others),
        f"rows are scaled down to a length of {lines.row_norm:.4g} (row_norm), where they may be "
        f"{lines.raw_norm_bound:.4g} long": 2 * lines.row_norm**2 < lines.raw_norm_bound**2,
        "no number has bounds other than 0 and 1": schema.columns == lines.columns,
    }
    if any(reasons.values()):
        _refuse_if_asked(run, next(reason for reason in reasons if reasons[reason]))
        model = fit(run)
        said = f" Numbers are straight lines beside the step {others}." if others else ""
        return replace(model, status=model.status + said)
    if makes_hats:
        engine, known = run.engine.with_curves(schema), replace(rows, schema=schema)
        return _straightened(fit(replace(run, dataset=known, engine=engine)), lines)
    held_out = None if run.held_out is None else _with_hats(run.held_out)
    model = fit(replace(run, dataset=_with_hats(rows), held_out=held_out))
    return _straightened(model, lines)


def _refuse_if_asked(run: Any, reason: str) -> None:
    """Refuse curves that were asked for, of a run whose schema has none itself."""
    has_curves = run.dataset.schema.curve_features
    if run.plan.settings.params.get("curves") == "all" and not has_curves:
        raise InvalidInputError(
            f"There are no curves where {reason}: leave out curves=all, or give columns lower, "
            "upper and knots in the schema."
        )


def curved_schema(schema: Schema) -> Schema:
    """Return the schema with hats beside the numbers that can have them: those that ``with_curves``
    takes, if hats follow from what rows hold. A norm that rows are scaled down to is of rows
    without hats, which add at most 1 to its square each."""
    if schema.known is None or schema.width is not None:
        return schema
    bent = with_curves(schema)
    pairs = zip(schema.columns, bent.columns, strict=True)
    columns: Any = tuple(
        new if isinstance(new, Curve | Unbounded) and hats_behind(new.encoding) else old
        for old, new in pairs
    )
    m = sum(new is not old for old, new in zip(schema.columns, columns, strict=True))
    norm = schema.norm if schema.norm is None or not m else math.sqrt(schema.norm**2 + m)
    return replace(schema, columns=columns, norm=norm)


def _with_hats(rows: Dataset) -> Dataset:
    """Return the rows with hats; in waiting they get them with their bounds."""
    schema = curved_schema(rows.schema)
    X = rows.X if schema.unbounded else curved(rows.X, schema)
    return replace(rows, X=X, schema=schema)


def curved(X: Any, schema: Schema) -> Rows:
    """Return encoded rows as those of a schema that has hats beside some of their numbers. Raises
    InvalidInputError for rows of unnamed features."""
    layout = coded_layout(schema)
    rows: Any = X
    if isinstance(X, StoredRows):
        rows = StoredRows(_Curved(X.store, layout), X.places)
    elif isinstance(X, CodedRows):
        rows = replace(X, layout=layout)
    elif not isinstance(X, np.ndarray):
        raise InvalidInputError("Expected rows of named columns.")
    elif len(layout.hats):
        rows = CodedRows(layout, X, np.empty((X.shape[0], 0), layout.code_type))
    return rows


class _Curved:
    """The rows of a store, by another layout of the same cells."""

    def __init__(self, store: Any, layout: CodedLayout) -> None:
        self._store, self.layout = store, layout
        self.block_rows: list[int] = store.block_rows

    @contextmanager
    def block(self, index: int) -> Iterator[tuple[np.ndarray, np.ndarray, CodedRows]]:
        with self._store.block(index) as (content, y, rows):
            yield content, y, replace(rows, layout=self.layout)


def _straightened(model: Model, lines: Schema) -> Model:
    """Return the model of the schema ``lines``, which lacks hats of the model's own, where these
    count for nothing; else the model. Private bounds of ``lines`` are those of the model then."""
    kept: list[bool] = []
    for column, own in zip(lines.features, model.schema.features, strict=True):
        n_features = sum(part.width for part in column.encoding.parts)
        n_all = sum(part.width for part in own.encoding.parts)
        kept += [True] * n_features + [False] * (n_all - n_features)
    places = np.array(kept + [True] * (model.w.shape[-1] - len(kept)))
    if model.w[..., ~places].any():
        return model
    details = {name: of for name, of in model.details.items() if name not in _OF_CURVES}
    w = np.ascontiguousarray(model.w[..., places])
    return replace(model, w=w, schema=_with_bounds(lines, model.schema), details=details)


def _with_bounds(lines: Schema, released: Schema) -> Schema:
    """Return a schema with the bounds of another one where its own are private."""
    ends = {of.name: (of.lower, of.upper) for of in released.columns if isinstance(of, _BOUNDED)}
    found = {column.name: column.between(*ends[column.name]) for column in lines.unbounded}
    columns = tuple(found.get(column.name, column) for column in lines.columns)
    return replace(lines, columns=columns)


def with_curves(schema: Schema, knots: int = KNOTS) -> Schema:
    """Return the schema with so many knots beside every number between bounds that has none: what
    fits take for curves, where the signal is large enough.

    Parameters
    ----------
    schema : of named columns. Numbers in bins or between knots that somebody chose stay as they
        are, and so do those from 0 to 1: mostly truth values, whose hats would be noise. Of private
        bounds nobody knows beforehand whether they are.
    knots : from 3 to 64.

    Examples
    --------
    >>> from dpcore import Schema
    >>> from dpcore_tables.schemas import with_curves
    >>> columns = {
    ...     "age": {"kind": "numeric", "lower": 17, "upper": 90},
    ...     "income": {"kind": "label", "classes": ["low", "high"]},
    ... }
    >>> with_curves(Schema.from_dict({"columns": columns})).n_features  # a line, 8 hats, 1
    10
    """
    return replace(schema, columns=tuple(_with_knots(c, knots) for c in schema.columns))


def _with_knots(c: Any, knots: int) -> Any:
    if type(c) is Numeric and (c.lower, c.upper) != (0.0, 1.0):
        return Curve.of(c, knots)
    if type(c) is Unbounded and not c.knots and not (c.indicator and c.fill is None):
        return replace(c, knots=knots)
    return c
