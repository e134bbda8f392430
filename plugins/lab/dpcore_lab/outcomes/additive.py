"""The audit of additive noise: on neighbours, near and far, and by itself."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import NeighboringRelation
from dpcore_lab.outcomes.distinguish import (
    halves,
    most_telling,
    scores_by_codes,
    scores_by_line,
    size_codes,
    zero_bits,
)
from dpcore_lab.outcomes.far import far_cases
from dpcore_lab.outcomes.frequencies import assert_as_private_as
from dpcore_lab.outcomes.residuals import Residuals
from dpcore_lab.outcomes.settings import Case, Setting, draw

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ADDITIVE", "audit_additive", "audit_bases", "audit_far", "special_answers"]

_ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
ADDITIVE = (
    Setting(1.25, 1.25, 40, 4, 2500),
    Setting(0.4, 0.7, 35, 2, 4000, bound=192.75, relation=_ADD),
    Setting(0.6, 1.0, 10, 5, 2000, bound=3 * 2.0**-8),
    Setting(8.0, 24.0, 0, 1, 1000, relation=_ADD),
    Setting(0.35, 0.45, 0, 4, 400, bound=1.0),
    Setting(1.93, 1.98, 0, 1, 3000, bound=1.0),
    Setting(16.0, 32.0, 40, 64, 300, columns=8),
    Setting(1.0, 4.0, 40, 12_000, 4, bound=48.25),
    Setting(100.0, 3000.0, 30, 3, 300),
    Setting(1.0, 4.0, 40, 70_000, 2, bound=48.25, relation=_ADD),
)
"""The first multiplier is not 1, at which noise divided by it would be noise multiplied by it. With
the second, two coordinates at half the sensitivity each are where noise that is right coordinate by
coordinate costs most together. Just below two steps noise of a whole number of steps is too small.
The last is of more deviates than a buffer of 2^16 has."""

_FAR = 1 << 44
_THRESHOLDS = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])
"""Coarse bins along the shift, in multiples of it."""
_RUN = 4
"""So many releases in a row are looked at together; the last alone is moved."""
_DRAWS_AT_A_BASE, _FEWEST_AT_A_BASE = 300, 2
_DEVIATES_AT_A_BASE, _FEW_DRAWS = 1 << 16, 20
_MOST_BITS = 50
"""Counts of all rows are below 2^50 steps, so that floats hold them and the noise."""
_FEWEST = 100
"""Fewer draws than this say nothing about frequencies."""

Pair = tuple[np.ndarray, np.ndarray]


def audit_additive(case: Case, distance: float, seed: int, alarm: float) -> list[Residuals]:
    """Raise AssertionError if outcomes on neighbours contradict the event; return the residuals.

    ``distance`` : how far apart neighbours are, in the answer's unit, by the sensitivity's norm.
    Answers are drawn anew for every release. Sets of outcomes are half-spaces along the shift, and
    those that half of the draws find: by Fisher's line over coordinates, and over the coordinates
    of four releases in a row; by the sum of log-ratios of the coordinates' sizes; by their last
    bits. One shift is of the coordinate that the others tell most of, or that has the least noise;
    another is spread over all.
    """
    rng = np.random.default_rng(seed)
    steps = max(1, math.floor(math.ldexp(distance, case.sensitivity.grid_bits)))
    name = type(case.mechanism).__name__
    here = _noise_of(case, rng, np.zeros(case.setting.size, dtype=np.int64), seed)
    _assert_fresh_and_on_grid(here, steps)
    residuals = [here]
    if not case.known:
        return []
    if case.setting.draws >= _FEWEST:
        pairs: list[Pair] = []
        for k, shift in enumerate(_shifts(case, halves(here)[0], steps, rng)):
            there = _noise_of(case, rng, shift, seed + 1 + k)
            residuals.append(there)
            pairs += _sets(case, here, there + shift, shift)
        in_a_row = np.zeros((_RUN, case.setting.size), dtype=np.int64)
        if in_a_row.size <= 20:
            in_a_row[-1, -1] = steps
            runs = _noise_of(case, rng, in_a_row, seed + 9)
            residuals.append(runs)
            pairs += _in_a_row(case, here, runs, in_a_row)
        assert_as_private_as(case.event, pairs, name, alarm)
    return [Residuals(np.concatenate(residuals), case.event, float(steps))]


def audit_bases(
    case: Case, distance: float, seed: int, alarm: float, rows: int = 1 << 20, few: bool = False
) -> list[Residuals]:
    """Return the residuals; raise AssertionError if outcomes on neighbours contradict the event
    where the answer is special. It is all zeros, or some; a step from zero; small counts, or
    negative ones; all coordinates alike, or counts of all ``rows``; a sensitivity in one of them or
    in each, with either sign. The first coordinate moves up. ``few`` : zeros and some zeros alone,
    in few draws."""
    if not case.known:
        return []
    size = case.setting.size
    steps = max(1, math.floor(math.ldexp(distance, case.sensitivity.grid_bits)))
    shift = np.zeros(size, dtype=np.int64)
    shift[0] = steps
    draws = max(_FEWEST_AT_A_BASE, min(_DRAWS_AT_A_BASE, _DEVIATES_AT_A_BASE // size))
    draws = min(draws, _FEW_DRAWS) if few else draws
    small = replace(case, setting=replace(case.setting, draws=draws))
    pairs: list[Pair] = []
    found: list[np.ndarray] = []
    bases = special_answers(case, steps, rows, np.random.default_rng(seed))
    for k, base in enumerate(islice(bases, 2 if few else None)):
        answers = np.broadcast_to(base, (draws, size))
        here = _noise_around(small, answers, 0 * shift, seed + 20 + 2 * k)
        there = _noise_around(small, answers, shift, seed + 21 + 2 * k)
        found += [here, there]
        if draws >= _FEWEST:
            pairs += _sets_by_coordinate(case, here, there + shift, shift)
    if pairs:
        assert_as_private_as(case.event, pairs, type(case.mechanism).__name__, alarm)
    return [Residuals(np.concatenate(found), case.event, float(steps))]


def special_answers(
    case: Case, steps: int, rows: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield answers that noise might be fitted to, in steps: those of ``audit_bases``."""
    bits, size = case.sensitivity.grid_bits, case.setting.size
    nothing = np.zeros(size, dtype=np.int64)
    counts = rng.integers(0, 4, size) << bits
    counts[0] = 0
    negative = -counts - (1 << bits)
    negative[0] = -steps
    sparse = np.where(np.arange(size) % 2 == 0, 0, rng.integers(-_FAR, _FAR, size))
    yield from (nothing, sparse, nothing + 1, counts, negative, nothing + _FAR)
    yield nothing + (rows << min(bits, _MOST_BITS - rows.bit_length()))
    yield nothing - _FAR
    yield steps * np.where(np.arange(size) % 2, -1, 1)
    yield np.where(np.arange(size) == 0, steps, 0)


