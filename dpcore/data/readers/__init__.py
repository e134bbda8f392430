"""One reader per file format; each is chosen by the file's suffix or by name."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import Literal

from dpcore.data.readers.places import STDIN
from dpcore.errors import InvalidInputError

__all__ = ["FORMATS", "BadRows", "format_of", "is_typed", "separator_of"]

BadRows = Literal["refuse", "drop"]
"""Whether a row that does not satisfy the schema is an error, or is left out."""

FORMATS = {
    "csv": (".csv", ".tsv", ".data", ".txt"),
    "parquet": (".parquet", ".pq"),
    "libsvm": (".libsvm", ".svm", ".svmlight"),
    "whitespace": (".dat",),
    "npz": (".npz",),
    "dpcore": (".dpcore",),
}
"""Format name -> suffixes; the separator of text is the schema's. A further ``.gz`` is unpacked."""


def format_of(path: str, format: str | None = None) -> str:
    """Return the format to read ``path`` with: ``format``, or by its suffix; of standard input
    ("-") it is csv, of a folder parquet.

    Raises InvalidInputError for an unknown format or suffix.

    Examples
    --------
    >>> from dpcore.plugin.parts import format_of
    >>> format_of("rows.csv.gz"), format_of("rows.parquet")
    ('csv', 'parquet')
    """
    if format is not None:
        if format not in FORMATS:
            raise InvalidInputError(f"Unknown format {format!r}. Known: {', '.join(FORMATS)}.")
        return format
    if path == STDIN:
        return "csv"
    if os.path.isdir(path):
        return "parquet"
    name = PurePath(path).name.lower().removesuffix(".gz")
    for known, suffixes in FORMATS.items():
        if name.endswith(suffixes):
            return known
    raise InvalidInputError(
        f"Cannot tell the format of {path!r} from its name: let it end in one of "
        f"{', '.join(suffix for suffixes in FORMATS.values() for suffix in suffixes)}. Save a file "
        "of another program (.xlsx, .sav, .feather) as CSV or Parquet from there, or read it with "
        "pandas and pass the frame to dpcore.fit."
    )


def is_typed(path: str, format: str | None = None) -> bool:
    """Return whether the file declares types of its columns, which another program chose."""
    return format_of(path, format) == "parquet"


def separator_of(path: str, format: str) -> str:
    """Return the separator of cells that a text file's name says: a schema may say another."""
    if format == "whitespace":
        return "whitespace"
    return "\t" if PurePath(path).name.lower().removesuffix(".gz").endswith(".tsv") else ","
