"""The arithmetic of encoding and scaling as nodes: float64, the same operations in the same order
as ``dpcore.data.cells`` and ``dpcore.data.blocks``, so that scores have the same bits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import Problem
from dpcore.plugin.columns import transforms

if TYPE_CHECKING:
    from dpcore_report.onnx.graph import Graph

__all__ = [
    "affine",
    "count_from",
    "even_hats",
    "hats",
    "logarithm",
    "logistic_logarithm",
    "on_grid",
    "one_hot",
    "row_factors",
    "unit",
]

_PHI = 2.0**-53 * (1.0 + 2.0**-52)
"""x + _PHI x, each rounded to nearest, is the next float64 above a normal x > 0, and x - _PHI x the
one below (Rump, Zimmermann, Boldo & Melquiond 2009, algorithm 1)."""


def unit(graph: Graph, values: str, lower: float, upper: float) -> str:
    """Return finite numbers clamped to bounds and mapped to [0, 1], as ``scale_to_unit`` does."""
    clamped = graph.op("Clip", values, float(lower), float(upper))
    return affine(graph, clamped, lower, upper)


def affine(graph: Graph, values: str, lower: float, upper: float) -> str:
    """Return numbers between bounds, mapped to [0, 1]."""
    share = graph.op("Div", graph.op("Sub", values, float(lower)), float(upper - lower))
    return graph.op("Clip", share, 0.0, 1.0)


def logarithm(graph: Graph, values: str, lower: float, upper: float) -> str:
    """Return the logarithms of numbers between positive bounds, as ``binary_log`` takes these."""
    least, most = math.frexp(lower)[1], math.frexp(upper)[1]
    exponents = np.arange(least, most + 1)
    place = count_from(graph, values, np.ldexp(1.0, exponents[:-1]))
    whole = graph.op("Gather", exponents.astype(np.float64), place)
    mantissa = graph.op("Mul", values, graph.op("Gather", np.ldexp(1.0, -exponents), place))
    small = graph.op("Less", mantissa, math.sqrt(0.5))
    mantissa = graph.op("Where", small, graph.op("Mul", mantissa, 2.0), mantissa)
    s = graph.op("Div", graph.op("Sub", mantissa, 1.0), graph.op("Add", mantissa, 1.0))
    square = graph.op("Mul", s, s)
    series = graph.constant(0.0)
    for k in reversed(range(transforms.Log.TERMS)):
        series = graph.op("Add", graph.op("Mul", series, square), 1.0 / (2 * k + 1))
    fraction = graph.op("Mul", graph.op("Mul", s, series), 2.0 / math.log(2.0))
    return graph.op("Add", graph.op("Sub", whole, graph.cast(small, float)), fraction)


def hats(graph: Graph, values: str, knots: Sequence[float]) -> str:
    """Return the hat functions of the knots, as ``dpcore_tables.cells.features.hats`` does."""
    clamped = graph.op("Clip", values, float(knots[0]), float(knots[-1]))
    # Of the inner knots: above the last one is the last stretch, the last knot included.
    left = count_from(graph, clamped, np.array(knots[1:-1], dtype=np.float64))
    edges = np.array(knots, dtype=np.float64)
    lower, upper = graph.op("Gather", edges[:-1], left), graph.op("Gather", edges[1:], left)
    share = graph.op("Div", graph.op("Sub", clamped, lower), graph.op("Sub", upper, lower))
    t = graph.op("Clip", share, 0.0, 1.0)
    falling = graph.op("Mul", one_hot(graph, left, len(knots)), graph.op("Sub", 1.0, t))
    next_one = graph.op("Add", left, 1)
    return graph.op("Add", falling, graph.op("Mul", one_hot(graph, next_one, len(knots)), t))


def even_hats(graph: Graph, values: str, knots: Sequence[float]) -> str:
    """Return the hat functions of evenly spaced knots, by the feature x of the number. At knot k it
    is max(0, 1 - |m x - k|) with m stretches between knots, which rounds nothing on the grid."""
    x = on_grid(graph, unit(graph, values, knots[0], knots[-1]))
    along = graph.op("Mul", x, float(len(knots) - 1))
    away = graph.op("Abs", graph.op("Sub", along, np.arange(float(len(knots)))[np.newaxis]))
    return graph.op("Max", graph.op("Sub", 1.0, away), 0.0)


def count_from(graph: Graph, values: str, edges: np.ndarray) -> str:
    """Return how many of the ascending edges each number has reached, int64."""
    if not edges.size:
        return graph.op("Mul", graph.cast(graph.op("IsNaN", values), int), 0)
    reached = graph.op("GreaterOrEqual", values, edges[np.newaxis])
    return graph.op("ReduceSum", graph.cast(reached, int), [1], keepdims=1)


def one_hot(graph: Graph, codes: str, width: int) -> str:
    """Return a column for each code from 0, 1.0 where it is the row's."""
    return graph.cast(graph.op("Equal", codes, np.arange(width)[np.newaxis]), float)


def on_grid(graph: Graph, numbers: str) -> str:
    """Return numbers in [0, 1], truncated towards zero to the feature grid."""
    steps = graph.op("Floor", graph.op("Mul", numbers, 2.0**Problem.FEATURE_BITS))
    return graph.op("Mul", steps, 2.0**-Problem.FEATURE_BITS)


def row_factors(graph: Graph, rows: str, row_norm: float, *, with_one: bool) -> str:
    """Return the factors that scale rows down to a norm, as ``l2_norms_up`` and ``row_factors`` of
    ``dpcore.data.blocks`` do; ``with_one`` : the intercept's 1 is in the row.

    The squares of features on the grid and their sum are exact in any order.
    """
    squares = graph.op("ReduceSum", graph.op("Mul", rows, rows), [1], keepdims=1)
    if with_one:
        squares = graph.op("Add", squares, 1.0)
    norms = _beside(graph, graph.op("Sqrt", _beside(graph, squares, "Add")), "Add")
    over = graph.op("Greater", norms, float(row_norm))
    quotient = graph.op("Div", float(row_norm), graph.op("Where", over, norms, 1.0))
    down = _beside(graph, _beside(graph, quotient, "Sub"), "Sub")
    return graph.op("Where", over, down, 1.0)


def logistic_logarithm(graph: Graph, margins: str) -> str:
    """Return log(1 / (1 + exp(-z))), finite on both tails."""
    tail = graph.op("Exp", graph.op("Neg", graph.op("Abs", margins)))
    return graph.op(
        "Sub", graph.op("Min", margins, 0.0), graph.op("Log", graph.op("Add", tail, 1.0))
    )


def _beside(graph: Graph, values: str, side: str) -> str:
    """Return the next float64 above (``"Add"``) or below (``"Sub"``) numbers >= 0; 0 stays."""
    return graph.op(side, values, graph.op("Mul", values, _PHI))
