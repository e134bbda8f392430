"""The schema that an estimator's parameters describe: bounds, categories, classes, all public."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpcore import Schema
from dpcore.errors import InvalidInputError, near_names, replacing
from dpcore.plugin.columns import Label

__all__ = [
    "ascending",
    "classes_label",
    "described_schema",
    "public_fills",
    "target_label",
    "with_label_ascending",
]

_NO_BOUNDS = (
    "Expected public bounds=(lower, upper) of the columns, from a codebook or common sense and "
    "never from the rows. An estimator takes a schema in their place, or private_bounds=True, "
    "which releases them for a tenth of its budget."
)
_NO_CLASSES = (
    "Expected classes to be two public values or more, as in classes=('no', 'yes'), or "
    "'from-labels', which makes the model not private."
)


def described_schema(
    names: Sequence[str],
    bounds: Any,
    categories: Mapping[Any, Sequence[Any]] | None,
    label: Mapping[str, Any],
    n_public: int | None,
    private_bounds: bool = False,
    called: str = "y",
) -> Schema:
    """Return the schema of columns with these names, in order, and a label beside them.

    ``bounds`` : (lower, upper), each a number or one for each column without categories, or a
    mapping of names to such pairs. ``categories`` : of columns by name. ``private_bounds`` : of
    columns without either. ``called`` : the label's name, if no column has it.
    Raises InvalidInputError for names that are not there, and columns without either.
    """
    listed = {str(name): _listed(name, values) for name, values in (categories or {}).items()}
    _check_known(listed, names, "categories")
    numeric = [name for name in names if name not in listed]
    pairs = {} if bounds is None and private_bounds else _pairs(bounds, numeric, private_bounds)
    columns: list[dict[str, Any]] = []
    for name in names:
        if name in listed:
            columns.append({"name": name, "kind": "categorical", "categories": listed[name]})
        else:
            columns.append({"name": name, "kind": "numeric", **pairs.get(name, {})})
    while called in names:
        called += "_"
    columns.append({"name": called, "kind": "label", **label})
    rows = {} if n_public is None else {"rows": plain(n_public)}
    return Schema.from_dict({"columns": columns, **rows}, private_bounds)


def public_fills(fill: Any, names: Sequence[str]) -> dict[str, float]:
    """Return the number that an empty cell counts as, for each column that has one.

    ``fill`` : a number for all of them, a mapping of names to numbers, or ``None``.
    """
    if fill is None:
        return {}
    given = fill if isinstance(fill, Mapping) else dict.fromkeys(names, fill)
    given = {str(name): plain(number) for name, number in given.items()}
    _check_known(given, names, "fill")
    for name, number in given.items():
        if not isinstance(number, (int, float)) or not math.isfinite(number):
            raise InvalidInputError(f"Expected fill of column {name!r} to be a finite number.")
    return {name: float(number) for name, number in given.items()}


def classes_label(classes: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return the classes in ascending order, and what a schema says of them."""
    if isinstance(classes, (str, bytes, Mapping)):
        raise InvalidInputError(_NO_CLASSES)
    if isinstance(classes, Iterator):
        raise InvalidInputError(
            "Expected classes as a tuple or a list: one fit would use an iterator up."
        )
    try:
        values = [plain(value) for value in classes]
    except TypeError:
        values = []
    if len(values) < 2 or not all(isinstance(value, (str, int, float)) for value in values):
        raise InvalidInputError(_NO_CLASSES)
    if {type(value) for value in values} == {int, float}:
        values = [float(value) for value in values]
    values = ascending(values)
    return values, {"classes": values}


def target_label(target_bounds: Any) -> dict[str, Any]:
    """Return what a schema says of a target between two public bounds."""
    no_pair = InvalidInputError("Expected target_bounds=(lower, upper), public, of the target y.")
    with replacing(TypeError, ValueError, by=lambda _: no_pair):
        lower, upper = (plain(bound) for bound in target_bounds)
    return {"lower": lower, "upper": upper}


def ascending(values: list[Any]) -> list[Any]:
    """Return classes in the order that scikit-learn expects of ``classes_``: its scorers take the
    larger one of two for the positive class. Classes of two types stay as they are."""
    alike = len({isinstance(value, str) for value in values}) == 1
    return sorted(values) if alike else values


def with_label_ascending(schema: Schema) -> Schema:
    """Return the schema with the classes that it lists in ascending order; that of other values, if
    there is one, stays in its place."""
    label = schema.label
    listed = {values[0]: values for values in label.classes if values}
    if len(listed) < 2 or (ordered := ascending(list(listed))) == list(listed):
        return schema
    others = ((),) * (label.n_classes - len(listed))
    turned = replace(label, classes=(*(listed[name] for name in ordered), *others))
    columns = (turned if isinstance(column, Label) else column for column in schema.columns)
    return replace(schema, columns=tuple(columns))


def plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _listed(name: Any, values: Any) -> list[Any]:
    """Return the categories of a column; a text is none, since its letters would be taken."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise InvalidInputError(
            f"Expected categories of column {str(name)!r} to be a list of public values, as in "
            "categories={'city': ['Bern', 'Basel']}."
        )
    return [plain(value) for value in values]


def _pairs(bounds: Any, names: Sequence[str], may_lack: bool) -> dict[str, dict[str, float]]:
    """Return what a schema says of the bounds of each column, by name."""
    if isinstance(bounds, Mapping):
        given = {str(name): pair for name, pair in bounds.items()}
        _check_known(given, names, "bounds")
        missing = [name for name in names if name not in given]
        if missing and not may_lack:
            raise InvalidInputError(
                f"Column {missing[0]!r} has neither bounds nor categories. (With "
                "private_bounds=True an estimator releases the bounds of numbers.)"
            )
        return {name: _pair(name, given[name]) for name in names if name in given}
    if not names:
        return {}
    if bounds is None:
        raise InvalidInputError(_NO_BOUNDS)
    no_bounds = InvalidInputError(
        f"Expected bounds=(lower, upper), each a number or one for each of {len(names)} columns "
        "without categories, or a mapping of names to pairs."
    )
    with replacing(TypeError, ValueError, by=lambda _: no_bounds):
        lower, upper = (np.broadcast_to(np.asarray(b, np.float64), len(names)) for b in bounds)
    pairs = zip(names, lower.tolist(), upper.tolist(), strict=True)
    return {name: {"lower": low, "upper": high} for name, low, high in pairs}


def _pair(name: str, pair: Any) -> dict[str, float]:
    no_pair = InvalidInputError(f"Expected bounds of column {name!r} to be (lower, upper).")
    with replacing(TypeError, ValueError, by=lambda _: no_pair):
        lower, upper = pair
        return {"lower": float(lower), "upper": float(upper)}


def _check_known(given: Mapping[str, Any], names: Sequence[str], what: str) -> None:
    for name in given:
        if name not in names:
            raise InvalidInputError(f"No column {name!r} for {what}.{near_names(name, names)}")
