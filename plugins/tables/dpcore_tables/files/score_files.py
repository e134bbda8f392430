"""Rows of scores as the bytes of a CSV or a Parquet file."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["scores_as_bytes"]

Pieces = Iterable[Iterable[tuple[Any, ...]]]
"""Rows in pieces, a tuple of cells each, with ``None`` for no value."""

_FORMATS = {"": "csv", ".csv": "csv", ".txt": "csv", ".parquet": "parquet"}
_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def scores_as_bytes(out: Path | None, for_spreadsheets: bool) -> Callable[..., Iterator[bytes]]:
    """Return what makes the bytes of a file of scores, in the format that its name says, of heads,
    the types of columns, and pieces of rows.

    Raises InvalidInputError for a name that promises another format than CSV or Parquet, and
    Parquet for a spreadsheet.
    """
    if _format_of_scores(out) == "csv":
        return lambda heads, _, pieces: _csv_bytes(heads, pieces, for_spreadsheets=for_spreadsheets)
    if for_spreadsheets:
        raise InvalidInputError("Expected --spreadsheet-safe with CSV: Parquet has no formulas.")
    return _parquet_bytes


def _format_of_scores(out: Path | None) -> str:
    """Return ``csv`` or ``parquet``, by the name of the file to write; CSV on standard output.

    Raises InvalidInputError for a name that promises another format.
    """
    form = "csv" if out is None else _FORMATS.get(out.suffix.lower())
    if form is None:
        raise InvalidInputError(
            f"Expected --out {str(out)!r} to end in .csv, .txt or nothing, for lines of CSV, or in "
            ".parquet: no other format is written."
        )
    return form


def _csv_bytes(
    heads: tuple[str, ...], pieces: Pieces, *, for_spreadsheets: bool
) -> Iterator[bytes]:
    """Yield the lines of a CSV file, the heads first.

    ``for_spreadsheets`` : put an apostrophe before text that a spreadsheet takes for a formula,
    which may send the other cells away: text that begins with =, +, -, @, a tab or a carriage
    return, and is no number.
    """
    for rows in chain([[heads]], pieces):
        shown = (tuple(map(_no_formula, row)) for row in rows) if for_spreadsheets else rows
        yield _lines(shown).encode("utf-8")


def _lines(rows: Iterable[tuple[Any, ...]]) -> str:
    """Return a line for each row. A carriage return in a cell would end a line too: the writer
    quotes the cell where such are among the ends of its own lines."""
    lines: list[str] = []
    end = "\r\n"
    csv.writer(SimpleNamespace(write=lines.append), lineterminator=end).writerows(rows)
    return "".join(f"{line.removesuffix(end)}\n" for line in lines)


def _no_formula(cell: Any) -> Any:
    is_formula = isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if is_formula else cell


def _parquet_bytes(
    heads: tuple[str, ...], kinds: Sequence[type], pieces: Pieces
) -> Iterator[bytes]:
    """Yield a Parquet file, a group of rows for each piece, with columns of these types: str,
    float, int or bool.

    Raises InvalidInputError for two columns of one name, which most readers refuse.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if twice := [name for name in heads if heads.count(name) > 1]:
        raise InvalidInputError(
            f"Expected columns of different names in Parquet, and {twice[0]!r} is there twice: "
            "--keep another column, or write .csv."
        )
    types = {str: pa.string(), float: pa.float64(), int: pa.int64(), bool: pa.bool_()}
    schema = pa.schema([(name, types[kind]) for name, kind in zip(heads, kinds, strict=True)])
    written = _Written()
    with pq.ParquetWriter(written, schema) as writer:
        for rows in pieces:
            columns = [*zip(*rows, strict=True)] or [()] * len(heads)
            cells = map(_typed, columns, kinds)
            writer.write_table(pa.table([*map(pa.array, cells, schema.types)], schema=schema))
            yield written.taken()
    yield written.taken()


def _typed(cells: Iterable[Any], kind: type) -> list[Any]:
    return [None if cell is None else kind(cell) for cell in cells]


class _Written(io.RawIOBase):
    """A file whose pieces are taken away as they are written."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._length = 0

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        self._pieces.append(bytes(piece))
        self._length += len(self._pieces[-1])
        return len(self._pieces[-1])

    def tell(self) -> int:
        return self._length

    def taken(self) -> bytes:
        """Return what was written since the last time."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
