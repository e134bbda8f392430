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
from dpcore.plugin.parts import Dataset
from dpcore_tables.cells.features import coded_layout
from dpcore_tables.coded.rows import CodedRows
from dpcore_tables.kinds.curve import Curve, with_curves
from dpcore_tables.kinds.even_hats import hats_behind
from dpcore_tables.store.rows import StoredRows

if TYPE_CHECKING:
    from dpcore import Model, Schema
    from dpcore_tables.coded.rows import CodedLayout
    from dpcore_tables.store.encoded import Rows

__all__ = ["curved", "curved_schema", "fitted_with_curves"]

_BESIDE = {"calibration", "evaluation"}
"""Steps that ask for scores of rows, whatever the features are."""
_OF_CURVES = ("curves", "u_with_hats")
"""The values of a run's details that are of its hats."""


def fitted_with_curves(run: Any, fit: Callable[[Any], Model]) -> Model:
    """Return the model of a run whose numbers have hat functions (``FileLoader.with_curves``).

    Where none can be had the run is as it was: rows that an engine reads itself, blocks that the
    caller made, numbers whose bounds are private, rows that are scaled down. So it is beside steps
    that ask for more than scores, such as intervals: of nine features in the place of one they
    would hold more noise. Where curves were asked for by ``curves=all`` that is refused by
    InvalidInputError.
    """
    rows, lines = run.dataset, run.dataset.schema
    schema = curved_schema(lines)
    is_here = type(rows) is Dataset and run.engine is None and run.table is None
    steps = {step.name for step in run.plan.settings.also}
    reasons = {
        "an engine reads the rows itself, or they are no table's": not is_here,
        f"the step {', '.join(sorted(steps - _BESIDE))} asks for more than scores of rows": bool(
            steps - _BESIDE
        ),
        f"the bounds of {_names(lines.unbounded)} are private": bool(lines.unbounded),
        f"rows are scaled down to a length of {lines.row_norm:.4g} (row_norm), where they may be "
        f"{lines.raw_norm_bound:.4g} long": 2 * lines.row_norm**2 < lines.raw_norm_bound**2,
        "no number has public bounds other than 0 and 1": schema.columns == lines.columns,
    }
    if any(reasons.values()):
        _refuse_if_asked(run, next(reason for reason in reasons if reasons[reason]))
        return fit(run)
    held_out = None if run.held_out is None else _with_hats(run.held_out)
    model = fit(replace(run, dataset=_with_hats(rows), held_out=held_out))
    return _straightened(model, lines)


def _names(columns: Any) -> str:
    return ", ".join(repr(column.name) for column in columns)


def _refuse_if_asked(run: Any, reason: str) -> None:
    """Refuse curves that were asked for, of a run whose schema has none itself."""
    has_curves = any(isinstance(column, Curve) for column in run.dataset.schema.columns)
    if run.plan.settings.params.get("curves") == "all" and not has_curves:
        raise InvalidInputError(
            f"There are no curves where {reason}: leave out curves=all, or give columns lower, "
            "upper and knots in the schema."
        )


def curved_schema(schema: Schema) -> Schema:
    """Return the schema with hats beside the numbers that can have them: those that ``with_curves``
    takes, if hats follow from what rows hold; the same one while bounds are to be released. A norm
    that rows are scaled down to is of rows without hats, which add at most 1 to its square each."""
    if schema.known is None or schema.width is not None or schema.unbounded:
        return schema
    bent = with_curves(schema)
    columns: Any = (
        new if isinstance(new, Curve) and hats_behind(new.encoding) else old
        for old, new in zip(schema.columns, bent.columns, strict=True)
    )
    columns = tuple(columns)
    m = sum(new is not old for old, new in zip(schema.columns, columns, strict=True))
    norm = schema.norm if schema.norm is None or not m else math.sqrt(schema.norm**2 + m)
    return replace(schema, columns=columns, norm=norm)


def _with_hats(rows: Dataset) -> Dataset:
    schema = curved_schema(rows.schema)
    return replace(rows, X=curved(rows.X, schema), schema=schema)


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
    count for nothing; else the model."""
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
    return replace(model, w=w, schema=lines, details=details)
