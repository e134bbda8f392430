"""Delimited text through pyarrow: typed and fast first; as text where a cell resists its type."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

import pyarrow as pa
import pyarrow.csv as pacsv

from dpcore.data.columns import Categorical, Column, Label
from dpcore.data.raw_table import RawTable, check_names
from dpcore.data.readers.lines import first_line, is_plain, trimmed, whole_lines
from dpcore.data.schema import Schema
from dpcore.errors import DataError

__all__ = ["arrow_type", "first_width", "read_csv", "read_delimited", "read_header"]

_TEXT = pa.dictionary(pa.int32(), pa.string())
_BLOCK = 2**20
_LARGEST_BLOCK = 2**31 - 1


def read_csv(
    content: bytes,
    source: str,
    schema: Schema,
    *,
    separator: str,
    labelled: bool = True,
    drop: bool = False,
    quote: str | None = '"',
) -> RawTable:
    """Return the schema's columns of delimited text.

    Without a header the columns are the schema's, in order. ``drop`` takes each line for a record
    and leaves out those with too many or too few cells or an open quote, so also cells with line
    breaks; otherwise they raise DataError with their line, as do a header that is missing or does
    not fit the schema, and a quoted cell that does not end.
    """
    if schema.header:
        head = first_line(content)[0] if drop else content
        names = read_header(head, source, separator, quote)
    else:
        names = [column.name for column in schema.columns]
        if not labelled and first_width(content, separator, quote) == len(names) - 1:
            names.remove(schema.label.name)
    wanted = set(check_names(names, schema, source, labelled))
    types = {c.name: arrow_type(c) for c in schema.columns if c.name in wanted}
    return read_delimited(
        content,
        source,
        names,
        types,
        header=schema.header,
        separator=separator,
        missing=schema.missing,
        drop=drop,
        quote=quote,
    )


def read_delimited(
    content: bytes,
    source: str,
    names: Sequence[str],
    types: Mapping[str, pa.DataType],
    *,
    header: bool,
    separator: str,
    missing: Sequence[str],
    drop: bool,
    quote: str | None = '"',
) -> RawTable:
    """Return the columns in ``types`` of text whose fields are ``names``, in that order."""
    place = _places(content, separator, quote, header)
    # Arrow counts empty lines among those that it skips for the header.
    content = trimmed(content)
    if drop:
        content = first_line(content)[1] if header else content
        header = False
        if not is_plain(content, quote):
            content = whole_lines(content, len(names), separator, quote)
    if not content.strip(b"\r\n"):
        return RawTable(
            {name: pa.chunked_array([], kind) for name, kind in types.items()}, 0, source, place
        )
    if not content.endswith((b"\n", b"\r")):
        content += b"\n"
    if quote and not drop:
        _check_quotes(content, source, separator, quote)
    layout = (header, separator, quote)
    try:
        if any(_is_number(word) for word in missing):
            raise pa.ArrowInvalid("a missing value looks like a number")
        table = _parse(content, names, types, missing, *layout)
    except pa.ArrowInvalid:
        table = _parse_as_text(content, source, names, types, drop, *layout)
    except pa.ArrowException as error:
        raise _unreadable(source, error) from None
    columns = dict(zip(types, table.columns, strict=True))
    return RawTable(columns, table.num_rows, source, place)


def read_header(content: bytes, source: str, separator: str, quote: str | None = '"') -> list[str]:
    """Return the column names of the first line that is not blank, stripped of outer spaces."""
    try:
        for _, record in _records(content, separator, quote):
            return [name.strip() for name in record]
    except csv.Error as error:
        raise _unreadable(source, error) from None
    raise DataError(f"{source}: the file is empty; there is no header line.")


def _parse_as_text(
    content: bytes,
    source: str,
    names: Sequence[str],
    types: Iterable[str],
    drop: bool,
    header: bool,
    separator: str,
    quote: str | None,
) -> pa.Table:
    """Cells as bytes, for a table with a cell that resists its type or a row of another width."""
    text = dict.fromkeys(types, pa.binary())
    if drop:
        content = whole_lines(content, len(names), separator, quote) or b"\n"
    else:
        _check_widths(content, source, separator, quote, len(names))
    try:
        return _parse(content, names, text, (), header, separator, quote)
    except pa.ArrowException as error:
        raise _unreadable(source, error) from None


def _parse(
    content: bytes,
    names: Sequence[str],
    types: Mapping[str, pa.DataType],
    missing: Sequence[str],
    header: bool,
    separator: str,
    quote: str | None,
) -> pa.Table:
    """Columns go by position: names may repeat where the schema does not name them."""
    position = {name: str(i) for i, name in enumerate(names)}
    column_types = {position[name]: kind for name, kind in types.items()}
    exact = next(iter(types.values()), None) == pa.binary()
    size = len(content) + 1 if exact else max(_BLOCK, 8 * (content.find(b"\n") + 1))
    return pacsv.read_csv(
        pa.BufferReader(content),
        read_options=pacsv.ReadOptions(
            column_names=[str(i) for i in range(len(names))],
            skip_rows_after_names=int(header),
            block_size=min(size, _LARGEST_BLOCK),
            use_threads=not exact,
        ),
        parse_options=pacsv.ParseOptions(
            delimiter=separator,
            quote_char=quote or False,
            newlines_in_values=bool(quote) and b'"' in content,
        ),
        convert_options=pacsv.ConvertOptions(
            column_types=column_types,
            include_columns=list(column_types),
            null_values=list(missing),
            strings_can_be_null=True,
        ),
    )


def arrow_type(column: Column) -> pa.DataType:
    """Return the type that a column's cells are first tried as."""
    if isinstance(column, Categorical):
        return _type_of(column.categories)
    if isinstance(column, Label) and not column.is_real:
        return _type_of(column.negative + column.positive)
    return pa.float64()


