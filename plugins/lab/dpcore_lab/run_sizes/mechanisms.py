"""Noise at the scales and sizes of a run: as many coordinates, multipliers and deviates."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import DpcoreError
from dpcore.plugin.parts import Sensitivity
from dpcore_lab.checks.coverage_text import Tested
from dpcore_lab.checks.mechanisms import assert_repeatable, ranges_of
from dpcore_lab.outcomes.additive import (
    audit_additive,
    audit_bases,
    audit_far,
    special_answers,
)
from dpcore_lab.outcomes.residuals import Residuals, assert_noise_is_fresh
from dpcore_lab.outcomes.selections import (
    audit_contenders,
    audit_far_selection,
    audit_selection,
)
from dpcore_lab.outcomes.settings import Case, Setting, standard_sensitivity
from dpcore_lab.outcomes.spread import audit_spread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcore.plugin.parts import DpEvent, Mechanism
    from dpcore_lab.replay.recording import RecordingSession

__all__ = ["Scale", "check_mechanism_of_run", "scales_of"]

_ALARM = 1e-7
_DEVIATES = 1 << 17
"""Deviates that are drawn for a case, about: more than a run or a careless buffer has."""
_MOST_DRAWS, _LEAST_DRAWS = 2000, 4
_MOST_CASES = 3
_GRIDS = (40, 30, 20, 10, 0)
"""Bits of the grids that are tried with a sensitivity that is none of the run's."""
_SEED = 24
_SECONDS, _OF_SPECIAL = 1.0, 0.3
"""Of a processor, for which the spread of noise is looked at: on any answers, on a special one."""


@dataclass(frozen=True)
class Scale:
    """The noise of a release: its multiplier, its sensitivity, the shape of the answer, and of how
    many deviates in all the run draws."""

    multiplier: float
    sensitivity: Sensitivity
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return max(1, math.prod(self.shape))


def scales_of(session: RecordingSession, kind: type | None = None) -> list[Scale]:
    """Return the noise of a recorded run's releases, each once; ``kind`` : by this mechanism."""
    found: dict[tuple[Any, ...], Scale] = {}
    for record, (_, mechanism) in zip(session.records, session.parts, strict=False):
        known, multiplier = record.sensitivity, getattr(mechanism, "noise_multiplier", None)
        if kind not in (None, type(mechanism)):
            continue
        if multiplier is not None and hasattr(mechanism, "release"):
            scale = Scale(float(multiplier), known, record.exact.shape)
            found.setdefault((scale.shape, scale.multiplier, known.norm, known.bound), scale)
    return list(found.values())


def some_scales(scales: Sequence[Scale]) -> list[Scale]:
    """Return a few: the least and the most noise, the widest answers, the most of them."""
    by_noise = sorted(scales, key=lambda scale: scale.multiplier)
    by_size = sorted(scales, key=lambda scale: scale.size)
    chosen = [*by_noise[:1], *by_noise[-1:], *by_size[-1:], *by_size[:1], *scales]
    return list(dict.fromkeys(chosen))[:_MOST_CASES]


def check_mechanism_of_run(
    make: Callable[[float], Mechanism], scales: Sequence[Scale], rows: int
) -> Tested:
    """Raise AssertionError unless the noise bears out its event at the multipliers, sensitivities
    and sizes of a run.

    ``make`` : returns the mechanism of a noise multiplier. Of ``scales`` those are taken whose
    sensitivity it accepts; where there is none, their multipliers and sizes with a sensitivity of
    its own norm. ``rows`` : of the run, which counts may be. An honest mechanism fails with
    probability 1e-7.
    """
    cases = [case for scale in some_scales(scales) if (case := _case(make, scale)) is not None]
    if not cases:
        cases = [c for scale in some_scales(scales) if (c := _case(make, scale, True)) is not None]
    assert cases, "It refuses every sensitivity of the run."
    alarm, residuals = _ALARM / (6 * len(cases)), []
    for k, case in enumerate(cases):
        seed = _SEED + 100 * k
        assert_repeatable(case)
        if case.mechanism.needs == "range":
            if case.known:
                audit_selection(case, seed, alarm)
                audit_far_selection(case, seed, alarm)
                audit_contenders(case, seed, alarm)
            continue
        distance = _distance(case)
        residuals += audit_additive(case, distance, seed, alarm)
        residuals += audit_bases(case, distance, seed, alarm, rows)
        audit_far(case, distance, seed, alarm)
    name = type(cases[0].mechanism).__name__
    assert_noise_is_fresh(residuals, name, _ALARM / 4)
    for k, case in enumerate(cases):
        if case.mechanism.needs != "range":
            _audit_spread(case, _distance(case), _SEED + 100 * k, alarm, rows)
    left = ("outcomes too rare for these sets",)
    return Tested(_words(cases, residuals), not_tested=left, ranges=ranges_of(cases))


def _audit_spread(case: Case, distance: float, seed: int, alarm: float, rows: int) -> None:
    """Look at the spread of noise on answers of any kind, and on each special one."""
    steps = max(1, math.floor(math.ldexp(distance, case.sensitivity.grid_bits)))
    bases = [*special_answers(case, steps, rows, np.random.default_rng(seed))]
    for k, base in enumerate((None, *bases)):
        seconds = _OF_SPECIAL if k else _SECONDS
        audit_spread(case, distance, base, seed + 60 + k, alarm / (1 + len(bases)), seconds)


def _case(make: Any, scale: Scale, own_norm: bool = False) -> Case | None:
    mechanism: Any = make(scale.multiplier)
    if getattr(mechanism, "scalar_only", False) and scale.size > 1:
        return None
    usual = standard_sensitivity(mechanism.needs)
    grids = scale.sensitivity.grid_bits, *_GRIDS
    tried = [replace(usual, grid_bits=bits) for bits in grids] if own_norm else [scale.sensitivity]
    for known in tried:
        try:
            return _case_of(make, mechanism, scale, known, mechanism.event(known))
        except DpcoreError:
            continue
    return None


def _case_of(make: Any, mechanism: Any, scale: Scale, known: Sensitivity, event: DpEvent) -> Case:
    draws = max(_LEAST_DRAWS, min(_MOST_DRAWS, _DEVIATES // scale.size))
    columns = scale.shape[-1] if len(scale.shape) == 2 else 0
    setting = Setting(
        scale.multiplier, scale.multiplier, known.grid_bits, scale.size, draws, known.bound,
        known.relation, columns=columns,
    )  # fmt: skip
    return Case(setting, make, mechanism, known, event)


def _distance(case: Case) -> float:
    if type(case.sensitivity) is Sensitivity:
        return case.sensitivity.bound
    return float(case.mechanism.bound_of(case.sensitivity))


def _words(cases: list[Case], residuals: list[Residuals]) -> str:
    multipliers = [case.setting.least for case in cases]
    sizes = [case.setting.size for case in cases]
    deviates = sum(each.steps.size for each in residuals)
    drawn = f", {deviates:,} deviates in all" if deviates else ""
    return (
        f"noise multipliers of {min(multipliers):.4g} to {max(multipliers):.4g}, answers of "
        f"{min(sizes):,} to {max(sizes):,} coordinates{drawn}"
    )
