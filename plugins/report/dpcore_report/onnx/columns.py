"""Columns of cells as features in a graph, by their readings and transforms, as
``dpcore.data.cells`` encodes them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.plugin.columns import ColumnPlan, transforms
from dpcore_report.onnx.arithmetic import (
    affine,
    count_from,
    even_hats,
    hats,
    logarithm,
    on_grid,
    one_hot,
)
from dpcore_report.onnx.dates import days_of, part_of_date
from dpcore_report.onnx.graph import Graph
from dpcore_tables.kinds.even_hats import EvenHats

if TYPE_CHECKING:
    from dpcore.plugin.columns import Encoding, FeatureColumn, Notation, Vocabulary

__all__ = ["Encoded", "encoded_column", "encoded_cross", "takes_text"]

_UNKNOWN, _EMPTY = -1, -2
_TABLE = " Of values that are public, --values COLUMN=FILE makes a table of the hash."


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


@dataclass(frozen=True)
class _Read:
    """Names of what is read of a column's cells: a plain number, float64 or int64, another one in
    the place of what has none; whether the cell is empty; and whether it is a fault, ``None`` where
    none is."""

    value: str
    empty: str
    fault: str | None


def takes_text(column: FeatureColumn) -> bool:
    """Return whether the cells of a column are text in the graph, and not float64.

    Raises InvalidInputError for a reading that the graph cannot compute.
    """
    reading = column.encoding.reading
    if type(reading) not in _READINGS:
        raise InvalidInputError(
            f"Column {column.name!r} is of kind {column.kind}, which ONNX has no operators for: a "
            f"graph computes no {_NAMES[type(reading)]} of a text. Score with dpcore predict or by "
            "hand from the JSON file; or train with a categorical column that lists its values, or "
            f"without this one.{_TABLE * isinstance(reading, transforms.Hash)}"
        )
    return (
        isinstance(reading, transforms.Truth)
        or isinstance(reading, transforms.Lookup)
        and not reading.takes_numbers
    )


def encoded_column(graph: Graph, column: FeatureColumn, notation: Notation) -> Encoded:
    """Return the column's features; the graph gets an input of its name."""
    plan, encoding = ColumnPlan.of(column, notation), column.encoding
    cells = graph.input(column.name, "U" if takes_text(column) else "f")
    read = _READINGS[type(encoding.reading)](graph, cells, plan)
    first = encoding.chains[0]
    features, level = [], None
    if isinstance(last := first[-1], transforms.OneHot):
        level = _transformed(graph, first[:-1], read.value)
        if encoding.indicator:
            level = graph.op("Where", read.empty, last.width, level)
        elif encoding.is_code:
            level = graph.op("Where", read.empty, _filled(encoding), level)
        features.append(one_hot(graph, level, last.width + encoding.indicator))
    else:
        numbers = _transformed(graph, first, graph.cast(read.value, float))
        features.append(_with_empty(graph, numbers, read.empty, encoding))
        if encoding.levels:
            level = read.value
            if encoding.indicator:
                level = graph.op("Where", read.empty, len(encoding.levels), level)
    for chain in encoding.chains[1:]:
        features.append(_others(graph, chain, read, encoding))
    joined = graph.op("Concat", *features, axis=1) if len(features) > 1 else features[0]
    return Encoded(joined, read.fault, level)


def encoded_cross(graph: Graph, cross: Any, levels: Mapping[str, str]) -> str:
    """Return the features of a cross, by the levels of its columns."""
    code, known = graph.constant([[0]]), graph.constant([[True]])
    for column, n_levels in zip(cross.columns, cross.levels, strict=True):
        level = levels[column.name]
        known = graph.op("And", known, graph.op("GreaterOrEqual", level, 0))
        code = graph.op("Add", graph.op("Mul", code, n_levels), level)
    code = graph.op("Where", known, code, _UNKNOWN)
    return one_hot(graph, code, cross.part.width)


def _filled(encoding: Encoding) -> int:
    return _UNKNOWN if encoding.fill is None else int(encoding.fill)


def _others(graph: Graph, chain: transforms.Chain, read: _Read, encoding: Encoding) -> str:
    """Return the features of a further chain; 0 for an empty cell without a fill."""
    last = chain[-1]
    value = _transformed(
        graph, chain[:-1] if isinstance(last, transforms.OneHot) else chain, read.value
    )
    none = read.empty if encoding.fill is None else None
    if isinstance(last, transforms.OneHot):
        code = value if none is None else graph.op("Where", none, _UNKNOWN, value)
        return one_hot(graph, code, last.width)
    return on_grid(graph, value if none is None else graph.op("Where", none, 0.0, value))


def _transformed(graph: Graph, chain: transforms.Chain, value: str) -> str:
    for transform in chain:
        value = _TRANSFORMS[type(transform)](graph, value, transform)
    return value


