"""The notation of a text's cells: words for no value, and numbers."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace

from dpcore.data.schema.values import Value, is_whole
from dpcore.errors import InvalidInputError

__all__ = ["Notation"]

_THOUSANDS = ("", ".", ",", " ", "'", "_", "\u2019", "\u00a0", "\u202f")


@dataclass(frozen=True, slots=True)
class Notation:
    """Parameters
    ----------
    missing : the words that mean that there is no value. The text of a whole number, such as -9,
        is that number too, where cells are numbers.
    decimal : the character before the decimals of a number.
    thousands : the character between groups of three digits, which may be there or not; empty for
        none.

    All else is worked out when it is built, since it is held by what is handed out, and read by
    some cells only: ``empty``, the words of a cell without a value, blank ones among them;
    ``numbers``, those that mean that there is no value; ``matcher``, of a number in text.
    """

    missing: tuple[str, ...] = ("",)
    decimal: str = "."
    thousands: str = ""
    empty: frozenset[str] = field(init=False, repr=False, compare=False)
    numbers: tuple[float, ...] = field(init=False, repr=False, compare=False)
    matcher: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise InvalidInputError(f'Expected decimal={self.decimal!r} to be "." or ",".')
        if self.thousands not in _THOUSANDS or self.thousands == self.decimal:
            raise InvalidInputError(
                f"Expected thousands={self.thousands!r} to be empty, a point, comma, blank, "
                "apostrophe or underscore, and not the decimal's."
            )
        numbers = tuple(float(word) for word in self.missing if is_whole(word))
        object.__setattr__(self, "empty", frozenset({"", *self.missing}))
        object.__setattr__(self, "numbers", numbers)
        object.__setattr__(self, "matcher", re.compile(_number_in_text(self)))

    @property
    def pattern(self) -> str:
        """A number in text, as a regular expression: decimal, with an exponent or without."""
        return self.matcher.pattern

    def with_words(self, words: tuple[str, ...]) -> Notation:
        """Return the notation of a column that has words for no value beside the table's."""
        return replace(self, missing=(*self.missing, *words)) if words else self

    def means_none(self, value: Value) -> bool:
        """Return whether a text or a number means that there is no value."""
        return value in (self.missing if isinstance(value, str) else self.numbers)

    def number(self, word: str) -> float:
        """Return a text as a number, NaN if it is none or means no value."""
        word = word.strip()
        if word in self.missing or not self.matcher.match(word):
            return math.nan
        if self.thousands:
            word = word.replace(self.thousands, "")
        return float(word.replace(self.decimal, "."))


def _number_in_text(notation: Notation) -> str:
    point, between = re.escape(notation.decimal), re.escape(notation.thousands)
    groups = f"|[0-9]{{1,3}}(?:{between}[0-9]{{3}})+" if between else ""
    return f"^[+-]?(?:(?:[0-9]+{groups})(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?$"
