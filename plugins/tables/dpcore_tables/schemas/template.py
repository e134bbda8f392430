"""A schema to start from: a template with names and types of columns, and nothing of the rows."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from dpcore import Schema
from dpcore.errors import DataError, InvalidInputError, visible
from dpcore_tables.files.formats import STORE, entry_of, format_of
from dpcore_tables.files.input_paths import is_there, name_of
from dpcore_tables.memory.frames import frame_of, is_frame, path_of
from dpcore_tables.raw.raw_table import refuse_repeated
from dpcore_tables.readers.code_pages import UTF_8
from dpcore_tables.readers.column_types import (
    ColumnType,
    file_types,
    frame_types,
    query_types,
)
from dpcore_tables.schemas.codebooks.description import Codebook
from dpcore_tables.schemas.codebooks.dialect import layout_of, sheet_of
from dpcore_tables.schemas.codebooks.reading import read_codebook
from dpcore_tables.schemas.column_table import Known, column_table, label_table
from dpcore_tables.schemas.key_reference import column_kinds
from dpcore_tables.schemas.toml_writer import format_table, format_value
from dpcore_tables.schemas.wildcards import alike_columns, fits

__all__ = ["Columns", "check_target", "column_lines", "columns_of", "schema_template"]

_HEAD = """\
# A schema says what is public about {source}. This one holds the names and types of the columns and
# nothing else of it. {of_text}Fill in every FILL-IN from public knowledge, such as a codebook or
# common sense, never by looking at the rows: bounds and categories found there are not private.
# Keep the keys of the column's kind and delete the others; dpcore schema --help-keys explains them.
#
"""
_OF_TEXT = """\
(If they look like a row, the file has no header: set header = false, and name
# the columns in their order.) """
_TEXT_KEYS = ("header", "separator", "encoding")
"""How a file of text is written: other rows have names for their columns, and no letters."""
_WIDTH_TEMPLATE = """\
# A schema says what is public about {source}, whose features have no names. Fill in every FILL-IN
# from public knowledge, never by looking at the rows.
#
# label   classes = [negative, positive], or three and more, each a value or a list; or
#         positive = [...], any other value being negative; or lower, upper of a number that is to
#         be predicted

width = "FILL-IN"     # number of features, without the label and the intercept
row_norm = 1.0        # longer rows, the intercept's 1 included, are scaled down to this l2 norm
{layout}# rows = 50000        # about how many rows there are, from public knowledge
# capacity = 1000000  # sums are exact up to this many rows; default 2^27
# intercept = true    # add a last feature of ones; default

[columns]
{label} = {{ kind = "label", classes = ["FILL-IN", "FILL-IN"] }}
"""
_BY_DEFAULT = {"separator": ",", "header": True, "encoding": UTF_8}
_FOR_ALIKE = "# {} columns that are alike, {} to {}; one that is not gets a line of its own."


@dataclass(frozen=True)
class Columns:
    """The columns of rows, without a look at a row, and what is known of them beside.

    Parameters
    ----------
    source : what messages call the rows.
    types : name and declared type of each.
    known : by name, what a codebook says.
    keys : of the whole schema.
    is_text : whether they are of a file of text, whose first line may be no header.
    """

    source: str
    types: Sequence[tuple[str, ColumnType]]
    known: Mapping[str, Known] = field(default_factory=dict)
    keys: Mapping[str, Any] = field(default_factory=dict)
    is_text: bool = False

    @property
    def names(self) -> list[str]:
        """The names, in order."""
        return [name for name, _ in self.types]

    def tables(self, target: str) -> dict[str, dict[str, Any]]:
        """Return the keys of each column, with a placeholder for what nobody says."""
        return {
            name: (label_table if name == target else column_table)(
                self.known.get(name, Known()), declared
            )
            for name, declared in self.types
        }


def schema_template(
    source: Any,
    target: str | None = None,
    codebook: str | os.PathLike[str] | None = None,
    drop: Sequence[str] = (),
    encoding: str = UTF_8,
) -> str:
    """Return TOML with the names of a file's or a frame's columns, and what their types say. For a
    format without names it has a width and a label; for a store, it is the store's own schema.

    A template does not validate until its placeholders are filled in: no bound or category is
    copied. The classes of a label are proposed where its type has no others: true and false; one of
    fractions has bounds.

    ``codebook`` : a file with types, bounds and labels of columns, which fills these in: CSV, TOML,
    a Table Schema of Frictionless, or CSV on the Web. ``drop`` : columns that are not used, by name
    or with a * for any text. ``encoding`` : of a text file, as cp1252.
    Raises DataError if the header cannot be read, InvalidInputError for an unknown target, and for
    a codebook with a fault, with its place.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from dpcore import schema_template
    >>> table = pa.table({"age": [30, 40], "ill": ["no", "yes"]})
    >>> schema_template(table, target="ill").splitlines()[-1]
    '"ill" = { kind = "label", classes = ["FILL-IN", "FILL-IN"] }'
    """
    source = frame_of(source)
    name = "the frame" if is_frame(source) else path_of(source)
    if not is_frame(source):
        entry = entry_of(name)
        unnamed = entry.name == "whitespace" or not entry.data.get("named", True)
        if (entry.kind == STORE or unnamed) and (codebook is not None or drop):
            raise InvalidInputError(
                f"{name} has no columns with names that a codebook or --drop could be of."
            )
        if entry.kind == STORE:
            from dpcore_tables.store.conversion import store_at

            return store_at(name).schema(name).to_toml()
        if unnamed:
            return _width_template(name, entry.name, target)
    return _template(columns_of(source, codebook, drop, encoding), target, codebook)


def columns_of(
    source: Any,
    codebook: str | os.PathLike[str] | None = None,
    drop: Sequence[str] = (),
    encoding: str = UTF_8,
) -> Columns:
    """Return the columns of a frame, or of a source with named columns, as ``schema_template``
    takes them. Raises as it does."""
    keys: dict[str, Any] = {}
    is_text = False
    book = _codebook(source, codebook)
    if is_frame(source):
        name, types = "the frame", frame_types(source)
    elif entry_of(name := os.fspath(source)).data["query"]:
        types, name = query_types(name), name_of(name)
    else:
        name = _sheet_in(name, book)
        types, keys = _types_of_file(name, book, encoding)
        is_text = format_of(name) == "csv"
    names = [each for each, _ in types]
    refuse_repeated(names, name)
    known = {} if codebook is None else book.of_columns(names)
    keys = {**keys, **book.keys}
    for pattern in [drop] if isinstance(drop, str) else drop:
        dropped = [each for each in names if fits(pattern, each)]
        if not dropped:
            raise InvalidInputError(
                f"{name} has no column {pattern!r} to be dropped.{_alike(pattern, names)}"
            )
        known |= dict.fromkeys(dropped, Known("drop"))
    return Columns(name, types, known, keys, is_text)


def _codebook(source: Any, path: str | os.PathLike[str] | None) -> Codebook:
    """Return the codebook of rows, an empty one for no path."""
    if path is None:
        return Codebook("", ())
    return read_codebook(path, "" if is_frame(source) else name_of(os.fspath(source)))


def _sheet_in(name: str, book: Codebook) -> str:
    """Return the address of the sheet that a codebook names of a file of sheets; InvalidInputError
    where the address of another was given. Any other file is as it was named."""
    if format_of(name) != "excel" or (sheet := sheet_of(book.resource, book.source)) is None:
        return name
    _, mark, asked = name.rpartition("#")
    if not name.startswith("excel://") or not mark:
        return f"excel://{name.removeprefix('excel://')}#{sheet}"
    if asked != sheet:
        raise InvalidInputError(f"{book.source}, key 'sheetName': it is not the sheet of {name}.")
    return name


def _types_of_file(
    name: str, book: Codebook, encoding: str
) -> tuple[list[tuple[str, ColumnType]], dict[str, Any]]:
    """Return the columns of a file, and the keys that say how its text is written: those of a
    codebook, then what the header shows. Without a header the names are the codebook's, in order.
    """
    keys = layout_of(book.resource, book.source) if format_of(name) == "csv" else {}
    keys |= {} if encoding == UTF_8 else {"encoding": encoding}
    if keys.get("header") is False:
        if not is_there(name):
            raise DataError(f"No such file: {name}.")
        types: list[tuple[str, ColumnType]] = [(each.names[0], "unknown") for each in book.entries]
    else:
        types, separator = file_types(name, keys.get("encoding", UTF_8), keys.get("separator"))
        keys = {"separator": separator, **keys}
    return types, {key: value for key, value in keys.items() if value != _BY_DEFAULT[key]}


def _template(columns: Columns, target: str | None, codebook: str | os.PathLike[str] | None) -> str:
    names, source = columns.names, columns.source
    check_target(target, names, source)
    of_text = _OF_TEXT if columns.is_text else ""
    head = _HEAD.format(source=visible(os.path.basename(source)), of_text=of_text)
    lines = [head + _comments(() if columns.is_text else _TEXT_KEYS)]
    if codebook is not None:
        book = visible(os.path.basename(os.fspath(codebook)))
        lines.insert(0, f"# Types, bounds and labels are those of {book}.")
    if target is None:
        lines.insert(
            0, f"# The label is taken to be {_quoted(names[-1])}, the last column; see --target."
        )
    lines += [f"{key} = {format_value(value)}\n" for key, value in columns.keys.items()]
    label = names[-1] if target is None else target
    header = columns.keys.get("header", True)
    return "\n".join([*lines, *column_lines(columns.tables(label), label, header)]) + "\n"


def column_lines(
    tables: Mapping[str, Mapping[str, Any]], label: str, header: bool = True
) -> list[str]:
    """Return the lines of ``[columns]``; columns that are alike in name and keys have one, where
    the file has a ``header`` to tell them by."""
    texts = {name: format_table(table) for name, table in tables.items()}
    many = [(name, text) for name, text in texts.items() if name != label]
    alike = alike_columns(many if header else [])
    lines = ["[columns]"]
    for name, text in texts.items():
        if name not in alike:
            lines.append(f"{_quoted(name)} = {text}")
        elif name == (group := alike[name])[1][0]:
            lines += [_FOR_ALIKE.format(len(group[1]), _quoted(name), _quoted(group[1][-1]))]
            lines += [f"{_quoted(group[0])} = {text}"]
    return lines


def _comments(without: Sequence[str]) -> str:
    """Return the kinds of column and the keys of a schema but some, as comments."""
    lines: list[str] = []
    for kind, (becomes, keys) in column_kinds().items():
        words = f"{', '.join(key.name for key in keys)}: {becomes}" if keys else becomes
        lines += textwrap.wrap(
            words, 97, initial_indent=f"# {kind:<12} ", subsequent_indent=f"# {'':<12} "
        )
    lines.append("")
    optional = (key for key in Schema.KEYS if key.name not in ("from_data", *without))
    lines += [f"{f'# {key.name} = {key.example}':<27} # {key.meaning}" for key in optional]
    return "\n".join(lines) + "\n"


def check_target(target: str | None, names: list[str], source: str) -> None:
    if target is not None and target not in names:
        raise InvalidInputError(
            f"{source} has no column {target!r} to be the target.{_alike(target, names)} A file "
            "of text has the names in its first line: if that is a row, its schema has "
            "header = false."
        )


def _alike(name: str, names: list[str]) -> str:
    """Return the part of a message that offers a near name, and lists none: where a file has no
    header they are a row."""
    close = get_close_matches(name, names, n=1)
    return f" Did you mean {close[0]}?" if close else ""


def _width_template(source: str, form: str, target: str | None) -> str:
    if not os.path.isfile(source):
        raise DataError(f"No such file: {source}.")
    layout = "header = false\n" if form == "whitespace" else ""
    return _WIDTH_TEMPLATE.format(
        source=visible(os.path.basename(source)), layout=layout, label=_quoted(target or "label")
    )


def _quoted(name: str) -> str:
    return format_value(name)
