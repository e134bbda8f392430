"""Delimited text through pyarrow: typed and fast first; as text where a cell resists its type."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from dpcore.errors import DataError
from dpcore.plugin.columns import Notation
from dpcore_tables.raw.raw_table import RawTable
from dpcore_tables.readers.pieces import Piece, arrow_reader
from dpcore_tables.readers.records import (
    BYTE_ORDER_MARK,
    compile_lines,
    compile_records,
    count_lines,
    first_line,
    is_plain,
    records,
    trimmed,
    whole_lines,
    whole_records,
)
from dpcore_tables.readers.separators import looks_separated

__all__ = [
    "ARROW_TYPES",
    "Delimited",
    "check_quotes",
    "check_widths",
    "first_width",
    "read_delimited",
    "read_header",
]

ARROW_TYPES = {True: pa.float64(), False: pa.dictionary(pa.int32(), pa.string())}
"""The type that cells are first tried as, by whether they are tried as numbers. Arrow knows words
for no value of a file only, not of a column."""
_BLOCK = 2**20
_LARGEST_BLOCK = 2**31 - 1


@dataclass(frozen=True)
class Delimited:
    """The layout of the records of a file.

    Parameters
    ----------
    source : the file, for messages.
    names : the fields, in order; they may repeat where ``types`` does not name them.
    types : name -> Arrow type of the columns that are wanted.
    separator, quote : one character each; ``quote`` may be None.
    header : whether the first record names the fields.
    notation : how cells are written.
    drop : whether each line is a record and one with too many or too few cells is left out, or one
        with an open quote, so also cells with line breaks.
    """

    source: str
    names: Sequence[str]
    types: Mapping[str, pa.DataType]
    separator: str
    quote: str | None
    header: bool
    notation: Notation
    drop: bool

    def __post_init__(self) -> None:
        compile_records(self.separator, self.quote)
        compile_lines(len(self.names), self.separator, self.quote)


def read_delimited(piece: Piece, layout: Delimited) -> RawTable:
    """Return the wanted columns of a piece of a file.

    Raises DataError, with its line, for a record of another width and for a quoted cell that does
    not end, unless the layout drops them.
    """
    lines, content = _records_of(piece, layout)
    place = _places(lines, content, piece, layout)
    if not content.lstrip(b"\r\n"):  # which copies nothing where there is text
        empty = {name: pa.chunked_array([], kind) for name, kind in layout.types.items()}
        return RawTable(empty, 0, layout.source, place)
    if not layout.drop:
        check_quotes(piece, layout)
    try:
        table = _parse_typed(piece, content, layout)
        if table is None:
            table = _parse_as_text(piece, content, layout)
        columns = dict(zip(layout.types, table.columns, strict=True))
        return RawTable(columns, table.num_rows, layout.source, place)
    except pa.ArrowException as error:
        caught = error
    fault = _unreadable(layout.source, caught)
    del caught  # Its text may quote a row: neither context nor a local variable.
    raise fault


def check_quotes(piece: Piece, layout: Delimited) -> None:
    """Refuse text that ends inside a quoted cell: all that follows the quote would be one cell."""
    if not piece.is_rest:
        return
    lines, content = _records_of(piece, layout)
    at = whole_records(content, layout.separator, layout.quote)
    if at < len(content):
        line = lines + count_lines(content[:at]) + 1
        raise DataError(
            f"{layout.source}, line {line} or after: a quoted cell does not end; the file may be "
            "cut short."
        )


def check_widths(piece: Piece, layout: Delimited) -> None:
    """Refuse the first record with too many or too few cells."""
    lines, content = _records_of(piece, layout)
    for line, n_cells in records(content, layout.separator, layout.quote):
        if n_cells != len(layout.names):
            # The first line of a file is in its first piece, however it is cut.
            is_first = n_cells == 1 and lines + line == 1
            alone = [first_line(content)[0].decode("utf-8", "replace")] if is_first else []
            raise DataError(
                f"{layout.source}, line {lines + line}: {n_cells} cells, expected "
                f"{len(layout.names)}.{looks_separated(alone, layout.separator)}"
            )


def read_header(content: bytes, source: str, separator: str, quote: str | None = '"') -> list[str]:
    """Return the column names of the first line that is not blank, stripped of outer spaces."""
    text = io.TextIOWrapper(io.BytesIO(trimmed(content)), "utf-8", errors="replace", newline="")
    quoted: Literal[0, 3] = csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE
    with suppress(csv.Error):
        for record in csv.reader(text, delimiter=separator, quoting=quoted):
            if record:
                return [*map(str.strip, record)]
        raise DataError(f"{source}: the file is empty; there is no header line.")
    raise DataError(f"{source}: cannot be read as delimited text (Error).")


_MARKS = re.compile(rb"(?:\A|(?<=[\r\n]))(?:%b)+" % BYTE_ORDER_MARK)


def _records_of(piece: Piece, layout: Delimited) -> tuple[int, bytes]:
    """Return the number of lines before a piece's records and the records, the last one ended.

    A byte order mark is none but at the start of a file: the line end before keeps Arrow from
    taking it for one, and costs a line. Without a header the file's start is a row's, so that each
    line loses it: what one becomes does not depend on whether there is another before it.
    """
    lines, content = piece.lines_before, piece.content
    if piece.is_first:
        content = trimmed(content)
        # No line end is cut in two: trimmed text begins with none.
        lines += count_lines(piece.content[: len(piece.content) - len(content)])
    elif content.startswith(BYTE_ORDER_MARK):
        lines, content = lines - 1, b"\n" + content
    if not layout.header and BYTE_ORDER_MARK in content:
        content = _MARKS.sub(b"", content)
    if layout.drop:
        if piece.is_first and layout.header:
            content = first_line(content)[1]
        if not is_plain(content, layout.quote):
            content = whole_lines(content, len(layout.names), layout.separator, layout.quote)
    if content and not content.endswith((b"\n", b"\r")):
        content += b"\n"
    return lines, content


def _parse_typed(piece: Piece, content: bytes, layout: Delimited) -> pa.Table | None:
    """Return cells as of their types, None where one resists it or a row is of another width."""
    missing = layout.notation.missing
    if any(_is_number(word, layout.notation) for word in missing):
        return None
    with suppress(pa.ArrowInvalid):
        table = _parse(piece, content, layout, layout.types, missing)
        # A text that Arrow takes for no number is not an empty cell.
        return None if any(map(_holds_nan, table.columns)) else table
    return None


def _parse_as_text(piece: Piece, content: bytes, layout: Delimited) -> pa.Table:
    """Return cells as bytes: a cell resists its type, or a row is of another width."""
    if layout.drop:
        width, separator = len(layout.names), layout.separator
        content = whole_lines(content, width, separator, layout.quote) or b"\n"
    else:
        check_widths(piece, layout)
    return _parse(piece, content, layout, dict.fromkeys(layout.types, pa.binary()), ())


def _parse(
    piece: Piece,
    content: bytes,
    layout: Delimited,
    types: Mapping[str, pa.DataType],
    missing: Sequence[str],
) -> pa.Table:
    """Return the columns by position: names may repeat where the schema does not name them."""
    position = {name: str(i) for i, name in enumerate(layout.names)}
    column_types = {position[name]: kind for name, kind in types.items()}
    exact = next(iter(types.values()), None) == pa.binary()
    size = len(content) + 1 if exact else max(_BLOCK, 8 * (content.find(b"\n") + 1))
    skipped = piece.is_first and layout.header and not layout.drop
    return pacsv.read_csv(
        arrow_reader(content),
        read_options=pacsv.ReadOptions(
            column_names=[str(i) for i in range(len(layout.names))],
            skip_rows_after_names=int(skipped),
            block_size=min(size, _LARGEST_BLOCK),
            use_threads=not exact,
        ),
        parse_options=pacsv.ParseOptions(
            delimiter=layout.separator,
            quote_char=layout.quote or False,
            newlines_in_values=bool(layout.quote) and b'"' in content,
        ),
        convert_options=pacsv.ConvertOptions(
            column_types=column_types,
            include_columns=list(column_types),
            null_values=list(missing),
            strings_can_be_null=True,
            decimal_point=layout.notation.decimal,
        ),
    )


def _holds_nan(column: pa.ChunkedArray) -> bool:
    """Return whether a text such as "nan" became a number that is none."""
    if not pa.types.is_floating(column.type):
        return False
    return bool(pc.any(pc.is_nan(column), min_count=0).as_py())


def _is_number(word: str, notation: Notation) -> bool:
    try:
        float(word.replace(notation.decimal, "."))
    except ValueError:
        return False
    return True


def _places(lines: int, content: bytes, piece: Piece, layout: Delimited) -> Callable[[int], str]:
    def where(row: int) -> str:
        found = records(content, layout.separator, layout.quote)
        skipped = row + (piece.is_first and layout.header)
        line, _ = next(itertools.islice(found, skipped, None), (1, 0))
        return f"line {lines + line}"

    return where


def first_width(content: bytes, separator: str, quote: str | None) -> int:
    """Return the number of cells of the first record, 0 if there is none."""
    return next(records(trimmed(content), separator, quote), (1, 0))[1]


def _unreadable(source: str, error: Exception) -> DataError:
    return DataError(f"{source}: cannot be read as delimited text ({type(error).__name__}).")
