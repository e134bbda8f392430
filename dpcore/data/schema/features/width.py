"""The schema of unnamed features, from the arguments of a call."""

from collections.abc import Iterable, Sequence
from typing import Any

from dpcore.data.schema.schema import Schema
from dpcore.errors import InvalidInputError, replacing

__all__ = ["width_schema"]


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

    ``classes`` : the negative and the positive class, or three and more, each one value or a list;
    by default -1 and 1.
    ``target_bounds`` : (lower, upper) of a real-valued target, instead of classes.
    """
    if classes is not None and target_bounds is not None:
        raise InvalidInputError("Expected classes or target_bounds of the label, not both.")
    label: dict[str, Any] = {"kind": "label"}
    if target_bounds is not None:
        lower, upper = _pair("target_bounds = (lower, upper)", target_bounds)
        label |= {"lower": lower, "upper": upper}
    else:
        label["classes"] = _classes((-1, 1) if classes is None else classes)
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


def _classes(values: Any) -> list[Any]:
    if isinstance(values, (set, frozenset, str, bytes)) or not isinstance(values, Iterable):
        raise InvalidInputError(
            "Expected classes = (negative, positive) of the label, or three and more, in an order."
        )
    return [_plain(value) for value in values]


def _pair(what: str, values: Any) -> list[Any]:
    no_pair = InvalidInputError(f"Expected {what} of the label.")
    with replacing(TypeError, ValueError, by=lambda _: no_pair):
        if isinstance(values, (set, frozenset)):
            raise no_pair  # It has no first and no second.
        first, second = values
    return [_plain(first), _plain(second)]


def _plain(value: Any) -> Any:
    """Return a NumPy scalar or a sequence of them as plain Python values."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 else value
