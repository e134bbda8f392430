"""A schema to start from: a template with nothing of the data in it, or one taken from the data."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from dpcore.data.readers import format_of, separator_of
from dpcore.data.schema.columns import Categorical, Column, Drop, Label, Numeric
from dpcore.data.schema.schema import Schema
from dpcore.data.schema.toml_writer import format_table, format_value
from dpcore.data.schema.values import PLACEHOLDER
from dpcore.errors import DataError, InvalidInputError

__all__ = ["document_from_data", "schema_from_data", "schema_template"]

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
# label        classes = [negative, positive], each a value or a list; or positive = [...], any
#              other value being negative; or lower, upper of a number that is to be predicted
# Values that are all true or false, of categories or of the label, are met in any case (TRUE).

# rows = 50000        # a public figure for the number of rows; no default
# capacity = 1000000  # rows that the exact sums must hold; default 2^27
# row_norm = 2.0      # rows are scaled down to this l2 norm; default: none is scaled
# intercept = true    # a constant column of ones, the last, inside the row norm
# header = true       # the first line names the columns
# separator = ","     # one character, "\\t" or "whitespace"; in a .tsv file a tab
# missing = [""]      # cells that hold no value
# width = 123         # number of features of a file without columns, beside the label alone
"""
_WIDTH_TEMPLATE = """\
# A schema says what is public about {source}, whose features have no names. Fill in every FILL-IN
# from public knowledge, never by looking at the rows.
#
# label   classes = [negative, positive], each a value or a list; or positive = [...], any other
#         value being negative; or lower, upper of a number that is to be predicted

width = "FILL-IN"     # number of features, without the label and the intercept
row_norm = 1.0        # rows, with the intercept's 1, are scaled down to this l2 norm
{layout}# rows = 50000        # a public figure for the number of rows; no default
# capacity = 1000000  # rows that the exact sums must hold; default 2^27
# intercept = true    # a constant feature of one, the last

[columns]
{label} = {{ kind = "label", classes = ["FILL-IN", "FILL-IN"] }}
"""
_SEPARATORS = {",": ",", ";": ";", "\t": "\\t", "|": "|"}
"""Those that a header is searched for if it is one column, and how TOML writes them."""
_MAX_CATEGORIES = 1000


@dataclass(frozen=True)
class _Found:
    """A column of a file: its name and whether its type is a number, a text or not known."""

    name: str
    kind: str


def schema_template(path: str | os.PathLike[str], target: str | None = None) -> str:
    """Return TOML with the names (and, from Parquet, the types) of a file's columns; for a format
    without names, of a width and a label; for a store, its own schema.

    A template does not validate until its placeholders are filled in: no bound or category is
    copied.
    Raises DataError if the header cannot be read, InvalidInputError for an unknown target.
    """
    source = os.fspath(path)
    form = format_of(source)
    if form == "dpcore":
        from dpcore.data.store import read_schema

        return read_schema(source).to_toml()
    if form not in ("csv", "parquet"):
        return _width_template(source, form, target)
    found = _columns_of(source)
    _check_target(target, [c.name for c in found], source)
    lines = [_HEAD.format(source=os.path.basename(source))]
    if target is None:
        last = _quoted(found[-1].name)
        lines.insert(0, f"# The label is taken to be {last}, the last column; see --target.")
    if separator_of(source, form) == "\t":
        lines.append('separator = "\\t"\n')
    lines.append("[columns]")
    for column in found:
        if column is found[-1] if target is None else column.name == target:
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

    A text column of more than a thousand values is dropped.

    Raises DataError if the file cannot be read, InvalidInputError for a target that is no column or
    has not two values.
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
    separator = separator_of(os.fspath(path), format_of(os.fspath(path)))
    return Schema(columns, separator=separator, from_data=True)


