"""Checks of a mechanism: the event it states against the law it draws, as a black box."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import DpcoreError
from dpcore.noise.source import SeededNoise
from dpcore.privacy.sensitivity import NeighboringRelation, Sensitivity
from dpcore.testing.audit import assert_as_private_as
from dpcore.testing.guard import require_assertions
from dpcore.testing.recount import renyi_divergence

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.protocols import Mechanism

__all__ = ["check_mechanism"]

_DRAWS = 4000
_MULTIPLIER = 1.25
"""Not 1, at which noise divided by the multiplier would be noise multiplied by it."""

_BITS, _BOUND = 10, 3.0
_STEPS = int(_BOUND * 2**_BITS)
_BASE = np.array([0, 5000, -70000, 2**40], dtype=np.int64)
_THRESHOLDS = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])
"""Coarse bins of an additive release, in multiples of the neighbours' distance."""


def check_mechanism(
    mechanism: Callable[[float], Mechanism], sensitivity: Sensitivity | None = None
) -> None:
    """Raise AssertionError unless the noise that is drawn bears out the event that is stated.

    ``mechanism`` : the class, or what else makes one from a noise multiplier. It refuses a
    sensitivity without its figure; more noise costs less; every draw comes from the noise source,
    afresh; and between neighbours at the declared sensitivity no outcome's frequency moves by more
    than the event allows, in 4,000 draws each (``dpcore.testing.audit``, where the rate of false
    alarms is stated). A fault that shows only in rarer outcomes passes.

    ``sensitivity`` : of a run. If it is of a class of its own, for which the mechanism may refuse
    any other, the audit is of that one, at the figure that the mechanism says its noise is for:
    the rest of the cost is the query's, and its audit is of both together.
    """
    require_assertions()
    needs = mechanism(_MULTIPLIER).needs
    assert needs in ("l2", "l1", "range"), f"needs={needs!r} is not l2, l1 or range."
    _check_refusals(mechanism, needs)
    own = sensitivity is not None and type(sensitivity) is not Sensitivity
    audited = sensitivity if sensitivity is not None and own else _sensitivity(needs)
    _check_more_noise_costs_less(mechanism, audited)
    made: Any = mechanism(_MULTIPLIER)
    if needs == "range":
        _check_selection(made, audited)
    else:
        _check_additive(made, audited, made.figure(audited) if own else _BOUND)


def _sensitivity(needs: Any, norm: Any = None) -> Sensitivity:
    """Return the sensitivity of the audit; scores move by the bound, one up and the others down."""
    change_range = 2 * _BOUND if needs == "range" else None
    norm = norm or ("linf" if needs == "range" else needs)
    return Sensitivity(norm, _BOUND, NeighboringRelation.REPLACE_ONE, _BITS, change_range)


def _check_refusals(mechanism: Callable[[float], Mechanism], needs: str) -> None:
    for norm in {"l2", "l1", "linf"} - {needs}:
        try:
            mechanism(_MULTIPLIER).event(_sensitivity(None, norm))
        except DpcoreError:
            continue
        raise AssertionError(f"It needs {needs} and accepts an {norm} sensitivity.")
    for multiplier in (math.nan, math.inf, 0.0, -1.0):
        try:
            mechanism(multiplier).event(_sensitivity(needs))
        except (DpcoreError, ValueError):
            continue
        raise AssertionError(f"noise_multiplier={multiplier} was accepted.")


def _check_more_noise_costs_less(
    mechanism: Callable[[float], Mechanism], sensitivity: Sensitivity
) -> None:
    events = [mechanism(m).event(sensitivity) for m in (0.5, 1.0, 2.0, 4.0)]
    costs = [renyi_divergence(event, 2.0) for event in events]
    assert all(a > b for a, b in zip(costs, costs[1:], strict=False)), (
        "A larger noise_multiplier does not cost less."
    )


def _draw(
    mechanism: Mechanism, exact: np.ndarray, sensitivity: Sensitivity, seed: int, n: int = _DRAWS
) -> np.ndarray:
    noise = SeededNoise(seed)
    return np.array([mechanism.release(exact.copy(), sensitivity, noise) for _ in range(n)])


