"""Draws of one release on two exact answers, as numbers that tell the answers apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin.parts import GaussianDpEvent, RandomizedSensitivityGaussian, Sensitivity
from dpcore_lab.outcomes.residuals import Residuals, assert_noise_is_fresh
from dpcore_lab.replay.answers import answer_by

if TYPE_CHECKING:
    from dpcore.plugin.parts import LocalEngine, NoiseSource
    from dpcore_lab.audit.recorded import Release

__all__ = ["Draws"]

_NORMAL = (GaussianDpEvent, RandomizedSensitivityGaussian)
_WHOLE = 2.0**52


class Draws:
    """Draws from a release, one call of its mechanism each, and the residuals of all of them."""

    def __init__(self, release: Release, noise: NoiseSource) -> None:
        self._release, self._noise = release, noise
        self._ends = (release.here, release.there)
        self._engines = release.engines()
        self._residuals: list[np.ndarray] = []

    def __call__(self, pair: int, world: int, first: int, runs: int) -> np.ndarray:
        """Return outcomes on either answer. Of normal noise: in grid steps, from the first answer.
        Of other noise: how much nearer they are to the second answer than to the first, in l1 and
        in l2. Of a selection: how the score of the chosen candidate differs."""
        if self._engines:
            return self._of_tables(self._engines[pair][world], runs)
        release, exact = self._release, self._ends[world]
        drawn = [
            release.mechanism.release(exact.copy(), release.sensitivity, self._noise)
            for _ in range(runs)
        ]
        values = np.array(drawn, dtype=np.float64).reshape(runs, -1)
        here, there = (end.ravel().astype(np.float64) for end in self._ends)
        if release.mechanism.needs == "range":
            return (there - here)[values[:, 0].astype(np.int64)][:, None]
        steps = np.ldexp(values, release.sensitivity.grid_bits)
        self._residuals.append(steps - self._ends[world].ravel())
        if isinstance(release.event, _NORMAL):
            relative: np.ndarray = steps - here
            return relative
        sides = [
            np.linalg.norm(steps - here, ord=order, axis=1)
            - np.linalg.norm(steps - there, ord=order, axis=1)
            for order in (1, 2)
        ]
        return np.stack(sides, axis=1)

    def _of_tables(self, engine: LocalEngine, runs: int) -> np.ndarray:
        """Return outcomes of a table whose answer is worked out anew for each: of a sample, where
        they are from nobody's answer to the row's; else as they are."""
        release, drawn = self._release, []
        for _ in range(runs):
            exact = answer_by(release.query, engine, self._noise)
            drawn.append(release.mechanism.release(exact, release.sensitivity, self._noise).ravel())
        values = np.array(drawn, dtype=np.float64)
        if not hasattr(release.query, "sampled_event"):
            return values
        row = np.ldexp(release.here - release.there, -release.sensitivity.grid_bits).ravel()
        along: np.ndarray = values @ row / max(float(row @ row), 1e-300)
        return along[:, None]

    @property
    def drawn(self) -> int:
        """How many draws there were of noise that is added; 0 of a selection."""
        return sum(len(steps) for steps in self._residuals)

    def fault(self, alarm: float) -> str:
        """Return what is wrong with the noise that was drawn, nothing where it is fresh: exact
        answers, repeated noise, too little of it. An honest one has a fault with probability
        ``alarm`` at most."""
        release = self._release
        if not self._residuals or type(release.sensitivity) is not Sensitivity:
            return ""
        steps = np.concatenate(self._residuals)
        if not np.isfinite(steps).all():
            return "it gave values that are no numbers"  # which no exact answer with noise is
        if not (np.abs(steps) < _WHOLE).all():
            return ""  # floats of that size are coarser than the grid
        reach = float(np.floor(np.ldexp(release.sensitivity.bound, release.sensitivity.grid_bits)))
        try:
            assert_noise_is_fresh([Residuals(steps, release.event, reach)], release.kind, alarm)
        except AssertionError as error:
            return str(error)
        return ""
