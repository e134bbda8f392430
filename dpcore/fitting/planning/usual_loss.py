"""The loss of a run that names none: by the public label of its rows, a number, two classes or
more."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dpcore.data.loader import file_loader

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema

__all__ = ["known_schema", "loss_of_rows", "loss_of_schemas"]

_OF_TWO, _OF_MORE, _OF_NUMBERS = "logistic", "softmax", "ridge"


def loss_of_schemas(*schemas: Schema | None) -> str:
    """Return the loss of labels that are all numbers, or all have three classes or more, or else
    that of two, which any other label refuses with the losses that fit it. ``None`` : a schema that
    is not known yet."""
    labels = [None if schema is None else schema.label for schema in schemas]
    if labels and all(label is not None and label.is_real for label in labels):
        return _OF_NUMBERS
    several = [label is not None and label.n_classes > 2 for label in labels]
    return _OF_MORE if several and all(several) else _OF_TWO


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
        return _OF_TWO
    if schema is None and classes is not None:
        return _OF_MORE if _count(classes) > 2 else _OF_TWO
    if schema is None and target_bounds is not None:
        return _OF_NUMBERS
    return loss_of_schemas(schema)


def _count(classes: Any) -> int:
    try:
        return len(classes)
    except TypeError:  # What is no list of classes is refused where they are read.
        return 0