def audit_far(case: Case, distance: float, seed: int, alarm: float) -> None:
    """Raise AssertionError if outcomes on answers that are many sensitivities apart contradict the
    event (``dpcore_lab.outcomes.far``)."""
    far, size = far_cases(case), case.setting.size
    steps = max(1, math.floor(math.ldexp(distance, case.sensitivity.grid_bits)))
    rng, shift = np.random.default_rng(seed), np.zeros(size, dtype=np.int64)
    for k, apart in far:
        shift[0] = min(k * steps, _FAR << 10)
        here = _noise_of(apart, rng, 0 * shift, seed + 40)
        there = _noise_of(apart, rng, shift, seed + 41)
        pairs = list(_sets_by_coordinate(apart, here, there + shift, shift))
        name = f"{type(case.mechanism).__name__}, at answers {k} sensitivities apart"
        assert_as_private_as(apart.event, pairs, name, alarm / len(far))


def _assert_fresh_and_on_grid(noise: np.ndarray, steps: int) -> None:
    """Raise AssertionError for releases whose noise is mostly that of the one before, or that are
    off the grid: which floats can occur tells the exact answer (Mironov 2012)."""
    assert (noise == np.rint(noise)).all(), "A release is not on the grid of the answer."
    if steps == 1:  # noise of less than a step is often none
        return
    fresh = (noise[1:] != noise[:-1]).any(axis=1)
    assert fresh.mean() > 0.5, (
        "Releases differ from the exact answer alike under other noise: no noise is added, or what "
        "was drawn before."
    )


