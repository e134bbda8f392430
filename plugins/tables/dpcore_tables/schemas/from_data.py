"""A schema taken from the rows: it leaks, says so, and marks every model that is fitted with it."""

from __future__ import annotations

import logging
import math
import os
from contextlib import AbstractContextManager, suppress
from typing import Any

from dpcore import Schema
from dpcore.errors import DataError, InvalidInputError, replacing
from dpcore.plugin.columns import Drop, FeatureColumn, Label, Notation, Numeric
from dpcore_tables.files.formats import format_of
from dpcore_tables.files.input_paths import parquet_files, refuse_stdin
from dpcore_tables.kinds import Boolean, Categorical, Date
from dpcore_tables.raw.raw_table import refuse_repeated
from dpcore_tables.readers.column_types import file_types, type_of
from dpcore_tables.schemas.infer_decimal_comma import with_notation
from dpcore_tables.schemas.template import check_target
from dpcore_tables.schemas.toml_writer import format_table

__all__ = ["document_from_data", "schema_from_data"]

_MAX_CATEGORIES = 1000
_MANY = 100
_TOO_MANY = f"more than {_MAX_CATEGORIES} distinct values"
_NO_DATES = "no two distinct dates, or one after the year 9999"


def schema_from_data(path: str | os.PathLike[str], target: str) -> Schema:
    """Return a schema whose types, bounds, categories and classes are those of the rows.

    It is marked ``from_data``: smallest and largest values and rare categories are single rows'
    values, so a model fitted with it is not private. The label's classes are in ascending order.

    Numbers of a text file may have a decimal comma (``dpcore_tables.schemas.infer_decimal_comma``).
    A text column of more than a thousand values is dropped; the ``dpcore`` logger is told of that,
    and of columns whose text may be meant otherwise.

    A target of numbers, more than two, has bounds for its classes; one of text a class for each
    value.

    Raises DataError if the file cannot be read, InvalidInputError for a target that is no column,
    has fewer than two values, or is text of more than a thousand.
    """
    return _schema_and_reasons(path, target)[0]


def document_from_data(path: str | os.PathLike[str], target: str) -> str:
    """Return ``schema_from_data`` as TOML that says why columns are dropped. Raises as it does."""
    schema, reasons = _schema_and_reasons(path, target)
    dropped, why = format_table(Drop("").to_dict()), iter(reasons)
    lines = schema.to_toml().splitlines()
    return "".join(f"{x}  # {next(why)}\n" if x.endswith(dropped) else f"{x}\n" for x in lines)


def _schema_and_reasons(path: str | os.PathLike[str], target: str) -> tuple[Schema, list[str]]:
    """Return the schema, and why each column that it drops is dropped, in order."""
    refuse_stdin(os.fspath(path))
    table, separator, notation = _read_all(os.fspath(path))
    check_target(target, table.column_names, os.fspath(path))
    with _unread(f"{os.fspath(path)}: a column"):
        columns = tuple(
            _label_from(name, array) if name == target else _from(name, array)
            for name, array in zip(table.column_names, table.columns, strict=True)
        )
    reasons = [
        _NO_DATES if type_of(table[column.name].type) == "date" else _TOO_MANY
        for column in columns
        if isinstance(column, Drop)
    ]
    schema = Schema(
        columns,
        separator=separator,
        decimal=notation.decimal,
        thousands=notation.thousands,
        from_data=True,
    )
    return schema, reasons


def _read_all(source: str) -> tuple[Any, str, Notation]:
    """Return the table of a file, the separator of its cells, and the notation of its numbers."""
    import pyarrow as pa
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    from dpcore_tables.readers.pieces import arrow_reader, read_bytes
    from dpcore_tables.readers.records import utf8_lines

    columns, separator = file_types(source)
    names = [name for name, _ in columns]
    refuse_repeated(names, source)
    with _unread(source):
        if format_of(source) == "parquet":
            # Threads of Arrow may outlive the process's own.
            files = map(pq.ParquetFile, parquet_files(source))
            tables = [file.read(columns=names, use_threads=False) for file in files]
            return pa.concat_tables(tables), separator, Notation()
        lines = utf8_lines(read_bytes(source), source) + b"\n"

        def read(decimal: str) -> pa.Table:
            return pacsv.read_csv(
                arrow_reader(lines),
                read_options=pacsv.ReadOptions(column_names=names, skip_rows_after_names=1),
                parse_options=pacsv.ParseOptions(delimiter=separator),
                convert_options=pacsv.ConvertOptions(decimal_point=decimal),
            )

        table, notation = with_notation(read)
        return table, separator, notation


