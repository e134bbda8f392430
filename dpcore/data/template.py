"""A schema to start from: a template with nothing of the data in it, or one taken from the data."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from dpcore.data.columns import PLACEHOLDER, Categorical, Column, Label, Numeric
from dpcore.data.schema import Schema
from dpcore.data.toml_writer import format_table, format_value
from dpcore.errors import DataError, InvalidInputError

__all__ = ["schema_from_data", "schema_template"]

_HEAD = """\
# A schema says what is public about {source}. This one holds the names in the file's header and
# nothing else of it. (If they look like a row, the file has no header: set header = false, and name
# the columns in their order.) Fill in every FILL-IN from public knowledge, such as a codebook or
# common sense, never by looking at the rows: bounds and categories found there are not private.
# Keep the keys of the column's kind and delete the others.
#
# drop         not used
# numeric      lower, upper: values are clamped to them
# categorical  categories: one feature each; any other value is none of them
# label        classes = [negative, positive]

# rows = 50000        # optional: a public figure for the number of rows
"""
_MAX_CATEGORIES = 1000


@dataclass(frozen=True)
class _Found:
    """A column of a file: its name and whether its type is a number, a text or not known."""

    name: str
    kind: str


def schema_template(path: str | os.PathLike[str], target: str | None = None) -> str:
    """Return TOML with the names (and, from Parquet, the types) of a file's columns.

    It does not validate until its placeholders are filled in: no bound or category is copied.
    Raises DataError if the header cannot be read, InvalidInputError for an unknown target.
    """
    source = os.fspath(path)
    found = _columns_of(source)
    _check_target(target, [c.name for c in found], source)
    lines = [_HEAD.format(source=os.path.basename(source))]
    if source.lower().removesuffix(".gz").endswith(".tsv"):
        lines.append('separator = "\\t"\n')
    lines.append("[columns]")
    for column in found:
        if column.name == target or (target is None and column is found[-1]):
            entry = _entry("label", classes=[PLACEHOLDER, PLACEHOLDER])
        elif column.kind == "text":
            entry = _entry("categorical", categories=[PLACEHOLDER])
        elif column.kind == "number":
            entry = _entry("numeric", lower=PLACEHOLDER, upper=PLACEHOLDER)
        else:
            entry = _entry(
                PLACEHOLDER, lower=PLACEHOLDER, upper=PLACEHOLDER, categories=[PLACEHOLDER]
            )
        lines.append(f"{_quoted(column.name)} = {entry}")
    return "\n".join(lines) + "\n"


def schema_from_data(path: str | os.PathLike[str], target: str) -> Schema:
    """Return a schema whose types, bounds, categories and classes are those of the rows.

    It is marked ``from_data``: smallest and largest values and rare categories are single rows'
    values, so a model fitted with it is not private. The label's classes are in ascending order.

    Raises DataError if the file cannot be read, InvalidInputError for a target that is no column or
    has not two values, or a text column of more than a thousand.
    """
    import pyarrow as pa

    table = _read_all(os.fspath(path))
    _check_target(target, table.column_names, os.fspath(path))
    try:
        columns = tuple(
            _label_from(name, array) if name == target else _from(name, array)
            for name, array in zip(table.column_names, table.columns, strict=True)
        )
    except pa.ArrowException as error:
        raise DataError(f"{path}: a column cannot be read ({type(error).__name__}).") from None
    return Schema(columns, separator=_separator(os.fspath(path)), from_data=True)


def _quoted(name: str) -> str:
    return format_value(name)


def _entry(kind: str, **values: Any) -> str:
    return format_table({"kind": kind, **values})


def _separator(source: str) -> str:
    return "\t" if source.lower().removesuffix(".gz").endswith(".tsv") else ","


def _columns_of(source: str) -> list[_Found]:
    from dpcore.data.readers import format_of
    from dpcore.data.readers.content import read_bytes
    from dpcore.data.readers.csv import read_header
    from dpcore.data.readers.parquet import read_parquet_types

    form = format_of(source)
    if form == "csv":
        header = read_header(read_bytes(source), source, _separator(source))
        return [_Found(name, "unknown") for name in header]
    if form != "parquet":
        raise InvalidInputError(f"A {form} file has no column names; its schema has a width.")
    return [_Found(name, _kind_of(kind)) for name, kind in read_parquet_types(source)]


def _kind_of(kind: Any) -> str:
    import pyarrow as pa

    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return "number" if any(test(kind) for test in tests) else "text"


def _check_target(target: str | None, names: list[str], source: str) -> None:
    if target is not None and target not in names:
        raise InvalidInputError(f"{source} has no column {target!r} to be the target.")


def _read_all(source: str) -> Any:
    import pyarrow as pa
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    from dpcore.data.readers.content import read_bytes

    names = [column.name for column in _columns_of(source)]
    if len(set(names)) < len(names):
        raise DataError(f"{source}: duplicate column names.")
    try:
        if source.lower().endswith((".parquet", ".pq")):
            return pq.ParquetFile(source).read()
        return pacsv.read_csv(
            pa.BufferReader(read_bytes(source) + b"\n"),
            read_options=pacsv.ReadOptions(column_names=names, skip_rows_after_names=1),
            parse_options=pacsv.ParseOptions(delimiter=_separator(source)),
        )
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{source}: cannot be read ({type(error).__name__}).") from None


def _from(name: str, array: Any) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    if _kind_of(array.type) == "number":
        numbers = array.cast(pa.float64(), safe=False)
        ends = pc.min_max(numbers.filter(pc.is_finite(numbers))).as_py()
        lower, upper = ends["min"], ends["max"]
        if lower is None:
            return Numeric(name, 0.0, 1.0)
        return Numeric(name, lower, upper if upper > lower else lower + max(1.0, abs(lower)))
    return Categorical(name, _distinct(name, array) or ("none",))


def _label_from(name: str, array: Any) -> Label:
    values = _distinct(name, array)
    if len(values) != 2:
        raise InvalidInputError(f"The target {name!r} has not exactly two values.")
    return Label(name, (values[0],), (values[1],))


def _distinct(name: str, array: Any) -> tuple[str | float, ...]:
    """Return the distinct values in ascending order: numbers where all are, else text."""
    import pyarrow as pa

    if _kind_of(array.type) == "number":
        return tuple(sorted(set(array.cast(pa.float64(), safe=False).drop_null().to_pylist())))
    words = {word.strip() for word in array.cast(pa.string()).unique().drop_null().to_pylist()}
    if len(words) > _MAX_CATEGORIES:
        raise InvalidInputError(
            f"Column {name!r} has more than {_MAX_CATEGORIES} distinct values; a schema of your "
            'own can leave it out (kind = "drop").'
        )
    return tuple(sorted(words - {""}))
