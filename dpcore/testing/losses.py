"""Checks of a loss: row by row to the bit, and its constants."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.exact.grid import BLOCK_ROWS
from dpcore.losses.facts import LossFacts, loss_facts
from dpcore.testing.guard import require_assertions
from dpcore.testing.overlap import run_overlapping

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.protocols import Loss

    Kernel = Callable[[np.ndarray, np.ndarray, np.ndarray], None]
    """Margins and labels in, one number a row out, in the last array."""

__all__ = ["check_loss"]

_OVERLAPPING_CALLS = 50
_SLOPE_ERROR = 2.0**-34
"""The most that rounding takes off a slope."""


def check_loss(loss: Loss) -> None:
    """Raise AssertionError unless the loss is a function of each row alone and keeps its constants.

    It writes on ``out`` only. A full block of 8,192 rows gives the same bits in a permuted, a split
    and single-row calls: a loss that looks at other rows (the mean margin, say) would void every
    sensitivity. So would a loss that mixes overlapping calls, and says that it is thread-safe. Then
    ``|dvalue| <= lipschitz``, the slope of ``dvalue`` at most ``smoothness``, ``dvalue`` against
    finite differences of ``value``, and every fact that its class states
    (``dpcore.losses.facts.LossFacts``).
    """
    require_assertions()
    rng = np.random.default_rng(0)
    tails = np.array([0.0, 1.0, -1.0, 1e-9, -1e-9, 36.0, -36.0, 700.0, -700.0, 1e4, -1e4])
    half = (BLOCK_ROWS - tails.size) // 2
    wide = rng.uniform(-800, 800, size=BLOCK_ROWS - tails.size - half)
    z = np.concatenate([tails, rng.normal(scale=3.0, size=half), wide])
    facts = loss_facts(loss)
    if loss.classification:
        y = np.where(rng.random(z.size) < 0.5, -1.0, 1.0)
    else:
        y = rng.uniform(-1, 1, size=z.size)
    for function in (loss.value, loss.dvalue):
        _check_row_by_row(function, z, y, rng)
        if facts.thread_safe:
            _check_overlapping(function, z, y)
    _check_constants(loss, z, y)
    _check_facts(facts, z, y)
    if facts.convex:
        _check_convex(loss, z, y)
    if facts.line_totals is not None:
        _check_line(loss, facts.line_totals, z, y)


def _check_facts(facts: LossFacts, z: np.ndarray, y: np.ndarray) -> None:
    """Compare what else the class states with values and slopes at the margins."""
    slope = _called(facts.dvalue, z, y)
    if facts.falling:
        assert (slope * y <= _SLOPE_ERROR).all(), "The loss grows with y z: it is not falling."
    if facts.pull is not None:
        pulled = -z * slope - np.abs(z) * _SLOPE_ERROR
        assert (pulled <= facts.pull).all(), "-z dvalue exceeds the declared pull."
    if facts.quadratic:
        squares = 0.5 * (z - y) ** 2
        close = np.allclose(_called(facts.value, z, y), squares, rtol=2.0**-40, atol=0.0)
        assert close and np.allclose(slope, z - y, rtol=2.0**-40, atol=0.0), (
            "The loss is declared quadratic and is not (z - y)^2 / 2."
        )
    if facts.precise_dvalue is not None:
        apart = np.abs(_called(facts.precise_dvalue, z, y) - slope).max()
        assert apart <= _SLOPE_ERROR, "precise_dvalue is not dvalue."


def _check_line(loss: Loss, line_totals: Callable[..., Any], z: np.ndarray, y: np.ndarray) -> None:
    """Totals along a line are sums over rows, within [0, clip] each, and those of ``value``."""
    step, count, scale = 0.25, 9, 2.0**20
    direction, factor = np.resize([1.0, -2.0, 0.5, 0.0], z.size), np.resize([1.0, 0.25], z.size)
    z = np.clip(z, -600.0, 600.0)

    def totals(rows: slice, clip: float) -> Any:
        parts = (np.ascontiguousarray(part[rows]) for part in (z, direction, factor))
        return line_totals(tuple(parts), y[rows].copy(), step, count, clip, scale)

    for clip in (0.5, 2.0, 100.0):
        whole = totals(slice(None), clip)
        if whole is None:
            continue
        rows = [totals(slice(i, i + 1), clip) for i in range(z.size)]
        assert np.array_equal(whole, np.sum(rows, axis=0)), "line_totals is no sum over rows."
        expected = np.array(
            [_called(loss.value, factor * (z - k * step * direction), y) for k in range(count)]
        )
        steps = np.trunc(np.clip(expected, 0.0, clip) * scale).T
        assert np.abs(np.array(rows) - steps).max() <= 1, "line_totals disagrees with value."
        assert np.min(rows) >= 0 and np.max(rows) <= clip * scale, "line_totals leaves the clip."


def _called(function: Kernel, z: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = np.full(z.size, np.nan)
    margins, labels = z.copy(), y.copy()
    function(margins, labels, out)
    assert margins.tobytes() == z.tobytes() and labels.tobytes() == y.tobytes(), (
        f"{function.__name__} writes on the margins or labels that it was given."
    )
    return out


def _check_row_by_row(
    function: Kernel, z: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> None:
    name = function.__name__
    whole = _called(function, z, y)
    assert not np.isnan(whole).any(), f"{name} gives NaN on a finite margin."
    order = rng.permutation(z.size)
    permuted = np.empty_like(whole)
    permuted[order] = _called(function, z[order], y[order])
    cut = z.size // 3 + 1
    split = np.concatenate(
        [_called(function, z[:cut], y[:cut]), _called(function, z[cut:], y[cut:])]
    )
    single = np.array([_called(function, z[i : i + 1], y[i : i + 1])[0] for i in range(z.size)])
    for how, other in (("permuted", permuted), ("split", split), ("single-row", single)):
        assert other.tobytes() == whole.tobytes(), (
            f"{name} gives other bits on a {how} call: a row's loss depends on the other rows."
        )


def _check_overlapping(function: Kernel, z: np.ndarray, y: np.ndarray) -> None:
    """Two threads, each with rows of its own, many times over: scratch space of the loss would mix
    them. A loss that passes may still be unsafe; a loss that fails is."""
    halves = [(z[part].copy(), y[part].copy()) for part in (slice(0, None, 2), slice(1, None, 2))]
    expected = [_called(function, *half).tobytes() for half in halves]
    mixed: list[int] = []

    def repeat(k: int) -> None:
        for _ in range(_OVERLAPPING_CALLS):
            if mixed:
                return
            if _called(function, *halves[k]).tobytes() != expected[k]:
                mixed.append(k)

    run_overlapping(repeat)
    assert not mixed, f"{function.__name__} gives other bits in overlapping calls."


def _check_convex(loss: Loss, z: np.ndarray, y: np.ndarray) -> None:
    order = np.argsort(z)
    labels = (np.full(z.size, -1.0), np.ones(z.size)) if loss.classification else (y,)
    for label in labels:
        # One label for all: the slope of one row's loss along the margin.
        label = label if loss.classification else np.full(z.size, label[0])
        slopes = _called(loss.dvalue, z[order].copy(), label)
        falls = np.max(np.maximum.accumulate(slopes) - slopes)
        assert falls <= _SLOPE_ERROR, "dvalue falls with the margin: the loss is not convex."


def _check_constants(loss: Loss, z: np.ndarray, y: np.ndarray) -> None:
    slope = _called(loss.dvalue, z, y)
    assert (np.abs(slope) <= loss.lipschitz).all(), "|dvalue| exceeds the declared lipschitz."
    values = _called(loss.value, z, y)
    assert (values >= 0).all(), "A loss is never negative."
    h = 1e-4
    above, below = _called(loss.value, z + h, y), _called(loss.value, z - h, y)
    # Rounding of the values, divided by the step, and one kink or the curvature within the step.
    tolerance = 1e-3 + 4 * np.finfo(float).eps * np.abs(values) / h
    kinked = not math.isfinite(loss.smoothness)
    wrong = np.abs((above - below) / (2 * h) - slope) > tolerance
    near_kink = np.abs(_called(loss.dvalue, z + h, y) - _called(loss.dvalue, z - h, y)) > 0.1
    assert not (wrong & ~(near_kink & kinked)).any(), "dvalue is not the slope of value."
    if not kinked:
        change = np.abs(_called(loss.dvalue, z + h, y) - _called(loss.dvalue, z - h, y)) / (2 * h)
        noise = 4 * np.finfo(float).eps * (1 + np.abs(slope)) / h
        assert (change <= loss.smoothness * (1 + 1e-6) + noise).all(), (
            "dvalue is steeper than the declared smoothness."
        )