def _type_of(values: Sequence[str | float]) -> pa.DataType:
    return pa.float64() if all(isinstance(v, float) for v in values) else _TEXT


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _records(
    content: bytes, separator: str, quote: str | None, strict: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line (from 1) and the cells of every record that is not blank."""
    text = io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", errors="replace", newline="")
    quoted: Literal[0, 3] = csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE
    reader = csv.reader(text, delimiter=separator, quoting=quoted, strict=strict)
    line = 1
    for record in reader:
        if record:
            yield line, record
        line = reader.line_num + 1


def _places(
    content: bytes, separator: str, quote: str | None, header: bool
) -> Callable[[int], str]:
    def where(row: int) -> str:
        try:
            for i, (line, _) in enumerate(_records(content, separator, quote)):
                if i == row + header:
                    return f"line {line}"
        except csv.Error:
            pass
        return f"row {row + 1}"

    return where


def first_width(content: bytes, separator: str, quote: str | None) -> int:
    """Return the number of cells of the first record, 0 if there is none."""
    try:
        return len(next(_records(content, separator, quote), (1, []))[1])
    except csv.Error:
        return 0


def _check_widths(
    content: bytes, source: str, separator: str, quote: str | None, width: int
) -> None:
    try:
        for line, record in _records(content, separator, quote):
            if len(record) != width:
                raise DataError(f"{source}, line {line}: {len(record)} cells, expected {width}.")
    except csv.Error as error:
        raise _unreadable(source, error) from None


def _check_quotes(content: bytes, source: str, separator: str, quote: str) -> None:
    """Refuse text that ends inside a quoted cell: all that follows the quote would be one cell."""
    if content.count(quote.encode()) % 2 == 0:
        return
    line = 1
    try:
        for line, record in _records(content, separator, quote, strict=True):
            line += sum(cell.count("\n") for cell in record) + 1
    except csv.Error as error:
        if "end of data" in str(error):
            raise DataError(
                f"{source}, line {line} or after: a quoted cell does not end; the file may be "
                "cut short."
            ) from None


def _unreadable(source: str, error: Exception) -> DataError:
    return DataError(f"{source}: cannot be read as delimited text ({type(error).__name__}).")
