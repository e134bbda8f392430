"""Columns of numbers whose bounds nobody knows: ``"private"`` in the schema, until released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dpcore.plugin import InvalidInputError
from dpcore.plugin.columns import Encoding, Entry, FeatureColumn, Label, Numeric, transforms
from dpcore_tables.bounds.bins import LARGEST
from dpcore_tables.kinds.curve import Curve, require_knots
from dpcore_tables.kinds.even_hats import EvenHats

__all__ = [
    "Unbounded",
    "UnboundedLabel",
    "has_private_bounds",
    "unbounded_from",
    "unbounded_label_from",
    "with_private_bounds",
]

_BOUNDS = ("lower", "upper")


@dataclass(frozen=True, slots=True)
class Unbounded(FeatureColumn):
    """A number whose bounds, or one of them, are released before rows are encoded: it is a
    ``Numeric`` then, or with ``knots`` a ``Curve``, and has as many features. Until then rows hold
    the number itself. Hats follow from the number between its bounds, released ones too.

    Parameters
    ----------
    lower, upper : ``None`` for a private one. A known one lies within the public range that bounds
        are looked for in.
    knots : of its hats; 0 for none.
    """

    kind: ClassVar[str] = "numeric"
    name: str
    lower: float | None = None
    upper: float | None = None
    fill: float | None = None
    indicator: bool = False
    missing: tuple[str, ...] = ()
    knots: int = 0

    def __post_init__(self) -> None:
        _check_known(self)
        if self.knots:
            require_knots(self.name, self.knots)
        if self.knots and self.indicator and self.fill is None:
            raise InvalidInputError(
                f"Expected a fill of column {self.name!r} beside its indicator: knots between "
                "private bounds are of a number in every row."
            )

    @property
    def encoding(self) -> Encoding:
        places = tuple(float(k) for k in range(self.knots))  # of nobody: bounds are not there yet
        hats = ((EvenHats(places),),) if places else ()
        chains = (transforms.Held(),), *hats
        return Encoding(transforms.Number(), chains, self.fill, self.indicator)

    def between(self, lower: float, upper: float) -> Numeric:
        """Return the column with bounds."""
        line = Numeric(self.name, lower, upper, self.fill, self.indicator, missing=self.missing)
        return Curve.of(line, self.knots) if self.knots else line

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            **_written(self),
            **self.empty_keys(self.fill, self.indicator, self.missing),
            **({"knots": self.knots} if self.knots else {}),
        }


@dataclass(frozen=True, slots=True)
class UnboundedLabel(Label):
    """A real-valued target whose bounds, or one of them (``None``), are released before rows are
    encoded: it is a ``Label`` with bounds then."""

    def __post_init__(self) -> None:
        _check_known(self)

    @property
    def is_real(self) -> bool:
        return True

    def between(self, lower: float, upper: float) -> Label:
        """Return the label with bounds."""
        return Label(self.name, lower=lower, upper=upper, missing=self.missing)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **_written(self)} | FeatureColumn.empty_keys(
            None, False, self.missing
        )


def _check_known(column: Unbounded | UnboundedLabel) -> None:
    for key in _BOUNDS:
        known = getattr(column, key)
        if known is not None and not abs(known) <= LARGEST:
            raise InvalidInputError(
                f"Expected {key} of column {column.name!r}, beside a private bound, to be within "
                "2^40 of 0."
            )


def _written(column: Unbounded | UnboundedLabel) -> dict[str, float | str]:
    bounds = {key: getattr(column, key) for key in _BOUNDS}
    return {key: Entry.PRIVATE if bound is None else bound for key, bound in bounds.items()}


def has_private_bounds(entry: Entry) -> bool:
    """Return whether a bound of the column is private."""
    return any(entry.data.get(key) == entry.PRIVATE for key in _BOUNDS)


def unbounded_from(name: str, entry: Entry) -> Unbounded:
    for key in ("bins", "knots", "scale"):
        if key in entry.data and not (key == "knots" and _are_counted(entry.data)):
            raise InvalidInputError(
                f"Expected public bounds, not private ones, beside {key} in {entry.where}: "
                "private bounds are of a number on a linear scale."
            )
    bounds = _known("lower", entry), _known("upper", entry)
    flags = entry.flag("indicator"), entry.words("missing")
    knots = require_knots(name, entry.whole("knots")) if "knots" in entry.data else 0
    return Unbounded(name, *bounds, entry.number_or_none("fill"), *flags, knots)


def _are_counted(data: Mapping[str, Any]) -> bool:
    """Return whether the knots of a column are a number of them, between its bounds."""
    return isinstance(data.get("knots"), int)


def unbounded_label_from(name: str, entry: Entry) -> UnboundedLabel:
    for key in ("classes", "positive"):
        if key in entry.data:
            raise InvalidInputError(f"Expected {key} or private bounds in {entry.where}, not both.")
    entry.check_no_other()
    lower, upper = _known("lower", entry), _known("upper", entry)
    return UnboundedLabel(name, lower=lower, upper=upper, missing=entry.words("missing"))


def _known(key: str, entry: Entry) -> float | None:
    return None if entry.data.get(key) == entry.PRIVATE else entry.bound(key)


def with_private_bounds(data: Any) -> Any:
    """Return what a schema says of a column, each bound private that a numeric column lacks or
    has still to be filled in."""
    if not isinstance(data, Mapping) or data.get("kind") != Numeric.kind:
        return data
    if "bins" in data or "knots" in data and not _are_counted(data):
        return data
    unknown = Entry.PLACEHOLDER
    missing = [key for key in _BOUNDS if data.get(key, unknown) == unknown]
    return {**data, **dict.fromkeys(missing, Entry.PRIVATE)}
