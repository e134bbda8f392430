"""The keys of a schema's column, by what is known of it beside the rows; the rest is to fill in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dpcore.plugin.columns import Entry

if TYPE_CHECKING:
    from dpcore_tables.readers.column_types import ColumnType

__all__ = ["Known", "column_table", "is_filled", "label_table"]

_TRUTHS = (["false", "False", "FALSE", "0"], ["true", "True", "TRUE", "1"])
_TRUTH_WORDS = frozenset("true t yes y on 1 1.0 false f no n off 0 0.0".split())
_BOUNDS = {"lower": Entry.PLACEHOLDER, "upper": Entry.PLACEHOLDER}
_BY_TYPE: dict[str, dict[str, Any]] = {
    "number": {"kind": "numeric", **_BOUNDS},
    "integer": {"kind": "numeric", **_BOUNDS},
    "fraction": {"kind": "numeric", **_BOUNDS},
    "boolean": {"kind": "boolean"},
    "date": {"kind": "date", **_BOUNDS},
    "text": {"kind": "categorical", "categories": [Entry.PLACEHOLDER]},
    "unknown": {"kind": Entry.PLACEHOLDER, **_BOUNDS, "categories": [Entry.PLACEHOLDER]},
}
_OTHERS: dict[str, dict[str, Any]] = {
    "category": {"kind": "categorical", "categories": [Entry.PLACEHOLDER]},
    "ordinal": {"kind": "ordinal", "levels": [Entry.PLACEHOLDER]},
    "hashed": {"kind": "hashed", "buckets": Entry.PLACEHOLDER},
    "drop": {"kind": "drop"},
}
_NUMBERS = ("number", "integer")


@dataclass(frozen=True)
class Known:
    """Public knowledge of a column.

    Parameters
    ----------
    type : number, integer, boolean, date, text, category, ordinal, hashed, drop; empty if unknown.
    lower, upper : bounds, of a date as text.
    labels : the values that cells may have, in order.
    missing : words for no value.
    format : of dates.
    truths : the words for false, and those for true, where they are listed.
    has_empty : whether cells may be empty, which a feature of its own then says.
    """

    type: str = ""
    lower: float | str | None = None
    upper: float | str | None = None
    labels: tuple[Any, ...] = ()
    missing: tuple[str, ...] = ()
    format: str | None = None
    truths: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    has_empty: bool = False

    @property
    def is_bounded(self) -> bool:
        """Whether a bound is known."""
        return self.lower is not None or self.upper is not None


def column_table(known: Known, declared: ColumnType) -> dict[str, Any]:
    """Return the keys of a feature column.

    Labels make categories of a column without bounds, or levels of an ordinal one; a bound makes a
    number of a column without a type. What nobody says is as the type that the rows declare has it.
    """
    kind = known.type or ("number" if known.is_bounded else "")
    if kind == "boolean" and not _are_truths(known):
        words = (*known.truths[0], *known.truths[1])
        kind, known = "category", replace(known, labels=words or known.labels)
    if kind == "ordinal" and known.labels:
        table: dict[str, Any] = {"kind": "ordinal", "levels": [*known.labels]}
    elif known.labels and not known.is_bounded and kind not in ("boolean", "date", "drop"):
        table = {"kind": "categorical", "categories": [*known.labels]}
    else:
        table = dict((_BY_TYPE | _OTHERS)[kind or declared])
    if "lower" in table and kind:
        table |= _bounds(known)
    if known.format is not None and kind == "date":
        table["format"] = known.format
    return _with_missing(table, known)


def label_table(known: Known, declared: ColumnType) -> dict[str, Any]:
    """Return the keys of the label.

    Labels are its classes, in their order; a whole number of two values is of two classes, and
    another number has bounds, as has what the rows declare to be a fraction.
    """
    kind = known.type
    classes: list[Any] = [Entry.PLACEHOLDER, Entry.PLACEHOLDER]
    if len(known.labels) > 1 and not (kind in _NUMBERS and known.is_bounded):
        classes = [*known.labels]
    elif kind == "boolean" and declared in ("boolean", "number", "fraction"):
        classes = ["false", "true"] if declared == "boolean" else [0, 1]
    elif kind == "boolean":
        classes = [list(t) for t in known.truths] if all(known.truths) else [*_TRUTHS]
    elif kind == "integer" and _are_two(known.lower, known.upper):
        classes = [known.lower, known.upper]
    elif kind in _NUMBERS or not kind and (known.is_bounded or declared == "fraction"):
        return _with_missing({"kind": "label", **_bounds(known)}, known)
    elif declared == "boolean" and not kind:
        classes = ["false", "true"]
    return _with_missing({"kind": "label", "classes": classes}, known)


def is_filled(table: dict[str, Any]) -> bool:
    """Return whether nothing of a column is to fill in."""
    return not any(
        v == Entry.PLACEHOLDER or v and v == [Entry.PLACEHOLDER] * len(v) for v in _lists(table)
    )


def _lists(table: dict[str, Any]) -> list[Any]:
    return [v if isinstance(v, (list, str)) else [v] for v in table.values()]


def _bounds(known: Known) -> dict[str, Any]:
    ends = {"lower": known.lower, "upper": known.upper}
    return {key: Entry.PLACEHOLDER if end is None else end for key, end in ends.items()}


def _with_missing(table: dict[str, Any], known: Known) -> dict[str, Any]:
    if known.missing and table["kind"] != "drop":
        table["missing"] = [*known.missing]
    if known.has_empty and table["kind"] not in ("drop", "label", Entry.PLACEHOLDER):
        table["indicator"] = True
    return table


def _are_truths(known: Known) -> bool:
    """Return whether all words for true and false are among those of the kind ``boolean``."""
    words = (*known.truths[0], *known.truths[1], *known.labels)
    return all(str(word).lower() in _TRUTH_WORDS for word in words)


def _are_two(lower: Any, upper: Any) -> bool:
    return isinstance(lower, int) and isinstance(upper, int) and upper - lower == 1
