"""Coefficients as data, as a table of text, as HTML, and as a frame."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError, near_names, visible
from dpcore_report.frames import escape, frame_of, in_columns, table_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpcore_report.curves.of_columns import CurveOfColumn

__all__ = ["HEADS", "Coefficient", "Summary", "told_of"]

HEADS = (
    *("class", "column", "level", "unit", "per unit", "per deviation"),
    *("estimate", "std. error", "95 % interval"),
)


@dataclass(frozen=True, slots=True)
class Coefficient:
    """The contribution of a feature to the margin of a row.

    Parameters
    ----------
    of_class : the class whose margin it is, of three classes and more; else ``None``.
    column : the column's name, or those of a cross.
    level : the level, knot or calendar part that the feature is for; empty for a number.
    unit : what ``per_unit`` is for: "1", "day", "doubling", "level", "if so".
    per_unit : added to the margin by one unit more, or where the level holds.
    per_deviation : added by a standard deviation of the public range; ``None`` without a range.
    estimate, error, low, high : where the run released them, the one-step estimate of what
        ``per_unit`` is at the population's minimum, its standard error and its 95 % interval, in
        the same unit; else ``None``.
    """

    of_class: Any
    column: str
    level: str
    unit: str
    per_unit: float
    per_deviation: float | None
    estimate: float | None = None
    error: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """The coefficients of a model, the intercept last, its curves, and how to read them.

    It is read as a frame is, without pandas: a row for each coefficient, zeros included, and a
    column for each attribute of a ``Coefficient`` that one of them has. ``dict(summary)`` is what a
    frame of any library is made of.
    """

    coefficients: tuple[Coefficient, ...]
    notes: tuple[str, ...]
    curves: tuple[CurveOfColumn, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        names = [field.name for field in fields(Coefficient)]
        return tuple(n for n in names if any(getattr(x, n) is not None for x in self.coefficients))

    def keys(self) -> tuple[str, ...]:
        """Return the names of the columns, as a mapping does."""
        return self.columns

    def __getitem__(self, name: str) -> list[Any]:
        """Return a column, ``None`` where a coefficient has none; InvalidInputError for another
        name."""
        if name not in self.columns:
            known = near_names(str(name), self.columns)
            raise InvalidInputError(f"A summary of this model has no column {name!r}.{known}")
        return [getattr(coefficient, name) for coefficient in self.coefficients]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.coefficients)

    def cells(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return the heads and the rows of a table, without a column that is empty; of a model that
        is mostly zeros the others alone, the largest of each class first. A curve's coefficients
        are left to ``curve_cells``, but for those with intervals."""
        bent = {curve.column for curve in self.curves}
        told = [
            each
            for each in self.coefficients
            if each.column not in bent or each.estimate is not None or not _is_of_curve(each.level)
        ]
        rows = [_cells(coefficient) for coefficient in told_of(told)]
        kept = [at for at in range(len(HEADS)) if any(row[at] for row in rows)]
        heads = tuple(HEADS[at] for at in kept)
        return heads, [tuple(row[at] for at in kept) for row in rows]

    def curve_cells(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return the heads and the rows of a table of curves: below each knot what the column adds
        there, line and hats together; no rows without curves."""
        most = max((len(curve.knots) for curve in self.curves), default=0)
        has_classes = any(curve.of_class is not None for curve in self.curves)
        heads = (*(("class",) if has_classes else ()), "column", "", *map(str, range(1, most + 1)))
        rows = []
        for curve in self.curves:
            first = (str(curve.of_class),) if has_classes else ()
            blank, rest = ("",) * len(first), ("",) * (most - len(curve.knots))
            knots = (f"{knot:.4g}" for knot in curve.knots)
            added = (f"{value:+.3g}" for value in curve.added)
            rows.append((*first, curve.column, "at", *knots, *rest))
            rows.append((*blank, "", "adds", *added, *rest))
        return heads, rows

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-able data."""
        curves = {"curves": [*map(asdict, self.curves)]} if self.curves else {}
        told = {"coefficients": [*map(asdict, self.coefficients)], **curves}
        return {**told, "notes": list(self.notes)}

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, a row for each coefficient, zeros included, and a column for
        each attribute that one of them has.

        Raises InvalidInputError where pandas is not installed.
        """
        return frame_of(map(asdict, self.coefficients))

    def _repr_html_(self) -> str:
        """Return the table and the notes as a notebook shows them."""
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        curves = table_of(*self.curve_cells(), "curves") if self.curves else ""
        return table_of(*self.cells(), "coefficients") + curves + notes

    def __repr__(self) -> str:
        curves = ["", *in_columns(*self.curve_cells()), ""] if self.curves else []
        return "\n".join([*in_columns(*self.cells()), *curves, *map(visible, self.notes)])


def _is_of_curve(level: str) -> bool:
    """Return whether a feature beside a column's curve is a part of it: its line, or at a knot."""
    return not level or level.startswith("at ")


def told_of(coefficients: Sequence[Coefficient]) -> Sequence[Coefficient]:
    """Return the coefficients that a table shows, in its order. An intercept has no unit."""
    told = [x for x in coefficients if x.per_unit or x.estimate is not None or not x.unit]
    if 2 * len(told) > len(coefficients):
        return coefficients
    of = [*dict.fromkeys(x.of_class for x in told)].index
    size = {x: abs(x.per_unit if x.per_deviation is None else x.per_deviation) for x in told}
    return sorted(told, key=lambda x: (of(x.of_class), not x.unit, -size[x]))


def _cells(found: Coefficient) -> tuple[str, ...]:
    deviation = "" if found.per_deviation is None else f"{found.per_deviation:.4g}"
    of_class = "" if found.of_class is None else str(found.of_class)
    return (
        *(of_class, found.column, found.level, found.unit),
        *(f"{found.per_unit:.4g}", deviation),
        *_interval(found),
    )


def _interval(found: Coefficient) -> tuple[str, str, str]:
    if found.estimate is None:
        return "", "", ""
    reach = f"[{found.low:.4g}, {found.high:.4g}]"
    return f"{found.estimate:.4g}", f"{found.error:.3g}", reach