def _check_repeatable(mechanism: Mechanism, exact: np.ndarray, sensitivity: Sensitivity) -> None:
    first, second = (_draw(mechanism, exact, sensitivity, seed=3, n=50) for _ in range(2))
    assert np.array_equal(first, second), "Noise is drawn from elsewhere than the noise source."


def _check_additive(mechanism: Mechanism, sensitivity: Sensitivity, distance: float) -> None:
    _check_repeatable(mechanism, _BASE, sensitivity)
    here = _draw_steps(mechanism, _BASE, sensitivity, seed=0)
    fresh = (here[1:] != here[:-1]).mean(axis=0)
    assert (fresh > 0.5).all(), "Releases of one answer with fresh noise are alike: no noise."
    # All on one coordinate; and spread over all with signs, which noise shared by them cannot hide.
    steps = math.floor(math.ldexp(distance, sensitivity.grid_bits))
    share = steps // 2 if sensitivity.norm == "l2" else steps // 4
    pairs = []
    for seed, change in enumerate(([steps, 0, 0, 0], [share, -share, share, -share]), start=1):
        move = np.array(change, dtype=np.int64)
        there = _draw_steps(mechanism, _BASE + move, sensitivity, seed)
        edges = _THRESHOLDS * np.abs(move).sum()
        moved, still = (((s - _BASE) @ np.sign(move))[:, None] >= edges for s in (there, here))
        pairs.append((still, moved))
    event = mechanism.event(sensitivity)
    assert_as_private_as(event, pairs, type(mechanism).__name__)


def _draw_steps(
    mechanism: Mechanism, exact: np.ndarray, sensitivity: Sensitivity, seed: int
) -> np.ndarray:
    """Return releases in steps of the grid, float64 of shape (n_draws, n_coordinates)."""
    drawn = _draw(mechanism, exact, sensitivity, seed)
    assert drawn.dtype == np.float64 and drawn.shape[1:] == exact.shape, (
        "A noisy sum is a float64 array of the exact answer's shape."
    )
    steps = np.ldexp(drawn, sensitivity.grid_bits)
    # Mironov 2012: which floats can occur tells the exact answer, however large the noise.
    assert (steps == np.rint(steps)).all(), "A release is not on the grid of the answer."
    return steps


def _check_selection(mechanism: Mechanism, sensitivity: Sensitivity) -> None:
    _check_repeatable(mechanism, np.zeros(16, dtype=np.int64), sensitivity)
    level = {k: _choices(mechanism, _scores(k, 0), sensitivity, seed=k) for k in (2, 5, 16)}
    counts = np.bincount(level[16], minlength=16)
    assert (4 * counts >= _DRAWS / 16).all() and (counts <= 4 * _DRAWS / 16).all(), (
        "Among equal utilities it does not select all alike: no noise."
    )
    pairs = []
    for seed, (k, sign) in enumerate([(2, 1), (5, -1), (16, 1), (16, -1)], start=20):
        there = _choices(mechanism, _scores(k, sign), sensitivity, seed)
        pairs.append((level[k][:, None] == 0, there[:, None] == 0))
    assert_as_private_as(mechanism.event(sensitivity), pairs, type(mechanism).__name__)


def _scores(k: int, sign: int) -> np.ndarray:
    """Return the utilities of k candidates, the first moved by the bound and the others against."""
    scores = np.full(k, -sign * _STEPS, dtype=np.int64)
    scores[0] = sign * _STEPS
    return scores


def _choices(
    mechanism: Mechanism, scores: np.ndarray, sensitivity: Sensitivity, seed: int
) -> np.ndarray:
    drawn = _draw(mechanism, scores, sensitivity, seed)
    assert drawn.ndim == 1 and np.issubdtype(drawn.dtype, np.integer), "A selection is an int."
    assert drawn.min() >= 0 and drawn.max() < scores.size, "A selected index is out of range."
    return drawn
