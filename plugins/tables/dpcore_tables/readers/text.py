"""Delimited text, with commas or blanks between cells, with named columns or a width."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from dpcore import Schema
from dpcore.errors import DataError, InvalidInputError
from dpcore_tables.cells.typed import to_numbers
from dpcore_tables.files.input_paths import STDIN
from dpcore_tables.raw.raw_matrix import RawMatrix
from dpcore_tables.raw.raw_table import RawTable, check_names
from dpcore_tables.raw.reader import ReadFacts
from dpcore_tables.readers.code_pages import checked_encoding
from dpcore_tables.readers.csv import (
    ARROW_TYPES,
    Delimited,
    check_quotes,
    check_widths,
    first_width,
    read_delimited,
    read_header,
)
from dpcore_tables.readers.pieces import Piece, read_pieces
from dpcore_tables.readers.records import first_line, utf8_lines, whole_records
from dpcore_tables.readers.separators import looks_separated, separator_of
from dpcore_tables.readers.whitespace import to_single_spaces

__all__ = ["TextFile", "open_text", "open_whitespace", "read_text"]

_LABEL = "label"
_NO_HEADER = (
    " The first line has none of the schema's names: if it is a row, header = false in the schema "
    "says so."
)


class TextFile:
    """A file of delimited text, read in pieces.

    Without a header the columns are the schema's, in order. ``separator`` : what the file's name
    says, which holds unless the schema sets one. ``drop`` takes each line for a record and leaves
    out those with too many or too few cells or an open quote, so also cells with line breaks, and
    those that are not UTF-8; otherwise they raise DataError with their line, as do a header that
    is missing or does not fit the schema, and a quoted cell that does not end.
    """

    def __init__(
        self,
        path: str,
        schema: Schema,
        *,
        labelled: bool = True,
        drop: bool = False,
        separator: str = ",",
    ) -> None:
        self._path = path
        self._schema = schema
        self._labelled = labelled
        self._drop = drop
        self._encoding = checked_encoding(schema.encoding)
        separator = schema.separator if schema.separator != "," else separator
        self._blanks = separator == "whitespace"
        self._separator = " " if self._blanks else separator
        self._quote = None if self._blanks else '"'

    def names(self) -> list[str]:
        """Return the names of the header's columns; InvalidInputError for a file without one."""
        if self._path == STDIN:
            raise InvalidInputError(
                "Standard input can be read once only, so that no wildcard of the schema is known "
                "beforehand; list the columns, or name a file."
            )
        if not self._schema.header:
            raise InvalidInputError(
                f"{self._path} has no header (header = false), so that no wildcard of the schema "
                "has a name to stand for; list the columns."
            )
        with closing(self._pieces()) as pieces:
            return self._header(self._utf8(next(pieces)).content)

    def pieces(self) -> Iterator[RawTable | RawMatrix]:
        """Yield the rows, a piece of the file at a time, one at least."""
        layout: Delimited | None = None
        for piece in self._pieces():
            text = self._utf8(piece)
            layout = layout or self._layout(text)
            raw = read_delimited(text, layout)
            yield raw if self._schema.width is None else self._matrix(raw)

    def check(self) -> None:
        """Raise the DataError that comes first where the file is read as one piece: bytes that
        are no text before records that do not fit, wherever they are."""
        for piece in self._pieces():
            self._utf8(piece)
        layout: Delimited | None = None
        for check in (check_quotes, check_widths):
            for piece in self._pieces():
                text = self._utf8(piece)
                layout = layout or self._layout(text)
                if not self._drop:
                    check(text, layout)

    def read(self, content: bytes) -> RawTable | RawMatrix:
        """Return the rows of text in memory."""
        text = self._utf8(Piece(content))
        raw = read_delimited(text, self._layout(text))
        return raw if self._schema.width is None else self._matrix(raw)

    def _pieces(self) -> Generator[Piece, None, None]:
        quote = None if self._drop else self._quote
        cut = partial(whole_records, separator=self._separator, quote=quote)
        return read_pieces(self._path, cut, self._encoding)

    def _utf8(self, piece: Piece) -> Piece:
        content = utf8_lines(
            piece.content,
            self._path,
            drop=self._drop,
            header=self._schema.header and piece.is_first,
            lines_before=piece.lines_before,
            encoding=self._encoding,
        )
        return replace(piece, content=to_single_spaces(content) if self._blanks else content)

    def _matrix(self, raw: RawTable) -> RawMatrix:
        """Return rows of unnamed features."""
        width = self._schema.width or 0
        X = np.empty((raw.n_rows, width))
        for j in range(width):
            X[:, j] = to_numbers(raw.columns[_feature(j)], self._schema.notation)
        return RawMatrix(X, raw.columns.get(_LABEL), raw.source, raw.where)

    def _layout(self, first: Piece) -> Delimited:
        columns = self._columns if self._schema.width is None else self._unnamed
        names, types = columns(first.content)
        return Delimited(
            self._path,
            names,
            types,
            self._separator,
            self._quote,
            self._schema.header,
            self._schema.notation,
            self._drop,
        )

    def _columns(self, content: bytes) -> tuple[list[str], dict[str, pa.DataType]]:
        schema = self._schema
        if schema.header:
            names = self._header(content)
        else:
            names = [column.name for column in schema.columns]
            if self._lacks_label(content, len(names)):
                names.remove(schema.label.name)
        numbers = {plan.name for plan in schema.plans if plan.tries_numbers}
        try:
            wanted = check_names(names, schema, self._path, self._labelled)
        except DataError as error:
            fault = error
        else:
            types = {}
            for name in wanted:
                types[name] = ARROW_TYPES[name in numbers]
            return names, types
        raise _told_of_another_layout(fault, names, schema, self._separator)

    def _header(self, content: bytes) -> list[str]:
        head = first_line(content)[0] if self._drop else content
        return read_header(head, self._path, self._separator, self._quote)

    def _unnamed(self, content: bytes) -> tuple[list[str], dict[str, pa.DataType]]:
        """Return names and types of numbers and, last, the label. What is no number becomes NaN."""
        features = [_feature(j) for j in range(self._schema.width or 0)]
        names = [*features, _LABEL]
        if self._lacks_label(content, len(names)):
            names.pop()
        types = dict.fromkeys(features, pa.float64())
        if self._labelled:
            types[_LABEL] = ARROW_TYPES[self._schema.plans[-1].tries_numbers]
        return names, types

    def _lacks_label(self, content: bytes, width: int) -> bool:
        if self._labelled:
            return False
        return first_width(content, self._separator, self._quote) == width - 1


def open_text(source: str, facts: ReadFacts) -> TextFile:
    """Return the file of delimited text, whose name says the separator unless the schema does."""
    separator = separator_of(source, "csv")
    return TextFile(
        source, facts.schema, labelled=facts.labelled, drop=facts.drop, separator=separator
    )


def open_whitespace(source: str, facts: ReadFacts) -> TextFile:
    """Return the file of text with blanks between cells, unless the schema says other."""
    return TextFile(
        source, facts.schema, labelled=facts.labelled, drop=facts.drop, separator="whitespace"
    )


def _told_of_another_layout(
    error: DataError, header: list[str], schema: Schema, separator: str
) -> DataError:
    """Return the error of a header that does not fit the schema, and what it looks like."""
    likeness = looks_separated(header, separator)
    if not likeness and not any(column.name in header for column in schema.columns):
        likeness = _NO_HEADER
    return DataError(f"{error}{likeness}")


def read_text(content: bytes, source: str, schema: Schema) -> RawTable | RawMatrix:
    """Return the rows of text in memory, whose cells commas separate unless the schema says other.

    Raises as ``TextFile``.
    """
    return TextFile(source, schema).read(content)


def _feature(j: int) -> str:
    return f"x{j + 1}"
