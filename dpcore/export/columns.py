"""Columns of cells as features in a graph, by their kind, as ``dpcore.data.cells`` encodes them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.data.cells.features import plain_fill
from dpcore.data.cells.vocabulary import Vocabulary
from dpcore.data.cells.words import TRUTH
from dpcore.data.schema.columns import (
    Binned,
    Boolean,
    Categorical,
    Date,
    Numeric,
    Ordinal,
    Piecewise,
)
from dpcore.data.schema.values import are_numbers
from dpcore.errors import InvalidInputError
from dpcore.export.arithmetic import count_from, hats, log_unit, on_grid, one_hot, unit
from dpcore.export.dates import calendar, days_of

if TYPE_CHECKING:
    from dpcore.data.schema.columns import FeatureColumn
    from dpcore.data.schema.crosses import Crossed
    from dpcore.data.schema.notation import Notation
    from dpcore.export.graph import Graph

__all__ = ["Encoded", "encoded_column", "encoded_cross", "takes_text"]

_UNKNOWN, _EMPTY = -1, -2


@dataclass(frozen=True)
class Encoded:
    """Names of a column's values in a graph.

    Parameters
    ----------
    features : float64, of shape (n_rows, n_features), on the feature grid.
    fault : bool of shape (n_rows, 1), where the row does not satisfy the schema; ``None`` if it
        always does.
    level : int64 of shape (n_rows, 1), -1 for none, for crosses; ``None`` of a column without.
    """

    features: str
    fault: str | None = None
    level: str | None = None


def takes_text(column: FeatureColumn) -> bool:
    """Return whether the cells of a column are text in the graph, and not float64.

    Raises InvalidInputError for a kind that the graph cannot encode.
    """
    if type(column) not in _ENCODERS:
        raise InvalidInputError(
            f"Column {column.name!r} is of kind {column.kind}, which ONNX has no operators for: a "
            "graph computes no hash of a text. Score with dpcore predict or by hand from the JSON "
            "file; or train with a categorical column that lists its values, or without this one."
        )
    return not (column.takes_numbers or type(column) in _AS_NUMBERS)


def encoded_column(graph: Graph, column: FeatureColumn, notation: Notation) -> Encoded:
    """Return the column's features; the graph gets an input of its name."""
    name = graph.input(column.name, "U" if takes_text(column) else "f")
    encode = _ENCODERS[type(column)]
    return encode(graph, name, column, notation.with_words(column.missing))


def encoded_cross(graph: Graph, cross: Crossed, levels: Mapping[str, str]) -> str:
    """Return the features of a cross, by the levels of its columns."""
    code, known = graph.constant([[0]]), graph.constant([[True]])
    for column, n_levels in zip(cross.columns, cross.levels, strict=True):
        level = levels[column.name]
        known = graph.op("And", known, graph.op("GreaterOrEqual", level, 0))
        code = graph.op("Add", graph.op("Mul", code, n_levels), level)
    code = graph.op("Where", known, code, _UNKNOWN)
    return one_hot(graph, code, cross.part.width)


def _categories(graph: Graph, cells: str, column: Categorical, notation: Notation) -> Encoded:
    width = len(column.categories) + column.indicator
    filled = _UNKNOWN if column.fill is None else column.categories.index(column.fill)
    level = len(column.categories) if column.indicator else filled
    code = _codes(graph, cells, column.categories, notation)
    code = graph.op("Where", graph.op("Equal", code, _EMPTY), level, code)
    return Encoded(one_hot(graph, code, width), level=code)


def _bins(graph: Graph, cells: str, column: Binned, notation: Notation) -> Encoded:
    numbers, empty, fault = _numbers(graph, cells, column, notation)
    code = count_from(graph, numbers, np.array(column.bins, dtype=np.float64))
    if column.indicator:
        code = graph.op("Where", empty, len(column.levels), code)
    return Encoded(one_hot(graph, code, len(column.levels) + column.indicator), fault, code)


def _number(graph: Graph, cells: str, column: Numeric, notation: Notation) -> Encoded:
    numbers, empty, fault = _numbers(graph, cells, column, notation)
    scaled = log_unit if column.scale == "log" else unit
    return Encoded(_with_empty(graph, scaled(graph, numbers, *column.bounds), empty, column), fault)


def _piecewise(graph: Graph, cells: str, column: Piecewise, notation: Notation) -> Encoded:
    numbers, empty, fault = _numbers(graph, cells, column, notation)
    return Encoded(_with_empty(graph, hats(graph, numbers, column.knots), empty, column), fault)


def _ordinal(graph: Graph, cells: str, column: Ordinal, notation: Notation) -> Encoded:
    return _positions(graph, _codes(graph, cells, column.levels, notation), column)


def _boolean(graph: Graph, cells: str, column: Boolean, notation: Notation) -> Encoded:
    words = {word: int(value) for word, value in TRUTH.items()}
    codes = {form: code for word, code in words.items() for form in _cases(word)}
    codes |= dict.fromkeys(notation.empty, _EMPTY)
    return _positions(graph, _looked_up(graph, cells, codes), column)


