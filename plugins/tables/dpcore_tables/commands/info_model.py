"""A model file, and the public schema of rows, as ``dpcore info`` prints them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dpcore import load_model
from dpcore.errors import InvalidInputError
from dpcore.plugin.commands import print_json, print_lines
from dpcore.plugin.parts import Model
from dpcore_tables.schemas.encoding_in_words import encoding_in_words

__all__ = ["info_of_file", "schema_lines"]

_TOML = ".toml"
_MOST_VALUES = 4


def info_of_file(path: str, *, as_json: bool) -> None:
    """Print what a model file says, but for its coefficients; all of it, as JSON, without the
    checksum.

    Raises InvalidInputError for a schema's file, which other commands take.
    """
    if path.endswith(_TOML):
        raise InvalidInputError(
            f"{path} is a schema, and no model: `dpcore schema --check ROWS {path}` holds the rows "
            "of a file against it, and `dpcore schema --help-keys` explains its keys."
        )
    model = load_model(path)
    if as_json:
        print_json(Model.read_file(path))
        return
    print_lines(*_lines(path, model), *schema_lines(model.schema.to_dict()))


def _lines(path: str, model: Model) -> list[str]:
    algo = model.algo
    given = {k: v for k, v in (algo["parameters"] or {}).items() if v is not None}
    shown = ", ".join(f"{key}={value}" for key, value in given.items())
    return [
        f"{path}: a model that predicts {model.fitted_in_words()}",
        f"  privacy: {model.privacy['sentence']}",
        f"  algorithm: {algo['name']} of {algo['distribution']} {algo['version']}",
        *([f"  parameters: {shown}"] if shown else []),
        *([f"  bounds released: {model.shown_bounds()}"] if model.released_bounds else []),
        f"  status: {model.status}",
        *(f"  {line}" for line in model.sections_in_words()),
        f"  l2: {model.l2:g}; coefficients: {model.w.size} (--json prints them)",
    ]


def schema_lines(schema: dict[str, Any]) -> Iterator[str]:
    """Yield the keys and the columns of a schema in words, as its ``to_dict`` has them."""
    facts = ("rows", "capacity", "width", "row_norm")
    yield from (f"  {key}: {schema[key]:.15g}" for key in facts if key in schema)
    of_units = ("unit", "rows_per_unit", "unit_missing", "unit_in_one_file")
    texts = (*of_units, "separator", "decimal", "thousands")
    yield from (f"  {key}: {schema[key]!r}" for key in texts if key in schema)
    yield "columns"
    for column in schema["columns"]:
        is_id = column["name"] == schema.get("unit")
        said = "ids of units, no feature" if is_id else f"{column['kind']}{_public(column)}"
        yield f"  {column['name']}: {said}"
    yield from (f"  cross of {' and '.join(x['columns'])}" for x in schema.get("crosses", ()))


def _public(column: dict[str, Any]) -> str:
    """Return what the schema says of a column's values."""
    said = [words for words in (_values(column), *_empty(column)) if words]
    return "".join(f", {words}" if words[0] != " " else words for words in said)


def _values(column: dict[str, Any]) -> str:
    if "lower" in column:
        lower, upper = (_written(column[key]) for key in ("lower", "upper"))
        return f" in [{lower}, {upper}]{encoding_in_words(column)}"
    if "classes" in column:
        return _classes(column["classes"], column.get("other"))
    if "positive" in column:
        named = f", named {column['other']!r}" if "other" in column else ""
        return f"{column['positive']!r} or another{named}"
    for key, value in column.items():
        if key in ("bins", "knots"):
            return f"{key} {', '.join(map(_written, value))}"
        if key in ("categories", "levels", "buckets"):
            return f"{value if key == 'buckets' else len(value)} {key}"
    return ""


def _classes(classes: list[Any], other: Any) -> str:
    """Return the classes of a label, each with its values, and which of them is any other value."""
    others = "" if other is None else f", any other value {other!r}"
    return f"{Model.classes_in_words([*map(_class, classes)])}{others}"


def _class(values: Any) -> str:
    """Return a class as a schema lists it: of many values its name, the first, and their number."""
    is_long = isinstance(values, list) and len(values) > _MOST_VALUES
    return f"{values[0]!r} ({len(values)} values)" if is_long else repr(values)


def _empty(column: dict[str, Any]) -> Iterator[str]:
    """Yield what becomes of empty cells, where the schema says it."""
    if "fill" in column:
        yield f"empty cells count as {_written(column['fill'])}"
    if column.get("indicator"):
        yield "empty cells have a feature"


def _written(value: Any) -> str:
    return f"{value:.15g}" if isinstance(value, (int, float)) else str(value)