def _as_number(graph: Graph, cells: str, plan: ColumnPlan) -> _Read:
    """Return finite numbers; a number that means so is empty too."""
    empty = graph.op("IsNaN", cells)
    if plan.notation.numbers:
        empty = graph.op("Or", empty, _any_equal(graph, cells, plan.notation.numbers))
    fault = graph.op("IsInf", cells)
    if not plan.takes_empty:
        fault = graph.op("Or", fault, empty)
    bad = graph.op("Or", fault, empty)
    return _Read(graph.op("Where", bad, _stand_in(plan), cells), empty, fault)


def _as_day(graph: Graph, cells: str, plan: ColumnPlan) -> _Read:
    """Cells are days since 1970-01-01, whatever texts the notation has for no value."""
    empty = graph.op("IsNaN", cells)
    days, wrong = days_of(graph, cells)
    fault = graph.op("And", wrong, graph.op("Not", empty)) if plan.takes_empty else wrong
    return _Read(graph.op("Where", wrong, _stand_in(plan), days), empty, fault)


def _as_place(graph: Graph, cells: str, plan: ColumnPlan) -> _Read:
    assert isinstance(plan.reading, transforms.Lookup)
    return _place(graph, _codes(graph, cells, plan), plan, plan.reading.unknown == "fault")


def _as_truth(graph: Graph, cells: str, plan: ColumnPlan) -> _Read:
    words = {word: int(value) for word, value in transforms.Truth.WORDS.items()}
    codes = {form: code for word, code in words.items() for form in _cases(word)}
    codes |= dict.fromkeys(plan.notation.empty, _EMPTY)
    return _place(graph, _looked_up(graph, cells, codes), plan, True)


def _place(graph: Graph, code: str, plan: ColumnPlan, is_fault: bool) -> _Read:
    """Return the places that codes are, another one for a cell that has none."""
    encoding = plan.encoding
    assert encoding is not None
    empty = graph.op("Equal", code, _EMPTY)
    if encoding.is_code and not is_fault:
        return _Read(code, empty, None)
    fault = graph.op("Equal", code, _UNKNOWN) if plan.takes_empty else graph.op("Less", code, 0)
    place = graph.op("Where", graph.op("Less", code, 0), int(_stand_in(plan)), code)
    return _Read(place, empty, fault)


def _stand_in(plan: ColumnPlan) -> float:
    assert plan.encoding is not None
    return float(plan.encoding.stand_in)


_READINGS: Mapping[type, Callable[[Graph, str, ColumnPlan], _Read]] = {
    transforms.Number: _as_number,
    transforms.Day: _as_day,
    transforms.Lookup: _as_place,
    transforms.Truth: _as_truth,
}
_NAMES: Mapping[type, str] = {transforms.Hash: "hash", transforms.Parsed: "function"}
_TRANSFORMS: Mapping[type, Callable[[Graph, str, Any], str]] = {
    transforms.Clip: lambda graph, value, to: graph.op(
        "Clip", value, float(to.lower), float(to.upper)
    ),
    transforms.Log: lambda graph, value, to: logarithm(graph, value, to.lower, to.upper),
    transforms.Bin: lambda graph, value, to: count_from(
        graph, value, np.array(to.edges, dtype=np.float64)
    ),
    transforms.DatePart: part_of_date,
    transforms.Affine: lambda graph, value, to: affine(graph, value, to.lower, to.upper),
    transforms.Hat: lambda graph, value, to: hats(graph, value, to.knots),
    EvenHats: lambda graph, value, to: even_hats(graph, value, to.knots),
}


def _with_empty(graph: Graph, numbers: str, empty: str, encoding: Encoding) -> str:
    """Return the features of a number on the grid: 0 for an empty cell without a fill, and with the
    indicator beside them."""
    if encoding.fill is None and encoding.indicator:
        numbers = graph.op("Where", empty, 0.0, numbers)
    features = on_grid(graph, numbers)
    if encoding.indicator:
        features = graph.op("Concat", features, graph.cast(empty, float), axis=1)
    return features


def _codes(graph: Graph, cells: str, plan: ColumnPlan) -> str:
    """Return each cell's place in a lookup, int64, or whether it is unknown or empty."""
    lookup, notation = plan.reading, plan.notation
    assert isinstance(lookup, transforms.Lookup)
    values, places = lookup.values, lookup.places or range(len(lookup.values))
    if plan.vocabulary is not None:
        codes = _codes_of_words(plan.vocabulary, notation)
        codes = {word: places[code] if code >= 0 else code for word, code in codes.items()}
        return _looked_up(graph, cells, codes)
    empty = graph.op("IsNaN", cells)
    listed = np.array(values, dtype=np.float64)[np.newaxis]
    found = graph.cast(graph.op("Equal", cells, listed), int)
    counted = graph.op("Mul", found, np.array(places)[np.newaxis] + 1)
    code = graph.op("Sub", graph.op("ReduceSum", counted, [1], keepdims=1), 1)
    if notation.numbers:
        empty = graph.op("Or", empty, _any_equal(graph, cells, notation.numbers))
    return graph.op("Where", empty, _EMPTY, code)


def _codes_of_words(vocabulary: Vocabulary, notation: Notation) -> dict[str, int]:
    """Return the codes of all texts that mean one of the values, or nothing."""
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