def _date(graph: Graph, cells: str, column: Date, notation: Notation) -> Encoded:
    """Cells are days since 1970-01-01, whatever texts the notation has for no value."""
    empty = graph.op("IsNaN", cells)
    days, wrong = days_of(graph, cells)
    fault = wrong
    if _takes_empty(column):
        fault = graph.op("And", wrong, graph.op("Not", empty))
    days = graph.op("Where", wrong, float(plain_fill(column)), days)
    first = _with_empty(graph, unit(graph, days, *column.bounds), empty, column)
    none = empty if column.fill is None else None
    parts = [calendar(graph, column, key, days, none) for key in column.calendar]
    return Encoded(graph.op("Concat", first, *parts, axis=1) if parts else first, fault)


_Encoder = Callable[["Graph", str, Any, "Notation"], Encoded]
_ENCODERS: Mapping[type, _Encoder] = {
    Numeric: _number,
    Binned: _bins,
    Piecewise: _piecewise,
    Categorical: _categories,
    Ordinal: _ordinal,
    Boolean: _boolean,
    Date: _date,
}
_AS_NUMBERS = (Date,)
"""Kinds whose cells are texts elsewhere, and numbers in a graph."""


def _numbers(
    graph: Graph, cells: str, column: Numeric | Binned | Piecewise, notation: Notation
) -> tuple[str, str, str]:
    """Return finite numbers, an empty cell as its fill or a number in its place; which cells are
    empty, a number that means so included; and which rows are at fault."""
    empty = graph.op("IsNaN", cells)
    if notation.numbers:
        means_none = _any_equal(graph, cells, notation.numbers)
        empty = graph.op("Or", empty, means_none)
    fault = graph.op("IsInf", cells)
    if not _takes_empty(column):
        fault = graph.op("Or", fault, empty)
    bad = graph.op("Or", fault, empty)
    return graph.op("Where", bad, float(plain_fill(column)), cells), empty, fault


def _positions(graph: Graph, codes: str, column: Ordinal | Boolean) -> Encoded:
    """Return levels' positions as one feature."""
    empty = graph.op("Equal", codes, _EMPTY)
    is_read = _takes_empty(column)
    fault = graph.op("Equal", codes, _UNKNOWN) if is_read else graph.op("Less", codes, 0)
    known = graph.op("Where", graph.op("Less", codes, 0), int(plain_fill(column)), codes)
    level = known
    if column.indicator:
        level = graph.op("Where", empty, len(column.levels), known)
    share = unit(graph, graph.cast(known, float), *column.bounds)
    return Encoded(_with_empty(graph, share, empty, column), fault, level)


def _with_empty(graph: Graph, numbers: str, empty: str, column: Any) -> str:
    """Return the features of a number on the grid: 0 for an empty cell without a fill, and with the
    indicator beside them."""
    if column.fill is None and column.indicator:
        numbers = graph.op("Where", empty, 0.0, numbers)
    features = on_grid(graph, numbers)
    if column.indicator:
        features = graph.op("Concat", features, graph.cast(empty, float), axis=1)
    return features


def _takes_empty(column: Any) -> bool:
    return column.indicator or column.fill is not None


def _codes(graph: Graph, cells: str, values: tuple[Any, ...], notation: Notation) -> str:
    """Return each cell's place in a list, int64, or whether it is unknown or empty."""
    if not are_numbers(values):
        return _looked_up(graph, cells, _codes_of_words(values, notation))
    empty = graph.op("IsNaN", cells)
    listed = np.array(values, dtype=np.float64)[np.newaxis]
    found = graph.cast(graph.op("Equal", cells, listed), int)
    places = graph.op("Mul", found, np.arange(1, len(values) + 1)[np.newaxis])
    code = graph.op("Sub", graph.op("ReduceSum", places, [1], keepdims=1), 1)
    if notation.numbers:
        empty = graph.op("Or", empty, _any_equal(graph, cells, notation.numbers))
    return graph.op("Where", empty, _EMPTY, code)


def _codes_of_words(values: tuple[Any, ...], notation: Notation) -> dict[str, int]:
    """Return the codes of all texts that mean one of the values, or nothing."""
    vocabulary = Vocabulary([str(value) for value in values], notation.missing)
    forms: Iterable[str] = vocabulary.texts
    if vocabulary.takes_booleans:
        forms = (form for text in vocabulary.texts for form in _cases(text))
    known = {form: vocabulary.of_text(form) for form in (*vocabulary.texts, *forms)}
    return dict.fromkeys(notation.empty, _EMPTY) | {k: c for k, c in known.items() if c >= 0}


def _cases(word: str) -> list[str]:
    """Return a word with each letter in either case."""
    pairs = (dict.fromkeys((letter.lower(), letter.upper())) for letter in word)
    return ["".join(letters) for letters in itertools.product(*pairs)]


def _looked_up(graph: Graph, cells: str, codes: Mapping[str, int]) -> str:
    keys, values = [*codes], [*codes.values()]
    options = {"keys_strings": keys, "values_int64s": values, "default_int64": _UNKNOWN}
    return graph.op("LabelEncoder", cells, domain="ai.onnx.ml", **options)


def _any_equal(graph: Graph, cells: str, numbers: tuple[float, ...]) -> str:
    equal = graph.cast(graph.op("Equal", cells, np.array(numbers)[np.newaxis]), int)
    return graph.op("Greater", graph.op("ReduceSum", equal, [1], keepdims=1), 0)