def document_from_data(path: str | os.PathLike[str], target: str) -> str:
    """Return ``schema_from_data`` as TOML that says why columns are dropped. Raises as it does."""
    dropped = format_table(Drop("").to_dict())
    reason = f"  # more than {_MAX_CATEGORIES} distinct values"
    lines = schema_from_data(path, target).to_toml().splitlines()
    return "".join(f"{x}{reason if x.endswith(dropped) else ''}\n" for x in lines)


def _width_template(source: str, form: str, target: str | None) -> str:
    if not os.path.isfile(source):
        raise DataError(f"No such file: {source}.")
    layout = "header = false\n" if form == "whitespace" else ""
    return _WIDTH_TEMPLATE.format(
        source=os.path.basename(source), layout=layout, label=_quoted(target or "label")
    )


def _quoted(name: str) -> str:
    return format_value(name)


def _entry(kind: str, **values: Any) -> str:
    return format_table({"kind": kind, **values})


def _columns_of(source: str) -> list[_Found]:
    from dpcore.data.readers.content import read_bytes
    from dpcore.data.readers.csv import read_header
    from dpcore.data.readers.lines import first_line, utf8_lines
    from dpcore.data.readers.parquet import read_parquet_types

    form = format_of(source)
    if form == "csv":
        content, separator = read_bytes(source), separator_of(source, form)
        utf8_lines(first_line(content)[0], source)
        header = read_header(content, source, separator)
        _check_separator(header, source)
        return [_Found(name, "unknown") for name in header]
    if form == "dpcore":
        raise InvalidInputError(
            f"The store {source} has its own schema, which `dpcore schema {source}` prints; "
            "nothing is to be read off its rows."
        )
    if form != "parquet":
        raise InvalidInputError(
            f"A {form} file has no column names; `dpcore schema` without --from-data writes a "
            "template with its width."
        )
    return [_Found(name, _kind_of(kind)) for name, kind in read_parquet_types(source)]


def _check_separator(header: list[str], source: str) -> None:
    """Refuse a header of one column that another separator would divide."""
    for separator, written in _SEPARATORS.items():
        if len(header) == 1 and separator in header[0]:
            raise DataError(
                f'{source}: the header is one column with "{written}" in its name. If that '
                f'separates the cells, write a schema of your own with separator = "{written}" '
                '(it is one character, or "whitespace"), or save the file with commas.'
            )


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

    from dpcore.data.readers.content import arrow_reader, read_bytes
    from dpcore.data.readers.lines import utf8_lines

    names = [column.name for column in _columns_of(source)]
    if len(set(names)) < len(names):
        raise DataError(f"{source}: duplicate column names.")
    try:
        if source.lower().endswith((".parquet", ".pq")):
            # As in dpcore.compare.results: threads may outlive the process's own.
            return pq.ParquetFile(source).read(use_threads=False)
        return pacsv.read_csv(
            arrow_reader(utf8_lines(read_bytes(source), source) + b"\n"),
            read_options=pacsv.ReadOptions(column_names=names, skip_rows_after_names=1),
            parse_options=pacsv.ParseOptions(delimiter=separator_of(source, "csv")),
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
    categories = _distinct(array)
    if len(categories) > _MAX_CATEGORIES:
        return Drop(name)
    return Categorical(name, categories or ("none",))


def _label_from(name: str, array: Any) -> Label:
    values = _distinct(array)
    if len(values) != 2:
        raise InvalidInputError(f"The target {name!r} has not exactly two values.")
    return Label(name, (values[0],), (values[1],))


def _distinct(array: Any) -> tuple[str | float, ...]:
    """Return the distinct values in ascending order: numbers where all are, else text."""
    import pyarrow as pa

    if _kind_of(array.type) == "number":
        return tuple(sorted(set(array.cast(pa.float64(), safe=False).drop_null().to_pylist())))
    words = {word.strip() for word in array.cast(pa.string()).unique().drop_null().to_pylist()}
    return tuple(sorted(words - {""}))
