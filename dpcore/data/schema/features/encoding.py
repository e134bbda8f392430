"""The encoding of a column: how a cell is read, and the features that transforms make of it."""

from dataclasses import dataclass, field

from dpcore.data.schema.features.transforms import (
    Affine,
    Chain,
    Clip,
    Hash,
    Hat,
    Held,
    Lookup,
    OneHot,
    Reading,
    Transform,
    Truth,
)
from dpcore.data.schema.values import Value, written
from dpcore.errors import InvalidInputError

__all__ = ["Encoding", "Part"]


@dataclass(frozen=True, slots=True)
class Part:
    """Some features of a column, side by side.

    Parameters
    ----------
    width : how many features. Their names are worked out when somebody asks for them: a column may
        have a million.
    is_code : whether at most one of them is 1 and the others are 0, so that a row holds one small
        integer for all of them; otherwise each is a number in [0, 1].
    in_waiting : whether rows hold the number itself in the feature's place, NaN for an empty cell,
        until its bounds are known.
    """

    width: int
    is_code: bool = False
    in_waiting: bool = False


@dataclass(frozen=True, slots=True)
class Encoding:
    """A reading, and the chains of transforms whose features stand side by side.

    Parameters
    ----------
    reading : what a cell is, as a plain number.
    chains : one or more; each is of the plain number.
    fill : the plain number that an empty cell counts as.
    indicator : whether the empty cell has a feature of its own: the last level of a first chain
        that ends one-hot, else a feature behind those of the first chain.

    From these follow ``is_code``, whether what is read is at once the level that a row holds, and
    ``stand_in``, the plain number in the place of an empty cell: the fill, or any.

    Each chain adds at most 1 to the square of a row's norm: an affine feature is in [0, 1], of
    one-hot features at most one is 1, and hats are t and 1 - t of two neighbours. An empty cell
    without a fill is 0 in all of them, so that an indicator of its own adds 1 only beside a fill.

    Raises InvalidInputError for a chain that makes no features, or makes them before its end, for
    levels that are fewer than what is read, and for a fill that is no finite number or no level.
    """

    reading: Reading
    chains: tuple[Chain, ...]
    fill: float | None = None
    indicator: bool = False
    is_code: bool = field(init=False, repr=False, compare=False)
    stand_in: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        of_features = (Affine, Hat, OneHot, Held)
        for chain in self.chains or ((),):
            made = [place for place, step in enumerate(chain, 1) if isinstance(step, of_features)]
            if made != [len(chain)]:
                raise InvalidInputError(
                    "Expected the transforms of a column to end in affine, one-hot or hat features."
                )

        is_code = isinstance(self.reading, (Lookup, Hash)) and isinstance(self.chains[0][0], OneHot)
        least = 0.0 if self.bounds is None else self.bounds[0]
        object.__setattr__(self, "is_code", is_code)
        object.__setattr__(self, "stand_in", least if self.fill is None else self.fill)
        self._require_places()

    def _require_places(self) -> None:
        """Refuse what would put a cell where the column has no feature."""
        fits = abs(self.stand_in) < float("inf")
        if isinstance(reading := self.reading, (Lookup, Hash)) and self.is_code:
            width = _width(self.chains[0][-1])
            fits = (
                len(self.chains) == 1 and 0 < _most(reading) <= width and 0 <= self.stand_in < width
            )
        if not fits:
            raise InvalidInputError(
                "Expected a column that is read as levels to have one chain, a level for each "
                "place or bucket, and a fill that is one; any other, a finite fill."
            )

    @property
    def parts(self) -> tuple[Part, ...]:
        """The features of the chains, and of the empty cell, as rows hold them."""
        parts = []
        for place, chain in enumerate(self.chains):
            last, own = chain[-1], place == 0 and self.indicator
            is_code = isinstance(last, OneHot)
            width = _width(last) + (own and is_code)
            parts.append(Part(width, is_code, isinstance(last, Held)))
            if own and not is_code:
                parts.append(Part(1))
        return tuple(parts)

    @property
    def square(self) -> int:
        """The most that the features add to the square of a row's l2 norm."""
        apart = self.indicator and not isinstance(self.chains[0][-1], OneHot)
        return len(self.chains) + (apart and self.fill is not None)

    def names(self, column: str) -> tuple[str, ...]:
        """Return a name for each feature of a column."""
        names: list[str] = []
        for place, chain in enumerate(self.chains):
            names += _names(column, chain[-1])
            if place == 0 and self.indicator:
                names.append(f"{column} is empty")
        return tuple(names)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The bounds of plain numbers, where the first chain clamps them."""
        first = self.chains[0][0]
        if isinstance(first, Hat):
            return first.knots[0], first.knots[-1]
        return (first.lower, first.upper) if isinstance(first, Clip) else None

    @property
    def levels(self) -> tuple[Value, ...]:
        """The public values that a cell may have, by position; none of a number."""
        last = self.chains[0][-1]
        if isinstance(last, OneHot):
            return last.words if last.prefix else tuple(last.levels)  # type: ignore[arg-type]
        if isinstance(self.reading, Truth):
            return "false", "true"
        if isinstance(self.reading, Lookup) and self.reading.places is None:
            return self.reading.values
        return ()


def _most(reading: Lookup | Hash) -> int:
    """Return how many places a cell may have."""
    places = range(len(reading.values)) if isinstance(reading, Lookup) else range(reading.buckets)
    return max(getattr(reading, "places", None) or places, default=-1) + 1


def _width(last: Transform) -> int:
    return last.width if isinstance(last, (Affine, Hat, OneHot, Held)) else 0


def _names(column: str, last: Transform) -> list[str]:
    if isinstance(last, OneHot):
        return [f"{column}{last.part}={word}" for word in last.words]
    if isinstance(last, Hat):
        return [f"{column}@{written(knot)}" for knot in last.knots]
    return [column]
