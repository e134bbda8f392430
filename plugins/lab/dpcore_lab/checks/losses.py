"""Checks of a loss: row by row to the bit, and its constants."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dpcore.plugin.parts import LossFacts, PrivacyStatement, Table
from dpcore_lab.checks.class_losses import check_class_loss
from dpcore_lab.checks.coverage_text import Tested
from dpcore_lab.checks.curvature import bends_within
from dpcore_lab.checks.guard import require_assertions
from dpcore_lab.checks.memory import (
    USUAL_CALLS,
    assert_alike_in_any_company,
    assert_alike_in_company,
    assert_no_memory,
    assert_not_mixed,
)
from dpcore_lab.made_tables.loss_inputs import LARGEST_BITS, labels_for, margins_of_all_sizes
from dpcore_lab.made_tables.variants import unranged, variants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcore.plugin import Loss

    Kernel = Callable[[np.ndarray, np.ndarray, np.ndarray], None]
    """Margins and labels in, one number a row out, in the last array."""

__all__ = ["check_loss"]

_NEAR = 2.0**14
_FEW = 600
_SLOPE_ERROR = 2.0**-34
"""The most that rounding takes off a slope."""
_VALUE_ERROR = 2.0**-50
"""The most that rounding adds to a value of about 1, or of the terms of about 1 that it is a
difference of, as in r + log1p(exp(-2 r)) - log 2. It is allowed either way, so that a loss may be
this much too steep unnoticed: less than the grid on which sums of values are truncated to 0."""


def check_loss(
    loss: Loss, classes: tuple[int, ...] | None = None, calls: int = USUAL_CALLS
) -> Tested:
    """Raise AssertionError unless the loss is a function of each row alone and keeps its constants.

    It writes on ``out`` only. A full block of 8,192 rows gives the same bits in a permuted, a split
    and single-row calls: a loss that looks at other rows (the mean margin, say) would void every
    sensitivity. So would a loss that mixes overlapping calls, and says that it is thread-safe. Then
    ``|dvalue| <= lipschitz``, the slope of ``dvalue`` at most ``smoothness``, ``dvalue`` against
    finite differences of ``value``, and every fact that its class states
    (``dpcore.registry.tables.losses.LossFacts``). Margins are of every size that the grid allows,
    up to 2^60, and beside powers of two. All but the rows is looked at with other parameters too:
    at the ends of the ranges that its fields state, and at random within. The same margins give
    the same bits after ``calls`` other calls.

    ``classes`` : the numbers of classes of a multiclass loss, 3 to 40 of them by default.
    """
    require_assertions()
    rng = np.random.default_rng(0)
    z, facts = margins_of_all_sizes(rng), LossFacts.of(loss)
    _check_weights(loss, facts)
    if facts.multiclass:
        given = {} if classes is None else {"classes": classes}
        return check_class_loss(loss, facts, calls=calls, **given)
    y = labels_for(loss, z.size, rng)
    by_name = partial(_called_of, loss)
    of_block = labels_for(loss, Table.BLOCK_ROWS, rng), 2 * loss.classification
    assert_alike_in_company(by_name, *of_block)
    assert_alike_in_any_company(by_name, *of_block)
    for function in (loss.value, loss.dvalue):
        _check_row_by_row(function, z, y, rng)
        if facts.thread_safe:
            assert_not_mixed(by_name, function.__name__, z, y)
    assert_no_memory(by_name, z[:_FEW], y[:_FEW], calls, facts.thread_safe)
    if facts.line_totals is not None:
        _check_line(loss, facts.line_totals, z, y)
    _check_bounds(loss, z, y)
    others = _check_variants(loss, z)
    more = f", the bounds also with {others} other values of its parameters" if others else ""
    return Tested(
        f"values and slopes at {z.size} margins of up to 2^{LARGEST_BITS}, either sign, row by "
        f"row, again after {calls} other calls, and what its class states of them{more}",
        "a bound that is exceeded on a tenth of an octave of the margin's size",
        ("what holds between the margins that were tried", *_untested(loss, facts)),
        (
            f"rows 1 to {Table.BLOCK_ROWS:,}",
            f"margins up to 2^{LARGEST_BITS}",
            f"calls 1 to {calls:,}",
            "threads 1 to 4",
        ),
    )


def _check_weights(loss: Loss, facts: LossFacts) -> None:
    """Weights are for the losses that the core wraps: errors of computed slopes are scaled by the
    largest, and pairs of labels and weights are asked of those that read them."""
    if not PrivacyStatement.is_ours(PrivacyStatement.part_of(loss).partition(":")[0]):
        assert facts.largest_weight == 1.0, "It states largest_weight, which dpcore's losses have."
        assert not facts.weighs_rows, "It states weighs_rows, which dpcore's losses have."


def _untested(loss: Loss, facts: LossFacts) -> Iterator[str]:
    if not facts.thread_safe:
        yield "overlapping calls, for which it is not meant"
    if names := unranged(loss):
        yield f"other values of {', '.join(names)}, whose range its class does not state"


def _check_bounds(loss: Loss, z: np.ndarray, y: np.ndarray) -> None:
    """Compare values and slopes with what the loss states of them."""
    facts = LossFacts.of(loss)
    _check_constants(loss, z, y)
    _check_facts(facts, z, y)
    if facts.convex:
        _check_convex(loss, z, y)
    _check_far(loss, facts, z, y)


def _check_variants(loss: Loss, z: np.ndarray) -> int:
    """Check the bounds with other parameters, at margins that are those around each label first;
    return the number of losses."""
    count = 0
    for count, other in enumerate(variants(loss), 1):
        rng = np.random.default_rng(count)
        few = np.concatenate([rng.uniform(-3.5, 3.5, _FEW), rng.choice(z, _FEW, replace=False)])
        values = {f.name: getattr(other, f.name) for f in dataclasses.fields(cast(Any, other))}
        try:
            _check_bounds(other, few, labels_for(other, few.size, rng))
        except AssertionError as error:
            raise AssertionError(f"With {values}: {error}") from None
    return count


def _check_far(loss: Loss, facts: LossFacts, z: np.ndarray, y: np.ndarray) -> None:
    """Compare differences over steps of the margin's own size, and of its last bit, with the
    bounds of slopes: of ``value`` by ``lipschitz`` and, if convex, the slopes at both ends; of
    ``dvalue`` by ``smoothness``."""
    value, slope = _called(loss.value, z, y), _called(loss.dvalue, z, y)
    # A difference of margins is exact where they are within a factor of two of each other.
    wide = z + np.ldexp(np.maximum(np.abs(z), 1.0), -10)
    for after in (wide, np.copysign(np.nextafter(np.abs(z), np.inf), z)):
        gap = after - z
        beyond, steeper = _called(loss.value, after, y), _called(loss.dvalue, after, y)
        rounding = _VALUE_ERROR * (np.abs(value) + np.abs(beyond) + 1.0)
        # A residual is rounded, which moves a loss next to 0 by more than its own last bits.
        steep = np.maximum(np.abs(slope), np.abs(steeper))
        rounding += 2.0**-52 * steep * np.maximum(1.0, np.abs(z))
        rise, size = (beyond - value) * np.sign(gap), np.abs(gap)
        assert (np.abs(rise) <= loss.lipschitz * size * (1 + 1e-9) + rounding).all(), (
            "value changes faster than the declared lipschitz."
        )
        turn = np.abs(steeper - slope)
        slack = _SLOPE_ERROR * 2.0**-16 * np.maximum(1.0, np.abs(slope))
        assert (turn <= loss.smoothness * size * (1 + 1e-9) + slack).all(), (
            "dvalue changes faster than the declared smoothness."
        )
        if facts.convex:
            low, high = np.minimum(slope, steeper) * size, np.maximum(slope, steeper) * size
            allowed = rounding + _SLOPE_ERROR * size * np.maximum(1.0, np.abs(slope))
            assert ((rise >= low - allowed) & (rise <= high + allowed)).all(), (
                "dvalue is not the slope of value: between two margins, value rises by more or "
                "by less than dvalue at either of them allows."
            )


def _check_facts(facts: LossFacts, z: np.ndarray, y: np.ndarray) -> None:
    """Compare what else the class states with values and slopes at the margins."""
    slope = _called(facts.dvalue, z, y)
    if facts.nonincreasing:
        assert (slope * y <= _SLOPE_ERROR).all(), (
            "The loss grows with y z: it is not nonincreasing."
        )
    if facts.radial_slope is not None:
        assert _largest_pull(facts, z, y) <= facts.radial_slope, (
            "-z dvalue exceeds the declared radial_slope."
        )
    if facts.quadratic:
        squares = 0.5 * (z - y) ** 2
        close = np.allclose(_called(facts.value, z, y), squares, rtol=2.0**-40, atol=0.0)
        assert close and np.allclose(slope, z - y, rtol=2.0**-40, atol=0.0), (
            "The loss is declared quadratic and is not (z - y)^2 / 2."
        )
    if facts.self_concordance is not None:
        assert bends_within(facts, y), "It bends faster than the declared self_concordance."
    if facts.precise_dvalue is not None:
        apart = np.abs(_called(facts.precise_dvalue, z, y) - slope) / np.maximum(1, np.abs(slope))
        assert apart.max() <= _SLOPE_ERROR, "precise_dvalue is not dvalue."


def _largest_pull(facts: LossFacts, z: np.ndarray, y: np.ndarray) -> float:
    """Return the largest -z dvalue, less what rounding can add, at the margins and around the one
    where it is largest."""
    for width in (2.0**-8, 2.0**-14, 2.0**-20):
        pulled = -z * _called(facts.dvalue, z, y) - np.abs(z) * _SLOPE_ERROR
        best = int(pulled.argmax())
        around = np.linspace(1 - width, 1 + width, 1001)
        z, y = z[best] * around, np.full(around.size, y[best])
    return float(pulled.max())


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


def _called_of(loss: Loss, name: str, z: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _called(getattr(loss, name), z, y)


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


def _check_convex(loss: Loss, z: np.ndarray, y: np.ndarray) -> None:
    order = np.argsort(z)
    labels = (np.full(z.size, -1.0), np.ones(z.size)) if loss.classification else (y,)
    for label in labels:
        # One label for all: the slope of one row's loss along the margin.
        label = label if loss.classification else np.full(z.size, label[0])
        slopes = _called(loss.dvalue, z[order].copy(), label)
        falls = (np.maximum.accumulate(slopes) - slopes) / np.maximum(1, np.abs(slopes))
        assert falls.max() <= _SLOPE_ERROR, "dvalue falls with the margin: the loss is not convex."


def _check_constants(loss: Loss, z: np.ndarray, y: np.ndarray) -> None:
    """Compare values and slopes with the bounds, and, at margins that a step of 1e-4 moves, with
    each other."""
    slope = _called(loss.dvalue, z, y)
    assert (np.abs(slope) <= loss.lipschitz).all(), "|dvalue| exceeds the declared lipschitz."
    values = _called(loss.value, z, y)
    assert (values >= -_VALUE_ERROR).all(), "A loss is never negative."
    h, near = 1e-4, np.abs(z) <= _NEAR
    z, y, slope, values = z[near], y[near], slope[near], values[near]
    above, below = _called(loss.value, z + h, y), _called(loss.value, z - h, y)
    # Rounding of the values, divided by the step, and one kink or the curvature within the step.
    tolerance = 1e-3 + 4 * np.finfo(float).eps * np.abs(values) / h
    kinked = not math.isfinite(loss.smoothness)
    tolerance += 0.0 if kinked else loss.smoothness * h
    wrong = np.abs((above - below) / (2 * h) - slope) > tolerance
    near_kink = np.abs(_called(loss.dvalue, z + h, y) - _called(loss.dvalue, z - h, y)) > 0.1
    assert not (wrong & ~(near_kink & kinked)).any(), "dvalue is not the slope of value."
    if not kinked:
        change = np.abs(_called(loss.dvalue, z + h, y) - _called(loss.dvalue, z - h, y)) / (2 * h)
        noise = 4 * np.finfo(float).eps * (1 + np.abs(slope)) / h
        assert (change <= loss.smoothness * (1 + 1e-6) + noise).all(), (
            "dvalue is steeper than the declared smoothness."
        )
