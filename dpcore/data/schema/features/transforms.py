"""Readings and transforms, as data: a cell as a plain number, and that number as features.

Everything that is public about a column follows from these: the width and the names of its
features, the bound of their norm, the levels that a cross combines, the graph of an export and the
exact bits. The package that reads tables computes them.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from dpcore.data.schema.values import Value, are_numbers, short
from dpcore.errors import InvalidInputError

__all__ = [
    "Affine",
    "Bin",
    "Chain",
    "Clip",
    "DatePart",
    "Day",
    "Hash",
    "Hat",
    "Held",
    "Log",
    "Lookup",
    "Number",
    "OneHot",
    "Parsed",
    "Reading",
    "Transform",
    "Truth",
    "binary_log",
]

_LOG_TERMS = 12


@dataclass(frozen=True, slots=True)
class Number:
    """A finite number: a number, a truth value, or a text that is a number in the notation.

    ``FAULT`` : what is wrong with a cell that is none.
    """

    FAULT: ClassVar[str] = (
        "the cell is not a finite number (if it is a word for no value, list it in missing = [...] "
        "of the column or of the schema)"
    )
    takes_numbers: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Truth:
    """1 for true, t, yes, y, on, 1 or 1.0 and 0 for false, f, no, n, off, 0 or 0.0, in any case.

    ``WORDS`` : these, in lower case, each with its number.
    """

    WORDS: ClassVar[Mapping[str, float]] = {
        **dict.fromkeys(("true", "t", "yes", "y", "on", "1", "1.0"), 1.0),
        **dict.fromkeys(("false", "f", "no", "n", "off", "0", "0.0"), 0.0),
    }
    takes_numbers: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Day:
    """The days since 1970-01-01; ``format`` : of text, by default ISO 8601."""

    format: str | None = None
    takes_numbers: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Lookup:
    """The position of a value among listed ones, or what ``places`` says for each of them, from 0.

    ``unknown`` : whether another value is none of them, or a fault of its row. ``UNKNOWN`` and
    ``ABSENT`` are the places of a value that is not listed, and of a cell without one.
    """

    UNKNOWN: ClassVar[int] = -1
    ABSENT: ClassVar[int] = -2

    values: tuple[Value, ...]
    places: tuple[int, ...] | None = None
    unknown: Literal["none", "fault"] = "none"

    def __post_init__(self) -> None:
        places = range(len(self.values)) if self.places is None else self.places
        if len(places) != len(self.values) or min(places, default=0) < 0:
            raise InvalidInputError("Expected places of a lookup, one from 0 for each value.")

    @property
    def takes_numbers(self) -> bool:
        return are_numbers(self.values)


@dataclass(frozen=True, slots=True)
class Hash:
    """The bucket of a text, or of a number where ``numbers`` says that cells are numbers.

    The hash is public, and the same on every platform and in every version: BLAKE2b of 8 bytes
    (RFC 7693, no key) of the cell's text without outer spaces in UTF-8, as a little-endian whole
    number modulo ``buckets``; of a number that of the 8 bytes of the little-endian IEEE 754 double,
    so that 3, 3.0 and "3" fall into one bucket.
    """

    buckets: int
    numbers: bool = False

    def bucket(self, value: Value) -> int:
        """Return the bucket of a text, or, where ``numbers`` says so, of a finite number."""
        content = str(value).strip().encode("utf-8", "surrogatepass")
        if self.numbers:
            content = struct.pack("<d", float(value) + 0.0)  # 0.0 for -0.0
        digest = hashlib.blake2b(content, digest_size=8).digest()
        return int.from_bytes(digest, "little") % self.buckets

    @property
    def takes_numbers(self) -> bool:
        return self.numbers


@dataclass(frozen=True, slots=True)
class Parsed:
    """The result of a function of a cell's text alone, without outer spaces: a number, or ``None``
    or NaN where the cell is a fault of its row.

    ``of`` : a function of a module: it runs on private cells, inside the trust boundary, and must
    neither keep nor tell any. ``wanted`` : what a cell should be, for the message about a fault.
    No graph can compute it, so that an export to ONNX is refused.
    """

    of: Callable[[str], float | None]
    wanted: str
    takes_numbers: ClassVar[bool] = False


Reading: TypeAlias = Number | Truth | Day | Lookup | Hash | Parsed
"""A cell as a plain number; what has none is a fault of its row, or none of the values."""


def _require_ascending(*numbers: float, least: int = 2) -> None:
    """Refuse what is not finite or does not ascend: a feature would be NaN at some cells, and a
    search among numbers out of order starts where the one for the cell before it ended."""
    if not (
        len(numbers) >= least
        and math.isfinite(numbers[-1] - numbers[0])
        and all(low < high for low, high in pairwise(numbers))
    ):
        raise InvalidInputError(
            "Expected bounds, edges and knots in the transforms of a column to be finite and to "
            "ascend, no further apart than a float holds."
        )


@dataclass(frozen=True, slots=True)
class _Bounded:
    lower: float
    upper: float

    def __post_init__(self) -> None:
        _require_ascending(self.lower, self.upper)


@dataclass(frozen=True, slots=True)
class Clip(_Bounded):
    """Clamped to public bounds."""


def binary_log(values: np.ndarray) -> np.ndarray:
    """Return the logarithm to the base of 2 of positive numbers, to 1e-15 of its size or of 1.

    By sums, products and quotients alone, each rounded as IEEE 754 says: a number has the same bits
    wherever it is in an array and whatever is beside it. NumPy's own logarithm need not: it
    takes whole vectors another way than what is left over.
    """
    mantissa, exponent = np.frexp(values)
    small = mantissa < math.sqrt(0.5)
    mantissa = np.where(small, 2.0 * mantissa, mantissa)
    # log(m) = 2 atanh(s) with s = (m - 1) / (m + 1), and |s| < 0.172.
    s = (mantissa - 1.0) / (mantissa + 1.0)
    square, series = s * s, np.zeros_like(s)
    for k in reversed(range(_LOG_TERMS)):
        series = series * square + 1.0 / (2 * k + 1)
    return np.asarray((exponent - small) + s * series * (2.0 / math.log(2.0)))


@dataclass(frozen=True, slots=True)
class Log(_Bounded):
    """The logarithm to the base of 2 of a number that is clamped to positive bounds before;
    ``of(values)`` : those of positive numbers, by ``TERMS`` terms of a series."""

    of = staticmethod(binary_log)
    TERMS: ClassVar[int] = _LOG_TERMS

    def __post_init__(self) -> None:
        _require_ascending(0.0, self.lower, self.upper)


@dataclass(frozen=True, slots=True)
class Bin:
    """How many of the ascending edges a number has reached."""

    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        _require_ascending(*self.edges, least=1)


@dataclass(frozen=True, slots=True)
class DatePart:
    """The month or the weekday of a day, from 0, or its year, clamped to these two, from the first
    on."""

    key: Literal["year", "month", "weekday"]
    first: int = 1
    last: int = 9999


@dataclass(frozen=True, slots=True)
class Affine(_Bounded):
    """One feature: 0 at ``lower``, 1 at ``upper`` and a straight line between them."""

    width: ClassVar[int] = 1

    @staticmethod
    def between(lower: float, upper: float) -> Chain:
        """Return the transforms that map public bounds to [0, 1]."""
        return Clip(lower, upper), Affine(lower, upper)


@dataclass(frozen=True, slots=True)
class Hat:
    """A feature for each ascending knot: 1 there and 0 from the knots beside it on."""

    knots: tuple[float, ...]

    def __post_init__(self) -> None:
        _require_ascending(*self.knots)

    @property
    def width(self) -> int:
        return len(self.knots)


@dataclass(frozen=True, slots=True)
class OneHot:
    """A feature for each level, 1 for the one whose position the number is; all 0 for -1.

    ``prefix`` : of the levels' names; ``part`` : the part of the cell that has these levels, as
    in ``".month"``.
    """

    levels: Sequence[object]
    prefix: str = ""
    part: str = ""

    @property
    def width(self) -> int:
        return len(self.levels)

    @property
    def words(self) -> tuple[str, ...]:
        """The levels as the names of features have them."""
        return tuple(f"{self.prefix}{short(level)}" for level in self.levels)


@dataclass(frozen=True, slots=True)
class Held:
    """The number itself in the feature's place, until its bounds are released."""

    width: ClassVar[int] = 1


Transform: TypeAlias = Clip | Log | Bin | DatePart | Affine | Hat | OneHot | Held
Chain: TypeAlias = tuple[Transform, ...]
"""Transforms, one after the other. The last one makes features: affine, hat, one-hot or held."""