def _noise_of(case: Case, rng: np.random.Generator, shift: np.ndarray, seed: int) -> np.ndarray:
    """Return what is released minus the answer, in steps of the grid: float64 of shape (n_draws,
    size). Every answer is one at random plus the ``shift``; rows of a shift take turns."""
    base = rng.integers(-_FAR, _FAR, (case.setting.draws, case.setting.size))
    return _noise_around(case, base, shift, seed)


def _noise_around(case: Case, base: np.ndarray, shift: np.ndarray, seed: int) -> np.ndarray:
    moved = base + np.resize(shift, base.shape)
    drawn: np.ndarray = draw(case, moved, seed)
    assert drawn.dtype == np.float64 and drawn.shape == moved.shape, (
        "A noisy sum is a float64 array of the exact answer's shape."
    )
    steps: np.ndarray = np.ldexp(drawn, case.sensitivity.grid_bits) - moved
    return steps


def _shifts(
    case: Case, learned: np.ndarray, steps: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield shifts to neighbours, odd numbers of steps, which no lattice of even ones has."""
    size = learned.shape[1]
    one = np.zeros(size, dtype=np.int64)
    one[_most_exposed(learned)] = _odd(steps)
    yield one
    if size > 1:
        of_each = {"l2": math.isqrt(steps * steps // size), "l1": steps // size, "linf": steps}
        share = _odd(of_each[case.sensitivity.norm])
        if share:
            yield share * rng.permutation(np.resize([1, -1], size))


def _odd(steps: int) -> int:
    return steps - (steps + 1) % 2 if steps else 0


def _most_exposed(learned: np.ndarray) -> int:
    """Return the coordinate whose noise has the least variance, given all others'."""
    size = learned.shape[1]
    covariance = np.cov(learned, rowvar=False).reshape(size, size)
    variance = np.maximum(np.diag(covariance), 1e-300)
    return int(np.argmax(np.diag(np.linalg.inv(covariance + 1e-9 * np.diag(variance)))))


def _sets(case: Case, here: np.ndarray, there: np.ndarray, shift: np.ndarray) -> Iterator[Pair]:
    """Yield sets of outcomes, as which draws of either neighbour fell into them."""
    yield most_telling(case.event, *scores_by_line(here, there, shift.astype(float)))
    yield from _sets_by_coordinate(case, here, there, shift)


def _sets_by_coordinate(
    case: Case, here: np.ndarray, there: np.ndarray, shift: np.ndarray
) -> Iterator[Pair]:
    edges = _THRESHOLDS * np.abs(shift).sum()
    along = [(steps @ np.sign(shift))[:, None] >= edges for steps in (here, there)]
    yield along[0], along[1]
    moved = np.flatnonzero(shift)
    signed = [steps[:, moved] * np.sign(shift[moved]) for steps in (here, there)]
    reach = float(np.abs(shift).max())
    width = max(reach / 4, float(np.quantile(np.abs(signed[0]), 0.99)) / 48)
    codes = [size_codes(steps, width, shift[moved] < 0) for steps in signed]
    yield most_telling(case.event, *scores_by_codes(*codes))
    yield most_telling(case.event, *scores_by_codes(*map(zero_bits, signed)))


def _in_a_row(case: Case, here: np.ndarray, runs: np.ndarray, shift: np.ndarray) -> Iterator[Pair]:
    """Yield sets of outcomes of several releases, which cost one: the others are of one answer."""
    flat = shift.ravel()
    count = len(here) // _RUN
    still = here[: count * _RUN].reshape(count, flat.size)
    moved = runs[: count * _RUN].reshape(count, flat.size) + flat
    yield most_telling(case.event, *scores_by_line(still, moved, flat.astype(float)))
