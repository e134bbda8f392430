"""Values of a schema's keys, each checked as it is read, with its column in the message."""

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from dpcore.errors import InvalidInputError

__all__ = [
    "Entry",
    "Value",
    "are_numbers",
    "check_bounds",
    "check_distinct",
    "is_boolean",
    "is_whole",
    "short",
    "written",
]

_FIT = (
    "where nobody knows it, a fit of one model releases it, and nothing else does: "
    '{key} = "private", or dpcore train --private-bounds (dpcore.fit(..., private_bounds=True)) '
    "for all columns without"
)

Value: TypeAlias = str | int | float
"""A category or class: text without surrounding spaces, or a finite number."""

_EXACT = 2**53
_ELSEWHERE = {
    "bounds": ("lower", "upper"),
    "range": ("lower", "upper"),
    "min": ("lower",),
    "max": ("upper",),
    "type": ("kind",),
    "values": ("categories",),
}
"""Names of keys elsewhere, and here."""
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,15}")


@dataclass(frozen=True)
class Entry:
    """A table of keys in a schema. Each method returns a key's value, or raises InvalidInputError
    that names ``where`` the table is."""

    where: str
    data: Mapping[str, Any]

    PLACEHOLDER: ClassVar[str] = "FILL-IN"
    """Stands in a schema template where public knowledge is wanted; no schema validates with it."""
    PRIVATE: ClassVar[str] = "private"
    """In the place of a bound: it is released from the rows, within the run's budget."""

    def check_keys(self, known: Iterable[str]) -> None:
        """Refuse a key that is not known, with the nearest known name."""
        known = list(known)
        for key in self.data:
            if key not in known:
                said = [name for name in _ELSEWHERE.get(key, ()) if name in known]
                near = said or difflib.get_close_matches(str(key), known, n=1)
                hint = f" Did you mean {' and '.join(map(repr, near))}?" if near else ""
                raise InvalidInputError(
                    f"Unknown key {key!r} in {self.where}.{hint} Known: {', '.join(known)}."
                )

    def check_no_other(self) -> None:
        """Refuse ``other`` beside the bounds of a number."""
        if "other" in self.data:
            raise InvalidInputError(
                f"Expected no other in {self.where}: it names a class, and the target is a number."
            )

    def number(self, key: str, advice: str = "") -> float:
        """Return a number; ``advice`` : the end of the sentence where it is still missing."""
        if key not in self.data:
            raise InvalidInputError(f"Missing {key} in {self.where}{advice}.")
        if self.data[key] == self.PLACEHOLDER:
            raise InvalidInputError(f"The {key} of {self.where} is still to be filled in{advice}.")
        return float(self._finite(key, self.data[key]))

    def bound(self, key: str) -> float:
        """Return a bound of a number, which may be private elsewhere."""
        return self.number(key, f"; {_FIT.format(key=key)}")

    def number_or_none(self, key: str) -> float | None:
        return None if key not in self.data else self.number(key)

    def numbers(self, key: str) -> tuple[float, ...]:
        """Return a list of numbers."""
        values = self.data[key]
        if not isinstance(values, (list, tuple)):
            raise InvalidInputError(f"Expected {key} of {self.where} to be a list of numbers.")
        return tuple(float(self._finite(key, value)) for value in values)

    def whole(self, key: str) -> int:
        """Return a whole number."""
        number = self.number(key)
        if not number.is_integer():
            raise InvalidInputError(f"Expected {key} of {self.where} to be a whole number.")
        return int(number)

    def text(self, key: str) -> str:
        value = self.data[key]
        if not isinstance(value, str) or value == self.PLACEHOLDER:
            raise InvalidInputError(f"Expected {key} of {self.where} to be text.")
        return value

    def words(self, key: str) -> tuple[str, ...]:
        """Return a list of texts; none if the key is not there."""
        words = self.data.get(key, ())
        if not isinstance(words, (list, tuple)) or not all(isinstance(w, str) for w in words):
            raise InvalidInputError(
                f'Expected {key} of {self.where} to be a list of texts, as in ["NA", "-9"].'
            )
        for word in words:
            self._check_text(word)
        return tuple(words)

    def flag(self, key: str) -> bool:
        """Return true or false; false if the key is not there."""
        value = self.data.get(key, False)
        if not isinstance(value, bool):
            raise InvalidInputError(f"Expected {key} of {self.where} to be true or false.")
        return value

    def values(self, key: str, given: Any = None) -> tuple[Value, ...]:
        """Return categories or classes (of ``given``, or the key's); all text if one is, since a
        file's column has one type."""
        values, where = self.data.get(key) if given is None else given, self.where
        if not isinstance(values, (list, tuple)) or not values:
            raise InvalidInputError(f"Expected {key} of {where} to be a list that is not empty.")
        for value in values:
            if not isinstance(value, (str, int, float)):
                raise InvalidInputError(f"Expected {key} of {where} to hold text or numbers.")
            if value == self.PLACEHOLDER:
                raise InvalidInputError(f"The {key} of {where} are still to be filled in.")
            if isinstance(value, str):
                self._check_text(value)
        if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
            return tuple(self._finite(key, v) for v in values)
        return tuple(str(v).lower() if isinstance(v, bool) else str(v) for v in values)

    def _check_text(self, text: str) -> None:
        if text != text.strip():
            raise InvalidInputError(
                f"Value {text!r} of {self.where} has outer spaces; cells are stripped of theirs."
            )

    def _finite(self, key: str, value: Any) -> int | float:
        """Return a finite number, whole numbers that float64 holds as they were given."""
        if value == self.PLACEHOLDER:
            raise InvalidInputError(f"The {key} of {self.where} is still to be filled in.")
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if isinstance(value, int) and abs(value) < _EXACT:
                return value
            try:
                number = float(value)
            except OverflowError:
                number = math.inf
            if math.isfinite(number):
                return number
        raise InvalidInputError(f"Expected {key} of {self.where} to be a finite number.")


def are_numbers(values: Iterable[Value]) -> bool:
    """Return whether categories or classes are numbers: cells are then compared as such."""
    return not any(isinstance(value, str) for value in values)


def is_boolean(word: str) -> bool:
    """Return whether a category or class is a truth value, in whatever case it is written."""
    return word.lower() in ("true", "false")


def is_whole(text: str) -> bool:
    """Return whether a text is the canonical one of a whole number below 2^53 in size."""
    return _WHOLE.fullmatch(text) is not None and abs(int(text)) < _EXACT


def check_bounds(name: str, lower: float | None, upper: float | None) -> None:
    if lower is None or upper is None or not float(lower) < float(upper):
        raise InvalidInputError(
            f"Expected lower={lower} < upper={upper} in column {name!r} (public bounds)."
        )
    if not math.isfinite(upper - lower):
        raise InvalidInputError(f"The bounds of column {name!r} are too far apart.")


def check_distinct(name: str, what: str, values: tuple[Value, ...]) -> None:
    if len({str(v) for v in values}) < len(values) or len(set(values)) < len(values):
        raise InvalidInputError(f"Duplicate values among the {what} of column {name!r}.")


def short(value: object) -> str:
    """Return a category or a number as the name of a feature has it."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def written(number: float) -> str:
    """Return an edge or a knot as the name of a feature has it."""
    return str(int(number)) if number.is_integer() else repr(number)
