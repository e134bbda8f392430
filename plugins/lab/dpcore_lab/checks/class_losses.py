"""Checks of a loss of several classes: row by row to the bit, and its constants."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numba import config

from dpcore.plugin.parts import LossFacts, Table
from dpcore_lab.checks.coverage_text import Tested
from dpcore_lab.checks.memory import (
    USUAL_CALLS,
    assert_alike_in_any_company,
    assert_alike_in_company,
    assert_no_memory,
    assert_not_mixed,
)
from dpcore_lab.made_tables.variants import unranged, variants

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin import Loss
    from dpcore.plugin.parts import LossFacts

    Kernel = Callable[[np.ndarray, np.ndarray, np.ndarray], None]
    """Margins and labels in, in the last array one number a row, or one a row and class."""

__all__ = ["check_class_loss"]

_CLASSES = (3, 5, 17, 40)
_FEW, _FEWER = 600, 1500
"""Rows that are tried of so many classes, once a full block."""
# Kernels as plain Python take minutes.
_MOST_CELLS = 1 << 15 if config.DISABLE_JIT else 1 << 21  # type: ignore[attr-defined]
"""Margins of a call, at most, but for those of a few rows."""
_OF_TWO = ("nonincreasing", "quadratic", "self_concordance", "line_totals")
"""Facts of a single margin, which a loss of several classes cannot state."""
_LARGEST_BITS = 60
_NEAR = 2.0**10
_ERROR = 2.0**-34
"""The most that rounding takes off a slope."""
_VALUE_ERROR = 2.0**-50
"""The most that rounding takes off a value."""
_STEP = 1e-4


def check_class_loss(
    loss: Loss, facts: LossFacts, classes: tuple[int, ...] = _CLASSES, calls: int = USUAL_CALLS
) -> Tested:
    """Raise AssertionError unless the loss is a function of each row alone and keeps its constants:
    what ``check_loss`` does, of margins of several classes, slopes in l2.

    ``classes`` : numbers of them, with a full block of the first. ``calls`` : after which the
    same margins have to give the same bits.
    """
    others = 0
    for place, count in enumerate(classes):
        rows = max(_FEW, min(_FEWER if place else Table.BLOCK_ROWS, _MOST_CELLS // count))
        rng = np.random.default_rng(count)
        z, y = _margins(count, rows, rng)
        some = np.resize(y, Table.BLOCK_ROWS if place == 0 else _FEWER)
        assert_alike_in_company(partial(_called, loss), some, count)
        if place == 0:
            assert_alike_in_any_company(partial(_called, loss), some, count)
        for name in ("value", "dvalue"):
            _check_row_by_row(loss, name, z, y, rng)
            if facts.thread_safe:
                assert_not_mixed(partial(_called, loss), name, z[:, :_FEW], y[:_FEW])
        _check_bounds(loss, z, y, rng)
        others = _check_variants(loss, count)
        few = slice(None, _FEW)
        assert_no_memory(partial(_called, loss), z[:, few], y[few], calls, facts.thread_safe)
    shown = ", ".join(map(str, classes))
    more = f", the bounds also with {others} other values of its parameters" if others else ""
    left = ["what holds between the margins that were tried", "other numbers of classes"]
    if names := unranged(loss):
        left.append(f"other values of {', '.join(names)}, whose range its class does not state")
    return Tested(
        f"values and slopes at up to {Table.BLOCK_ROWS} rows of {shown} classes, margins of up to "
        f"2^{_LARGEST_BITS}, row by row, again after {calls} other calls, and what its class "
        f"states of them{more}",
        "a bound that is exceeded in most directions",
        tuple(left),
        (
            f"rows 1 to {Table.BLOCK_ROWS:,}",
            f"classes {min(classes)} to {max(classes)}",
            f"margins up to 2^{_LARGEST_BITS}",
            f"calls 1 to {calls:,}",
            "threads 1 to 4",
        ),
    )


def _check_variants(loss: Loss, count: int) -> int:
    """Check the bounds with other parameters; return the number of losses."""
    number = 0
    for number, other in enumerate(variants(loss), 1):
        rng = np.random.default_rng(number)
        try:
            _check_bounds(other, *_margins(count, _FEW, rng), rng)
        except AssertionError as error:
            raise AssertionError(f"With {other}: {error}") from None
    return number


def _margins(count: int, rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return margins of every size, also rows whose classes are even, or one of them far above, or
    two beside each other above all, or the row's own far below all; and labels, every other time
    the highest class's."""
    sizes = 2.0 ** rng.uniform(-20, _LARGEST_BITS, rows)
    sizes[: rows // 2] = rng.choice([0.0, 1e-9, 0.1, 1.0, 5.0, 36.0, 700.0], rows // 2)
    z = rng.normal(size=(count, rows)) * sizes
    z[rng.integers(0, count, rows), np.arange(rows)] += np.resize([50.0, *[0.0] * 6], rows)
    y = np.where(np.arange(rows) % 2, z.argmax(axis=0), rng.integers(0, count, rows))
    even = np.arange(0, rows, 5)  # Where the softmax of two classes bends most.
    z[:2, even] = z[:, even].max(axis=0) + 30.0
    wrong = np.arange(3, rows, 35)  # Every class is on the wrong side, by as much.
    z[:, wrong] = np.abs(z[:, wrong]).max(axis=0)
    z[y[wrong].astype(np.int64), wrong] *= -1.0
    return z, y.astype(np.float64)


def _called(loss: Loss, name: str, z: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = np.full(y.size if name == "value" else z.shape, np.nan)
    margins, labels = np.array(z, order="C"), y.copy()
    getattr(loss, name)(margins, labels, out)
    assert (margins == z).all() and (labels == y).all(), (
        f"{name} writes on the margins or labels that it was given."
    )
    return out


def _check_row_by_row(
    loss: Loss, name: str, z: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> None:
    whole = _called(loss, name, z, y)
    assert np.isfinite(whole).all(), f"{name} gives no number on finite margins."
    order, cut = rng.permutation(y.size), y.size // 3 + 1
    permuted = np.empty_like(whole)
    permuted[..., order] = _called(loss, name, z[:, order], y[order])
    halves = [_called(loss, name, z[:, part], y[part]) for part in (slice(cut), slice(cut, None))]
    singles = [_called(loss, name, z[:, i : i + 1], y[i : i + 1]) for i in range(y.size)]
    others = {
        "permuted": permuted,
        "split": np.concatenate(halves, axis=-1),
        "single-row": np.concatenate(singles, axis=-1),
    }
    for how, other in others.items():
        assert other.tobytes() == whole.tobytes(), (
            f"{name} gives other bits on a {how} call: a row's loss depends on the other rows."
        )


def _check_facts(loss: Loss, facts: LossFacts, z: np.ndarray, y: np.ndarray) -> None:
    """Compare what else the class states with slopes."""
    stated = ", ".join(name for name in _OF_TWO if getattr(facts, name))
    assert not stated, f"It states {stated}, which is of one margin, and has several."
    slope = _called(loss, "dvalue", z, y)
    if facts.radial_slope is not None:
        pulled, sizes = -(z * slope).sum(axis=0), np.abs(z).sum(axis=0)
        assert (pulled <= facts.radial_slope + sizes * _ERROR).all(), (
            "-z dvalue exceeds the declared radial_slope."
        )
        # Largest, of a softmax, where the row's own class is some way above all others.
        places = np.arange(len(z), dtype=np.float64).repeat(_FEW)
        up = np.zeros((len(z), places.size))
        up[places.astype(np.int64), np.arange(places.size)] = np.tile(
            np.linspace(0.25, 16.0, _FEW), len(z)
        )
        pulled = -(up * _called(loss, "dvalue", up, places)).sum(axis=0)
        assert (pulled <= facts.radial_slope + _ERROR).all(), (
            "-z dvalue exceeds the declared radial_slope."
        )
    if facts.precise_dvalue is not None:
        apart = _called(loss, "precise_dvalue", z, y) - slope
        close = np.square(apart).sum(axis=0) <= _ERROR**2 * (1 + np.square(slope).sum(axis=0))
        assert close.all(), "precise_dvalue is not dvalue."


def _check_bounds(loss: Loss, z: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> None:
    """Compare values and slopes with what the loss states of them; and, at margins that a step
    moves, with differences in random directions, towards single classes and from one to another."""
    facts = LossFacts.of(loss)
    _check_facts(loss, facts, z, y)
    slope = _called(loss, "dvalue", z, y)
    lengths = np.sqrt(np.square(slope).sum(axis=0))
    assert (lengths <= facts.lipschitz * (1 + _ERROR)).all(), (
        "The l2 norm of dvalue exceeds the declared lipschitz."
    )
    assert (_called(loss, "value", z, y) >= -_VALUE_ERROR).all(), "A loss is never negative."
    near = np.abs(z).max(axis=0) <= _NEAR
    z, y, slope = z[:, near], y[near], slope[:, near]
    ways = [rng.normal(size=z.shape) for _ in range(3)]
    ways += [np.eye(len(z))[rng.integers(0, len(z), y.size)].T for _ in range(3)]
    ways.append(np.zeros(z.shape))
    ways[-1][0], ways[-1][1] = 1.0, -1.0
    for way in ways:
        step = _STEP * way / np.sqrt(np.square(way).sum(axis=0))
        above, below = (_called(loss, "value", z + s, y) for s in (step, -step))
        rise = above - below
        expected = 2 * (slope * step).sum(axis=0)
        rounding = 2.0**-48 * (np.abs(above) + np.abs(below) + 1) + 2 * 2.0**-36
        bend = min(facts.smoothness, 4.0) * _STEP**2
        agree = np.abs(rise - expected) <= rounding + bend
        if facts.convex and math.isinf(facts.smoothness) and not agree.all():
            # At a corner, as a tie of classes, what holds of every subgradient of a convex loss;
            # elsewhere that is the slope alone.
            at, half = _called(loss, "value", z, y), expected / 2
            agree |= np.minimum(above - at - half, below - at + half) >= -rounding
        assert agree.all(), (
            "dvalue is not the slope of value: value rises by another amount over a short step."
        )
        turn = _called(loss, "dvalue", z + step, y) - _called(loss, "dvalue", z - step, y)
        turned = np.sqrt(np.square(turn).sum(axis=0))
        assert (turned <= 2 * facts.smoothness * _STEP * (1 + 1e-6) + _ERROR).all(), (
            "dvalue is steeper than the declared smoothness."
        )
        if facts.convex:
            assert ((turn * step).sum(axis=0) >= -_ERROR * _STEP).all(), (
                "dvalue falls along a line: the loss is not convex."
            )
