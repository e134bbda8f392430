"""Schemas that come with the package, by name: public facts about files that a user brings.

A name is met where a path of a schema may be given and there is no file of that name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from dpcore.errors import InvalidInputError, near_names, replacing

__all__ = ["SHIPPED", "Shipped", "is_shipped", "schema_text", "shipped_text"]


@dataclass(frozen=True, slots=True)
class Shipped:
    """A schema beside this module.

    Parameters
    ----------
    file : the TOML text.
    rows : the published number of rows, where several names share the text.
    label : the TOML text of the label's column, the last, where several names share the others.
    summary : the file of rows that it describes, in a line.
    """

    file: str
    summary: str
    rows: int | None = None
    label: str | None = None


_KDD, _NORMAL, _CLASSES = "kddcup99.toml", "kddcup99-normal.toml", "kddcup99-classes.toml"
_ALL = "KDD Cup 1999, all of it"
SHIPPED: Mapping[str, Shipped] = MappingProxyType(
    {
        "adult": Shipped("adult.toml", "UCI Adult: adult.data, commas"),
        "bank": Shipped("bank.toml", "bank marketing as coded by Lee & Kifer: BANK.dat, blanks"),
        "buzz-twitter": Shipped(
            "buzz-twitter.toml", "UCI Buzz in social media: regression/Twitter/Twitter.data, commas"
        ),
        "ipums-br": Shipped("ipums.toml", "IPUMS Brazil as coded by Lee & Kifer, blanks", 38_000),
        "ipums-us": Shipped("ipums.toml", "IPUMS USA as coded by Lee & Kifer, blanks", 40_000),
        "kddcup99": Shipped(_KDD, f"{_ALL}: kddcup.data", 4_898_431, _NORMAL),
        "kddcup99-10": Shipped(_KDD, "KDD Cup 1999, the published tenth", 494_021, _NORMAL),
        "kddcup99-10-classes": Shipped(_KDD, "the same, of five classes", 494_021, _CLASSES),
        "kddcup99-classes": Shipped(_KDD, f"{_ALL}, of five classes", 4_898_431, _CLASSES),
    }
)


def is_shipped(path: str | os.PathLike[str]) -> bool:
    """Return whether a path of a schema is the name of a shipped one and of no file."""
    return os.fspath(path) in SHIPPED and not os.path.exists(path)


def shipped_text(name: str) -> str:
    """Return the TOML text of the shipped schema of that name."""
    schema = SHIPPED[name]
    parts = (schema.file,) if schema.label is None else (schema.file, schema.label)
    text = "".join((Path(__file__).parent / part).read_text(encoding="utf-8") for part in parts)
    return text if schema.rows is None else f"rows = {schema.rows}\n{text}"


def schema_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a schema: of the file of that path, or of the shipped one of that name.

    Raises InvalidInputError, with near names, if there is neither.
    """
    if is_shipped(path):
        return shipped_text(os.fspath(path))

    def told(error: Exception) -> InvalidInputError:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        message = f"Cannot read schema {os.fspath(path)!r}: {reason}"
        if not (isinstance(error, FileNotFoundError) and _may_be_a_name(path)):
            return InvalidInputError(f"{message}.")
        near = near_names(os.fspath(path), SHIPPED)
        return InvalidInputError(f"{message}, and none of that name is shipped.{near}")

    with replacing(OSError, ValueError, by=told):
        return Path(path).read_text(encoding="utf-8")


def _may_be_a_name(path: str | os.PathLike[str]) -> bool:
    text = os.fspath(path)
    return os.path.basename(text) == text and not os.path.splitext(text)[1]
