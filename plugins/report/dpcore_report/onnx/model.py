"""A model as an ONNX graph: from the cells of rows to the scores and labels of ``predict``."""

from __future__ import annotations

import functools
import importlib.util
import json
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.plugin import round_parameters

if TYPE_CHECKING:
    from dpcore.plugin.columns import Label
    from dpcore.plugin.parts import Model
    from dpcore_report.onnx.graph import Graph

__all__ = ["OnnxExporter", "graph_bytes"]


class OnnxExporter:
    """Writes a model as a graph. It needs onnx."""

    writes: ClassVar[str] = "Graph"

    @classmethod
    def check(cls) -> None:
        """Raise InvalidInputError where onnx is not installed."""
        if importlib.util.find_spec("onnx") is None:
            raise InvalidInputError(
                "An ONNX graph needs onnx, which is not installed: pip install 'dpcore[onnx]'."
            )

    @classmethod
    def content(cls, model: Model) -> bytes:
        """Return the bytes of a model's graph; InvalidInputError for what a graph cannot encode."""
        return graph_bytes(model)


def graph_bytes(model: Model) -> bytes:
    """Return the model's graph, the same bytes every time.

    An input is a column of the schema, of shape (n_rows, 1): text where its cells are text, without
    blanks around it, else float64, NaN for an empty cell; a date is its day since 1970-01-01, a
    number. Outputs are ``log_odds`` or ``margin``,
    ``probability`` where there are any, and ``label``; of a number ``label`` alone. A row that does
    not satisfy the schema has NaN, and a label that is an empty text or NaN.

    Margins have the bits of ``Model.margins``: features and parameters are on grids on which every
    sum is exact in any order (``dpcore.exact.grid``), and all else is one IEEE operation a node.

    Raises InvalidInputError for columns that a graph cannot encode.
    """
    from dpcore_report.onnx.columns import takes_text
    from dpcore_report.onnx.graph import Graph

    schema = model.schema
    if schema.width is not None:
        raise InvalidInputError(
            "The model takes columns without names and bounds, whose rows are scaled down by a sum "
            "that a graph cannot repeat to the bit: train with a schema of named columns, or with "
            "bounds=(lower, upper)."
        )
    for column in schema.features:
        takes_text(column)
    graph = Graph([column.name for column in schema.features])
    margins, fault = _margins(graph, model)
    if fault is not None:
        margins = graph.op("Where", fault, float("nan"), margins)
    _add_outputs(graph, model, margins, fault)
    properties = {"private": json.dumps(model.privacy["private"])}
    if model.classes is not None:
        properties["classes"] = json.dumps([_plain(name) for name in model.classes])
    return bytes(
        graph.finished(model.privacy["sentence"], properties).SerializeToString(deterministic=True)
    )


def _margins(graph: Graph, model: Model) -> tuple[str, str | None]:
    """Return the margins, of shape (n_rows, n_margins), and which rows are at fault, if any can
    be."""
    from dpcore_report.onnx.arithmetic import row_factors
    from dpcore_report.onnx.columns import encoded_column, encoded_cross

    schema = model.schema
    encoded = {c.name: encoded_column(graph, c, schema.notation) for c in schema.features}
    features = [column.features for column in encoded.values()]
    levels = {name: each.level for name, each in encoded.items() if each.level is not None}
    features += [encoded_cross(graph, cross, levels) for cross in schema.encoded.crossed]
    rows = graph.op("Concat", *features, axis=1)
    w = np.atleast_2d(round_parameters(model.w, schema.raw_norm_bound))
    of_features = w[:, :-1] if schema.intercept else w
    margins = graph.op("MatMul", rows, np.ascontiguousarray(of_features.T))
    if schema.intercept:
        margins = graph.op("Add", margins, w[:, -1][np.newaxis])
    # Also where no row is longer: the upper bound of the longest row's norm is, by a rounding.
    row_norm = min(schema.row_norm, schema.raw_norm_bound)
    factors = row_factors(graph, rows, row_norm, with_one=schema.intercept)
    margins = graph.op("Mul", margins, factors)
    faults = [each.fault for each in encoded.values() if each.fault is not None]
    fault = functools.reduce(lambda a, b: graph.op("Or", a, b), faults) if faults else None
    return margins, fault


def _add_outputs(graph: Graph, model: Model, margins: str, fault: str | None) -> None:
    if model.classes is None:
        if model.log_link:
            margins = graph.op("Sub", graph.op("Exp", graph.op("Min", margins, 1.0)), 1.0)
        graph.output("label", _number(graph, model.schema.label, margins), "f", 1)
        return
    n_margins = model.schema.label.n_margins
    graph.output("log_odds" if model.has_log_odds else "margin", margins, "f", n_margins)
    if model.has_probabilities:
        chances = _probabilities(graph, model, margins)
        graph.output("probability", chances, "f", len(model.classes))
    if n_margins == 1:
        place = graph.cast(graph.op("Greater", margins, 0.0), int)
    else:
        place = graph.op("ArgMax", margins, axis=1, keepdims=1)
    are_numbers = all(isinstance(_plain(name), (int, float)) for name in model.classes)
    names: Any = [float(name) if are_numbers else str(name) for name in model.classes]
    label = graph.op("Gather", names, place)
    if fault is not None:
        label = graph.op("Where", fault, graph.constant(float("nan") if are_numbers else ""), label)
    graph.output("label", label, "f" if are_numbers else "U", 1)


def _number(graph: Graph, label: Label, margins: str) -> str:
    """Return the predicted number as ``dpcore_tables.cells.cell_values.number_of``, by the same
    comparisons."""
    middle, half = label.scale
    value = graph.op("Add", graph.op("Mul", margins, half), middle)
    for comparison, bound in zip(("Less", "Greater"), label.bounds, strict=True):
        value = graph.op("Where", graph.op(comparison, value, bound), bound, value)
    return value


def _probabilities(graph: Graph, model: Model, margins: str) -> str:
    from dpcore_report.onnx.arithmetic import logistic_logarithm

    if model.schema.label.n_margins == 1:
        # Not by Sigmoid: what a runtime makes of it is not exact where it is small.
        against = graph.op("Concat", margins, graph.op("Neg", margins), axis=1)
        return graph.op("Div", 1.0, graph.op("Add", graph.op("Exp", against), 1.0))
    logs = margins if model.multiclass is None else logistic_logarithm(graph, margins)
    return graph.op("Softmax", logs, axis=1)


def _plain(name: Any) -> str | int | float:
    """Return a class as text or a number; a truth value as its text."""
    if isinstance(name, np.generic):
        name = name.item()
    return name if isinstance(name, (int, float)) and not isinstance(name, bool) else str(name)
