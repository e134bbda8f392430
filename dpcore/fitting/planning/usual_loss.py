"""The loss of a run that names none: by the public label of its rows, a number, two classes or
more."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dpcore.data.loader import file_loader
from dpcore.fitting.request.settings import OF_MORE, OF_NUMBERS, OF_TWO, Settings

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema

__all__ = ["known_schema", "loss_of_rows"]


def known_schema(X: Any, schema: Schema | None) -> Schema | None:
    """Return the schema that rows were given with, or that their file keeps of itself, if any."""
    is_file = schema is None and isinstance(X, (str, os.PathLike)) and os.path.isfile(X)
    return file_loader().schema_of(os.fspath(X)) if is_file else schema


def loss_of_rows(
    schema: Schema | None,
    classes: Any,
    multiclass: str | None = None,
    target_bounds: Any = None,
) -> str:
    """Return the loss of rows as ``dpcore.fit`` takes them: one-vs-rest that of two classes."""
    if multiclass is not None:
        return OF_TWO
    if schema is None and classes is not None:
        return OF_MORE if _count(classes) > 2 else OF_TWO
    if schema is None and target_bounds is not None:
        return OF_NUMBERS
    return Settings.usual_loss(schema)


def _count(classes: Any) -> int:
    try:
        return len(classes)
    except TypeError:  # What is no list of classes is refused where they are read.
        return 0