def _unread(what: str) -> AbstractContextManager[None]:
    """Turn what a block raises of bytes or cells that it cannot read into a DataError."""
    import pyarrow as pa

    def told(error: Exception) -> DataError:
        joint = " " if what.endswith("column") else ": "
        return DataError(f"{what}{joint}cannot be read ({type(error).__name__}).")

    return replacing(pa.ArrowException, OSError, UnicodeError, by=told)


def _from(name: str, array: Any) -> FeatureColumn | Label | Drop:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind, has_empty = type_of(array.type), array.null_count > 0
    if kind == "boolean":
        return Boolean(name, indicator=has_empty)
    if kind == "date":
        ends: dict[str, Any] = {}
        with suppress(OverflowError, ValueError):  # Python's dates end with the year 9999.
            ends = pc.min_max(array.cast(pa.date32(), safe=False)).as_py()
        lower, upper = ends.get("min"), ends.get("max")
        if lower is None or upper is None or lower == upper:
            return Drop(name)
        return Date(name, lower, upper, indicator=has_empty)
    if kind == "number":
        numbers = array.cast(pa.float64(), safe=False)
        ends = pc.min_max(numbers.filter(pc.is_finite(numbers))).as_py()
        lower, upper = ends["min"], ends["max"]
        if lower is None:
            return Numeric(name, 0.0, 1.0, indicator=has_empty)
        upper = upper if upper > lower else lower + max(1.0, abs(lower))
        return Numeric(name, lower, upper, indicator=has_empty)
    categories = _distinct(array)
    _tell_of_text(name, categories)
    if len(categories) > _MAX_CATEGORIES:
        return Drop(name)
    return Categorical(name, categories or ("none",))


def _tell_of_text(name: str, words: tuple[Any, ...]) -> None:
    """Tell of a column whose text is a number in another notation, or of many values."""
    other = Notation(decimal=",", thousands=".")
    if any("," in word for word in words) and not any(
        math.isnan(other.number(word)) for word in words
    ):
        advice = (
            'holds numbers with a comma, taken for text: decimal = "," (and thousands = ".") in a '
            "schema makes numbers of them"
        )
    elif len(words) > _MANY:
        most = _MAX_CATEGORIES if len(words) > _MAX_CATEGORIES else _MANY
        fate = "is left out" if most == _MAX_CATEGORIES else "has a feature for each"
        advice = (
            f'is text of more than {most} values and {fate}: kind = "hashed", or "date" with its '
            "format, may be meant; or words for no value stand among numbers (missing = [...])"
        )
    else:
        return
    logging.getLogger("dpcore").warning("dpcore: warning: column %r %s.", name, advice)


def _label_from(name: str, array: Any) -> Label:
    values = _distinct(array)
    numbers = [float(value) for value in values if not isinstance(value, str)]
    numbers = [number for number in numbers if math.isfinite(number)]
    if len(numbers) > 2:
        return Label(name, lower=min(numbers), upper=max(numbers))
    if not 2 <= len(values) <= _MAX_CATEGORIES:
        raise InvalidInputError(
            f"The target {name!r} has no two values, or {_TOO_MANY} that are no numbers: name "
            "classes, or bounds of a number, in a schema."
        )
    return Label(name, tuple((value,) for value in values))


def _distinct(array: Any) -> tuple[str | int | float, ...]:
    """Return the distinct values in ascending order: numbers where all are, else text."""
    import pyarrow as pa

    if type_of(array.type) == "number":
        numbers = sorted(set(array.cast(pa.float64(), safe=False).drop_null().to_pylist()))
        return tuple(int(x) if x.is_integer() and abs(x) < 2**53 else x for x in numbers)
    words = {word.strip() for word in array.cast(pa.string()).unique().drop_null().to_pylist()}
    return tuple(sorted(words - {""}))
