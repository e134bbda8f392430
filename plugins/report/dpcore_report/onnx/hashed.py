"""Hashed columns for programs without the hash: a table of the bucket of each public value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from dpcore.errors import InvalidInputError, near_names, replacing
from dpcore.plugin.columns import Encoding, transforms
from dpcore_tables.kinds.hashed import Hashed

if TYPE_CHECKING:
    from dpcore.plugin.parts import Model

__all__ = ["TabledHash", "files_in", "values_in", "with_tables"]

_MOST_TEXTS, _MOST_NUMBERS = 2**17, 2**12
"""Values of a table. A text is looked up, and a number is compared with each of them."""


@dataclass(frozen=True)
class TabledHash(Hashed):
    """A hashed column by a table of its values. Another value is a fault of its row: its bucket,
    which is anywhere, is not known without the hash."""

    kind: ClassVar[str] = "hashed"
    values: tuple[str | float, ...] = ()

    @property
    def encoding(self) -> Encoding:
        hashed = super().encoding
        bucket = transforms.Hash(self.buckets, self.numbers).bucket
        places = tuple(map(bucket, self.values))
        reading = transforms.Lookup(self.values, places, unknown="fault")
        return Encoding(reading, hashed.chains, hashed.fill, hashed.indicator)


def files_in(texts: Iterable[str]) -> dict[str, str]:
    """Return files by column, of COLUMN=FILE each; InvalidInputError for what is none of it, and
    for a column twice."""
    pairs = [text.partition("=") for text in texts]
    files = {name: file for name, _, file in pairs if name and file}
    if len(files) < len(pairs):
        raise InvalidInputError("Expected --values COLUMN=FILE, once for each column.")
    return files


def values_in(path: str) -> list[str]:
    """Return the values of a file, one a line, in UTF-8; InvalidInputError for a file that
    cannot be read."""
    told = InvalidInputError(f"Cannot read {path!r} as lines of UTF-8, a value each.")
    with replacing(OSError, UnicodeDecodeError, by=lambda _: told):
        return Path(path).read_text("utf-8-sig").splitlines()


def with_tables(model: Model, values: Mapping[str, Iterable[str]]) -> Model:
    """Return the model with tables in place of the hashes of these columns. ``values`` : by column,
    public ones: whoever has the graph can read them.

    Raises InvalidInputError for a column that is not hashed, and for values that are none, too
    many, or no numbers where the column's are.
    """
    hashed = {c.name: c for c in model.schema.features if type(c) is Hashed}
    for name in values:
        if name not in hashed:
            raise InvalidInputError(
                f"The model has no hashed column {name!r}.{near_names(name, [*hashed])}"
            )
    tables = {name: _table(hashed[name], model, of) for name, of in values.items()}
    columns = tuple(tables.get(column.name, column) for column in model.schema.columns)
    return replace(model, schema=replace(model.schema, columns=columns))


def _table(column: Hashed, model: Model, values: Iterable[str]) -> TabledHash:
    empty = model.schema.notation.with_words(column.missing).empty
    texts = [text for text in dict.fromkeys(map(str.strip, values)) if text not in empty]
    found: list[str | float] = [*texts]
    most = _MOST_TEXTS
    if column.numbers:
        told = f"Column {column.name!r} has numbers, and not all of its values are some."
        with replacing(ValueError, by=lambda _: InvalidInputError(told)):
            found, most = [*dict.fromkeys(map(float, texts))], _MOST_NUMBERS
    elif texts and all(text.lower() in ("true", "false") for text in texts):
        # A graph takes these in any case, and their hashes differ by it.
        raise InvalidInputError(
            f"Expected other values of column {column.name!r} than truth values alone."
        )
    if not 0 < len(found) <= most:
        raise InvalidInputError(
            f"Expected from 1 to {most:,} values of column {column.name!r}, found {len(found):,}."
        )
    keys = column.buckets, column.numbers, column.fill, column.indicator, column.missing
    return TabledHash(column.name, *keys, tuple(found))
