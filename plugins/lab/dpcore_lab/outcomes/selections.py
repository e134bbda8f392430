"""The audit of selections: on neighbours, and by themselves."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import NeighboringRelation
from dpcore_lab.outcomes.distinguish import halves, most_telling, scores_by_codes
from dpcore_lab.outcomes.far import far_cases, groups_of
from dpcore_lab.outcomes.frequencies import assert_as_private_as, intervals
from dpcore_lab.outcomes.settings import BOUND, Case, Setting, draw

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SELECTIONS", "audit_contenders", "audit_far_selection", "audit_selection"]

_PARTS = 4
_FEW_DRAWS = 300
_BEHIND, _MOST_BEHIND = 64, 1 << 60
"""Of the noise multiplier, how many sensitivities all others are behind two; and in steps."""
_ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
SELECTIONS = (
    Setting(1.25, 1.25, 10, 2, 4000, relation=_ADD, spread=1.0),
    Setting(1.25, 1.25, 10, 16, 4000),
    Setting(0.3, 0.6, 20, 5, 1500, bound=3 * 2.0**-8, relation=_ADD, spread=1.5),
    Setting(8.0, 24.0, 0, 3, 800),
    Setting(0.2, 0.3, 40, 300, 600, bound=192.75),
    Setting(100.0, 1000.0, 20, 300, 400, relation=_ADD),
)


def audit_selection(case: Case, seed: int, alarm: float) -> None:
    """Raise AssertionError if selections on neighbours contradict the event.

    Utilities are equal, and neighbours move the first up and the others down, or the other way; or
    every other candidate is ahead, and the first moves up. Sets of outcomes are the first
    candidate, and what half of the draws find by how often each candidate came up. Of equal
    utilities no candidate is chosen far more often than the others, and a selection does not go by
    the one before.
    """
    size, name = case.setting.size, type(case.mechanism).__name__
    steps = _steps(case)
    ahead = np.where(np.arange(size) % 2 == 1, 2 * steps, 0)
    pairs: list[tuple[np.ndarray, np.ndarray]] = []
    for k, base in enumerate((np.zeros(size, dtype=np.int64), ahead)):
        here = _choices(case, base, seed + 10 * k)
        if k == 0:
            _assert_even_and_fresh(here, size, alarm / 4)
        for j, sign in enumerate((1, -1) if k == 0 else (1,)):
            there = _choices(case, base + _moves(size, sign * steps), seed + 10 * k + 1 + j)
            pairs += _sets(case, here, there)
    assert_as_private_as(case.event, pairs, name, alarm / 2)


def audit_far_selection(case: Case, seed: int, alarm: float) -> None:
    """Raise AssertionError if selections among utilities that are many sensitivities apart
    contradict the event (``dpcore_lab.outcomes.far``)."""
    far, size = far_cases(case), case.setting.size
    for k, apart in far:
        here = _choices(apart, np.zeros(size, dtype=np.int64), seed + 40)
        there = _choices(apart, _moves(size, k * _steps(case)), seed + 41)
        name = f"{type(case.mechanism).__name__}, at utilities {k} sensitivities apart"
        pairs = list(_sets(apart, here, there))
        assert_as_private_as(apart.event, pairs, name, alarm / len(far))


def audit_contenders(case: Case, seed: int, alarm: float) -> None:
    """Raise AssertionError if selections between two candidates, far ahead of all others,
    contradict the event: of each end, within, and beside each other. One of the two moves up and
    the other down, by as many sensitivities as the noise covers (``dpcore_lab.outcomes.far``)."""
    few = replace(case.setting, draws=min(_FEW_DRAWS, case.setting.draws))
    case, size, steps = replace(case, setting=few), few.size, _steps(case)
    multiplier = float(case.mechanism.noise_multiplier)
    groups = groups_of(case.event, {max(1, round(multiplier)), 1})
    apart, event = max(groups, key=lambda group: group[0])
    behind = min(steps * math.ceil(_BEHIND * max(1.0, multiplier)), _MOST_BEHIND)
    middle = size // 2
    pairs = {(0, size - 1), (middle, size - 1), (size - 2, size - 1), (middle - 1, middle)}
    for k, (one, other) in enumerate(sorted(pair for pair in pairs if pair[0] < pair[1])):
        base = np.full(size, -behind)
        base[[one, other]] = 0
        here = _choices(case, base, seed + 60 + 3 * k)[:, None] == one
        for j, up in enumerate((one, other)):
            moved = base - apart * steps
            moved[up] += 2 * apart * steps
            there = _choices(case, moved, seed + 61 + 3 * k + j)[:, None] == one
            name = f"{type(case.mechanism).__name__}, between two candidates far ahead"
            assert_as_private_as(event, [(here, there)], name, alarm / (2 * len(pairs)))


def _steps(case: Case) -> int:
    """Return by how much each utility moves between neighbours, half the range of the change."""
    if case.sensitivity.change_range is None:
        return int(BOUND * 2**case.sensitivity.grid_bits)
    return int(case.sensitivity.change_range / 2 * 2**case.sensitivity.grid_bits)


def _moves(size: int, steps: int) -> np.ndarray:
    moves = np.full(size, -steps, dtype=np.int64)
    moves[0] = steps
    return moves


def _sets(
    case: Case, here: np.ndarray, there: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    yield here[:, None] == 0, there[:, None] == 0
    yield most_telling(case.event, *scores_by_codes(here[:, None], there[:, None]))


def _choices(case: Case, utilities: np.ndarray, seed: int) -> np.ndarray:
    drawn = draw(case, np.broadcast_to(utilities, (case.setting.draws, utilities.size)), seed)
    assert drawn.ndim == 1 and np.issubdtype(drawn.dtype, np.integer), "A selection is an int."
    assert drawn.min() >= 0 and drawn.max() < utilities.size, "A selected index is out of range."
    return drawn.astype(np.int64)


def _assert_even_and_fresh(drawn: np.ndarray, size: int, alarm: float) -> None:
    # Of many candidates each comes up rarely: a part of them, side by side, does not.
    for parts in {size, min(size, _PARTS)}:
        of_each = np.bincount(np.arange(size) * parts // size)
        counts = np.bincount(drawn * parts // size, minlength=parts)
        low, high = intervals(counts, drawn.size, alarm / (8 * parts))
        share = of_each / size
        assert (4 * high >= share).all() and (low <= 4 * share).all(), (
            "Among equal utilities it does not select all alike: no noise, or not for all."
        )
    # Independent selections agree as often with the next as with one much later.
    first, second = halves(drawn)
    near = drawn[: 2 * (drawn.size // 2)].reshape(-1, 2)
    agree = np.array([(near[:, 0] == near[:, 1]).sum(), (first == second[: first.size]).sum()])
    low, high = intervals(agree, first.size, alarm / 8)
    assert low[0] <= high[1] and low[1] <= high[0], (
        "A selection goes by the one before: its noise is not drawn afresh."
    )
