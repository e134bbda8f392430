"""Texts of options: words, numbers and assignments, by commas or repeated."""

from __future__ import annotations

from collections.abc import Sequence

from dpcore.errors import InvalidInputError, replacing
from dpcore.plugin.commands import Option

__all__ = ["caps_in", "numbers_in", "params_in", "words_in"]


def words_in(text: str) -> tuple[str, ...]:
    """Return the words of a text, by commas."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def numbers_in(text: str, option: str) -> tuple[float, ...]:
    """Return the numbers of a text, by commas; InvalidInputError, which names the option."""
    no_numbers = InvalidInputError(f"Expected {option} {text!r} as numbers, by commas.")
    with replacing(ValueError, by=lambda _: no_numbers):
        return tuple(float(word) for word in words_in(text))


def params_in(texts: Sequence[str] | None, option: str) -> dict[str, dict[str, str]]:
    """Return the parameters, or slots, of each label of ``LABEL.KEY=VALUE``."""
    params: dict[str, dict[str, str]] = {}
    for text in texts or ():
        left, value = Option.pair(text, option)
        label, dot, key = left.rpartition(".")
        if not (dot and label and key):
            form = "KEY=VALUE, or loss.KEY=VALUE" if option == "--set" else "SLOT=NAME"
            raise InvalidInputError(f"Expected {option} {text!r} as ALGORITHM.{form}.")
        if key in params.setdefault(label, {}):
            raise InvalidInputError(f"{option} sets the same name twice.")
        params[label][key] = value
    return params


def caps_in(text: str) -> tuple[float, float]:
    """Return seconds and GiB of ``SECONDS,GIB``."""
    found = numbers_in(text, "--external-caps")
    if len(found) != 2:
        raise InvalidInputError(f"Expected --external-caps {text!r} as SECONDS,GIB.")
    return found[0], found[1]
