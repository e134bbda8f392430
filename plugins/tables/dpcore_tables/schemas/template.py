"""A schema to start from: a template with names and types of columns, and nothing of the rows."""

from __future__ import annotations

import os
import textwrap
from typing import Any

from dpcore.data.schema.keys import TOP_KEYS
from dpcore.data.schema.values import PLACEHOLDER
from dpcore.errors import DataError, InvalidInputError, near_names
from dpcore.plugin.parts import visible
from dpcore_tables.files.formats import STORE, entry_of
from dpcore_tables.files.input_paths import name_of
from dpcore_tables.memory.frames import frame_of, is_frame
from dpcore_tables.raw.raw_table import refuse_repeated
from dpcore_tables.readers.column_types import (
    ColumnType,
    file_types,
    frame_types,
    query_types,
)
from dpcore_tables.schemas.key_reference import column_kinds
from dpcore_tables.schemas.toml_writer import format_table, format_value
from dpcore_tables.schemas.wildcards import alike_columns

__all__ = ["check_target", "schema_template"]

_HEAD = """\
# A schema says what is public about {source}. This one holds the names and types of the columns and
# nothing else of it. (If they look like a row, the file has no header: set header = false, and name
# the columns in their order.) Fill in every FILL-IN from public knowledge, such as a codebook or
# common sense, never by looking at the rows: bounds and categories found there are not private.
# Keep the keys of the column's kind and delete the others; dpcore schema --help-keys explains them.
#
"""
_WIDTH_TEMPLATE = """\
# A schema says what is public about {source}, whose features have no names. Fill in every FILL-IN
# from public knowledge, never by looking at the rows.
#
# label   classes = [negative, positive], or three and more, each a value or a list; or
#         positive = [...], any other value being negative; or lower, upper of a number that is to
#         be predicted

width = "FILL-IN"     # number of features, without the label and the intercept
row_norm = 1.0        # rows, with the intercept's 1, are scaled down to this l2 norm
{layout}# rows = 50000        # a public figure for the number of rows; no default
# capacity = 1000000  # rows that the exact sums must hold; default 2^27
# intercept = true    # a constant feature of one, the last

[columns]
{label} = {{ kind = "label", classes = ["FILL-IN", "FILL-IN"] }}
"""
_FOR_ALIKE = "# {} columns that are alike, {} to {}; one that is not gets a line of its own."
_BOUNDS = {"lower": PLACEHOLDER, "upper": PLACEHOLDER}
_BY_TYPE: dict[ColumnType, dict[str, Any]] = {
    "number": {"kind": "numeric", **_BOUNDS},
    "boolean": {"kind": "boolean"},
    "date": {"kind": "date", **_BOUNDS},
    "text": {"kind": "categorical", "categories": [PLACEHOLDER]},
    "unknown": {"kind": PLACEHOLDER, **_BOUNDS, "categories": [PLACEHOLDER]},
}


def schema_template(source: Any, target: str | None = None) -> str:
    """Return TOML with the names of a file's or a frame's columns, and what their types say; for a
    format without names, of a width and a label; for a store, its own schema.

    A template does not validate until its placeholders are filled in: no bound or category is
    copied. The classes of a label are proposed where its type has no others: true and false.
    Raises DataError if the header cannot be read, InvalidInputError for an unknown target.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from dpcore import schema_template
    >>> table = pa.table({"age": [30, 40], "ill": ["no", "yes"]})
    >>> schema_template(table, target="ill").splitlines()[-1]
    '"ill" = { kind = "label", classes = ["FILL-IN", "FILL-IN"] }'
    """
    source = frame_of(source)
    if is_frame(source):
        return _template(frame_types(source), "the frame", target)
    name = os.fspath(source)
    entry = entry_of(name)
    if entry.kind == STORE:
        from dpcore_tables.store.conversion import store_at

        return store_at(name).schema(name).to_toml()
    if entry.name == "whitespace" or not entry.data["named"]:
        return _width_template(name, entry.name, target)
    if entry.data["query"]:
        return _template(query_types(name), name_of(name), target)
    columns, separator = file_types(name)
    keys = "" if separator == "," else f"separator = {format_value(separator)}\n"
    return _template(columns, name, target, keys)


def _template(
    columns: list[tuple[str, ColumnType]], source: str, target: str | None, keys: str = ""
) -> str:
    names = [name for name, _ in columns]
    refuse_repeated(names, source)
    check_target(target, names, source)
    lines = [_HEAD.format(source=visible(os.path.basename(source))) + _comments()]
    if target is None:
        last = _quoted(names[-1])
        lines.insert(0, f"# The label is taken to be {last}, the last column; see --target.")
    if keys:
        lines.append(keys)
    lines.append("[columns]")
    label = len(names) - 1 if target is None else names.index(target)
    alike = alike_columns(columns[:label] + columns[label + 1 :])
    for place, (name, kind) in enumerate(columns):
        if place == label:
            classes = ["false", "true"] if kind == "boolean" else [PLACEHOLDER, PLACEHOLDER]
            lines.append(f"{_quoted(name)} = {format_table({'kind': 'label', 'classes': classes})}")
        elif name not in alike:
            lines.append(f"{_quoted(name)} = {format_table(_BY_TYPE[kind])}")
        elif name == (group := alike[name])[1][0]:
            lines += [_FOR_ALIKE.format(len(group[1]), _quoted(name), _quoted(group[1][-1]))]
            lines += [f"{_quoted(group[0])} = {format_table(_BY_TYPE[kind])}"]
    return "\n".join(lines) + "\n"


def _comments() -> str:
    """Return the kinds of column and the keys of a schema, as comments."""
    lines: list[str] = []
    for kind, (becomes, keys) in column_kinds().items():
        words = f"{', '.join(key.name for key in keys)}: {becomes}" if keys else becomes
        lines += textwrap.wrap(
            words, 97, initial_indent=f"# {kind:<12} ", subsequent_indent=f"# {'':<12} "
        )
    lines.append("")
    optional = (key for key in TOP_KEYS if key.name != "from_data")
    lines += [f"{f'# {key.name} = {key.example}':<27} # {key.meaning}" for key in optional]
    return "\n".join(lines) + "\n"


def check_target(target: str | None, names: list[str], source: str) -> None:
    if target is not None and target not in names:
        raise InvalidInputError(
            f"{source} has no column {target!r} to be the target.{near_names(target, names)}"
        )


def _width_template(source: str, form: str, target: str | None) -> str:
    if not os.path.isfile(source):
        raise DataError(f"No such file: {source}.")
    layout = "header = false\n" if form == "whitespace" else ""
    return _WIDTH_TEMPLATE.format(
        source=visible(os.path.basename(source)), layout=layout, label=_quoted(target or "label")
    )


def _quoted(name: str) -> str:
    return format_value(name)
