"""The notation of a text's cells: words for no value, and numbers."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass, replace

from dpcore.data.schema.values import Value, is_whole
from dpcore.errors import InvalidInputError

__all__ = ["Notation"]

_THOUSANDS = ("", ".", ",", " ", "'", "_", "\u2019", "\u00a0", "\u202f")


@dataclass(frozen=True)
class Notation:
    """Parameters
    ----------
    missing : the words that mean that there is no value. The text of a whole number, such as -9,
        is that number too, where cells are numbers.
    decimal : the character before the decimals of a number.
    thousands : the character between groups of three digits, which may be there or not; empty for
        none.
    """

    missing: tuple[str, ...] = ("",)
    decimal: str = "."
    thousands: str = ""

    def __post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise InvalidInputError(f'Expected decimal={self.decimal!r} to be "." or ",".')
        if self.thousands not in _THOUSANDS or self.thousands == self.decimal:
            raise InvalidInputError(
                f"Expected thousands={self.thousands!r} to be empty, a point, comma, blank, "
                "apostrophe or underscore, and not the decimal's."
            )

    def with_words(self, words: tuple[str, ...]) -> Notation:
        """Return the notation of a column that has words for no value beside the table's."""
        return replace(self, missing=(*self.missing, *words)) if words else self

    def means_none(self, value: Value) -> bool:
        """Return whether a text or a number means that there is no value."""
        return value in (self.missing if isinstance(value, str) else self.numbers)

    @functools.cached_property
    def numbers(self) -> tuple[float, ...]:
        """The numbers that mean that there is no value."""
        return tuple(float(word) for word in self.missing if is_whole(word))

    @functools.cached_property
    def empty(self) -> frozenset[str]:
        """The words of a cell without a value: blank, and those that are listed."""
        return frozenset({"", *self.missing})

    @functools.cached_property
    def pattern(self) -> str:
        """A number in text, as a regular expression: decimal, with an exponent or without."""
        point, between = re.escape(self.decimal), re.escape(self.thousands)
        groups = f"|[0-9]{{1,3}}(?:{between}[0-9]{{3}})+" if between else ""
        whole = f"(?:[0-9]+{groups})"
        return f"^[+-]?(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?$"

    @functools.cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    def number(self, word: str) -> float:
        """Return a text as a number, NaN if it is none or means no value."""
        word = word.strip()
        if word in self.missing or not self._compiled.match(word):
            return math.nan
        if self.thousands:
            word = word.replace(self.thousands, "")
        return float(word.replace(self.decimal, "."))
