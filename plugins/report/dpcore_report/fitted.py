"""The model of a file: what was fitted, on which kind of rows, by which versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore_report.curves.of_columns import choice_in_words
from dpcore_report.evaluation.group_text import group_lines, group_table, group_title
from dpcore_report.pictures.of_model import pictures_of
from dpcore_report.sections import Item, Section
from dpcore_tables.schemas.encoding_in_words import encoding_in_words

if TYPE_CHECKING:
    from dpcore.plugin.parts import Model

__all__ = ["columns_section", "fitted_section", "versions_section"]

_MOST_COLUMNS = 40
_MOST_VALUES = 6


def fitted_section(model: Model) -> Section:
    """Return what was fitted and how: the algorithm, its parameters, how the run ended."""
    algo = model.algo
    of = f" of {algo['distribution']} {algo.get('version', '')}" if "distribution" in algo else ""
    reference = f" ({algo['reference']})" if algo.get("reference") else ""
    items = [
        Item(f"Predicts {model.fitted_in_words()}."),
        Item(f"Algorithm: {algo['name']}{of}{reference}.", "algorithms.md"),
    ]
    if isinstance(algo.get("chosen_by"), dict):
        items.append(Item(f"Chosen by {algo['chosen_by']['name']}: {algo['chosen_by']['why']}."))
    given = {k: v for k, v in (algo.get("parameters") or {}).items() if v is not None}
    given |= {f"slot {name}": value for name, value in (algo.get("slots") or {}).items()}
    if given:
        items.append(Item(f"Parameters: {_pairs(given)}."))
    if model.released_bounds:
        items.append(Item(f"Bounds released from the rows: {model.shown_bounds()}."))
    items.append(Item(f"l2 = {model.l2:g}; {model.w.size} coefficients. {model.status}"))
    if choice := choice_in_words(model):
        items.append(Item(choice))
    by_group = _by_group(model)
    metrics = model.evaluation or {}
    table = [group_title(metrics), *group_lines(metrics)] if by_group else []
    shown = {line.strip() for line in table}
    said = [line.strip() for line in model.sections_in_words()]
    lines = tuple(Item(line) for line in said if line not in shown)
    beside = (*((Section("Steps beside the fit", items=lines),) if lines else ()), *by_group)
    pictures = (Section(each.title, pictures=(each,)) for each in pictures_of(model))
    return Section("What was fitted", items=tuple(items), parts=(*pictures, *beside))


def _by_group(model: Model) -> tuple[Section, ...]:
    """Return the table of the metrics of groups, where the model has some."""
    if not model.evaluation or "by" not in model.evaluation:
        return ()
    heads, rows = group_table(model.evaluation)
    return (Section(f"Metrics by {heads[0]}", heads=tuple(heads), rows=tuple(map(tuple, rows))),)


def columns_section(model: Model) -> Section:
    """Return the columns of a row, and what is public of each."""
    schema = model.schema.to_dict()
    columns = schema["columns"]
    items = [Item(f"{column['name']}: {_of_column(column, schema)}") for column in columns]
    items += [
        Item(f"a cross of {' and '.join(cross['columns'])}") for cross in schema.get("crosses", ())
    ]
    more = len(items) - _MOST_COLUMNS
    if more > 0:
        items = [*items[:_MOST_COLUMNS], Item(f"and {more:,} more: `dpcore info` lists them")]
    unnamed = (
        () if model.schema.width is None else (f"{model.schema.width:,} unnamed columns, and",)
    )
    return Section(
        "On which kind of rows", lines=(*unnamed, _of_lengths(model)), items=tuple(items)
    )


def versions_section(model: Model, digest: str | None) -> Section:
    """Return what the report was made from, and the versions that the run was made with."""
    of = "the model" if digest is None else f"the model file whose SHA-256 is {digest}"
    return Section(
        "Versions, and this page",
        lines=(
            f"Made from {of}, and from nothing else: a file that was altered so that it claims "
            "more would be believed. The checksum in a file finds accidents and is no signature.",
        ),
        items=(Item(f"Versions of the run: {_pairs(dict(model.versions))}."),),
    )


def _of_lengths(model: Model) -> str:
    """Return which encoded rows are scaled down, to which length."""
    if model.schema.row_norm < model.schema.raw_norm_bound:
        return f"Encoded rows longer than {model.row_norm:.6g} were scaled down to that length."
    return f"No encoded row is longer than {model.row_norm:.6g}, and none was scaled down."


def _of_column(column: dict[str, Any], schema: dict[str, Any]) -> str:
    if column["name"] == schema.get("unit"):
        return "ids of units, no feature"
    return _of_values(column) + _of_empty_cells(column)


def _of_empty_cells(column: dict[str, Any]) -> str:
    """Return which words of a column say that there is no value, and what becomes of such cells."""
    words = f", empty where {_values(column['missing'])}" if column.get("missing") else ""
    fill = f", an empty cell counts as {column['fill']}" if column.get("fill") is not None else ""
    return words + fill + (", with a feature for empty cells" if column.get("indicator") else "")


def _of_values(column: dict[str, Any]) -> str:
    kind: str = column["kind"]
    if column.get("lower") is not None and column.get("upper") is not None:
        bounds = f"from {_bound(column['lower'])} to {_bound(column['upper'])}"
        return f"{kind} {bounds}{encoding_in_words(column)}"
    for key in ("classes", "categories", "levels", "bins", "knots", "positive"):
        if column.get(key):
            return f"{kind}, {key} {_values(column[key])}"
    return kind


def _bound(bound: float | str) -> str:
    """Return a bound as the schema has it: a number, or the text of a date."""
    return bound if isinstance(bound, str) else f"{bound:.15g}"


def _values(values: list[Any]) -> str:
    firsts = [value[0] if isinstance(value, list) else value for value in values]
    texts = [str(value) for value in firsts[:_MOST_VALUES]]
    shown = "; ".join(texts) if any("," in text for text in texts) else ", ".join(texts)
    more = len(values) - _MOST_VALUES
    return f"{shown} and {more:,} more" if more > 0 else shown


def _pairs(pairs: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in pairs.items())
