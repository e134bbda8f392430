"""Columns of numbers between public bounds, with hat functions beside the number."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

from dpcore.plugin import InvalidInputError
from dpcore.plugin.columns import Encoding, Entry, Numeric, transforms
from dpcore_tables.kinds.even_hats import EvenHats

__all__ = ["KNOTS", "Curve", "curve_from", "require_knots"]

KNOTS = 8
"""Hats of a curve that nobody chose: sixteen were no better on any development table, and four too
few on some."""
_FEWEST, _MOST = 3, 64


@dataclass(frozen=True, slots=True)
class Curve(Numeric):
    """A number as ``Numeric`` has it, and behind it a hat function for each of ``knots`` knots,
    evenly spaced between the bounds, by their logarithms if ``scale`` is ``"log"``. So a linear
    model of them is piecewise linear in the number, and a line where the hats count for nothing.

    The number adds at most 1 to the square of a row's l2 norm, and so do the hats: at most two
    neighbours are not 0, t and 1 - t of a t in [0, 1] on the feature grid. Both are 0 where the
    cell is empty and has no ``fill``; an ``indicator`` beside a fill adds 1 more.
    """

    knots: int = KNOTS

    def __post_init__(self) -> None:
        Numeric.__post_init__(self)
        require_knots(self.name, self.knots)
        places = self._places
        if not all(low < high for low, high in pairwise(places)):
            raise InvalidInputError(
                f"The bounds of column {self.name!r} are too near each other for knots between."
            )

    @classmethod
    def of(cls, line: Numeric, knots: int) -> Self:
        """Return a number with so many knots."""
        keys = line.lower, line.upper, line.fill, line.indicator, line.scale, line.missing
        return cls(line.name, *keys, knots)

    @property
    def _places(self) -> tuple[float, ...]:
        """The knots, in the unit that is mapped to [0, 1]: the number's, or its logarithm's."""
        *_, last = Numeric.encoding.__get__(self).chains[0]
        assert isinstance(last, transforms.Affine)
        low, high, gaps = last.lower, last.upper, self.knots - 1
        # In parts, so that bounds far apart do not overflow.
        inner = (low * ((gaps - k) / gaps) + high * (k / gaps) for k in range(1, gaps))
        return low, *inner, high

    @property
    def encoding(self) -> Encoding:
        line = Numeric.encoding.__get__(self)
        hats = (*line.chains[0][:-1], EvenHats(self._places))
        return Encoding(line.reading, (*line.chains, hats), line.fill, line.indicator)

    def to_dict(self) -> dict[str, Any]:
        return Numeric.to_dict(self) | {"knots": self.knots}


def require_knots(column: str, knots: int) -> int:
    """Return a number of knots; InvalidInputError where a column cannot have so many."""
    if not _FEWEST <= knots <= _MOST:
        raise InvalidInputError(
            f"Expected {_FEWEST} to {_MOST} knots beside the bounds of column {column!r}."
        )
    return knots


def curve_from(name: str, entry: Entry) -> Curve:
    """Return the column of a table of keys with public bounds and a number of knots."""
    return Curve(
        name,
        entry.bound("lower"),
        entry.bound("upper"),
        entry.number_or_none("fill"),
        entry.flag("indicator"),
        entry.data.get("scale", "linear"),
        entry.words("missing"),
        entry.whole("knots"),
    )
