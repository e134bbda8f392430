"""Checks of a mechanism: the event it states against the distribution it draws, as a black box."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin.parts import Sensitivity
from dpcore_lab.checks.coverage_text import Tested
from dpcore_lab.checks.guard import require_assertions, require_frozen
from dpcore_lab.outcomes.additive import ADDITIVE, audit_additive, audit_bases, audit_far
from dpcore_lab.outcomes.frequencies import largest_probability
from dpcore_lab.outcomes.power import PROBABILITY, detectable_factor
from dpcore_lab.outcomes.residuals import Residuals, assert_noise_is_fresh, faults_found
from dpcore_lab.outcomes.selections import (
    SELECTIONS,
    audit_contenders,
    audit_far_selection,
    audit_selection,
)
from dpcore_lab.outcomes.settings import Case, Setting, draw, open_case, standard_sensitivity
from dpcore_lab.outcomes.spread import audit_spread
from dpcore_lab.recount.ledger import renyi_divergence

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dpcore.plugin.parts import DpEvent, Mechanism

__all__ = ["assert_repeatable", "check_mechanism", "ranges_of"]

_ALARM = 1e-7
"""The chance, over the noise, that an honest mechanism fails: all its tests together."""

_FEW = 10
"""Fewer releases than this are looked at by themselves too."""
_MULTIPLIER = 1.25
_REPEATED = 1 << 12
"""Deviates, about, that are drawn twice."""
_SEED = 14
_SECONDS = 0.2
"""Of a processor, for which the spread of noise is looked at in each setting."""


def check_mechanism(
    mechanism: Callable[[float], Mechanism],
    sensitivity: Sensitivity | None = None,
    most_coordinates: int | None = None,
) -> Tested:
    """Raise AssertionError unless the noise that is drawn bears out the event that is stated.

    ``mechanism`` : the class, or what else makes one from a noise multiplier. It refuses a
    sensitivity without its bound; more noise costs less; every draw comes from the noise source,
    afresh; and between neighbours at the declared sensitivity no outcome's frequency moves by more
    than the event allows (``outcomes/frequencies.py``), at little and at much noise, on coarse and
    fine grids, at sensitivities from 3/256 to 192.75 under either relation and after a release with
    a smaller one, for answers of one coordinate and of thousands, matrices among them, for
    answers of zeros and of small counts, and, at much noise, for answers that are many
    sensitivities apart (``outcomes/far.py``). No value of the noise is likelier than the event
    allows (``dpcore_lab.outcomes.residuals``). An honest mechanism fails with probability 1e-7.

    ``sensitivity`` : of a run. If it is of a class of its own, for which the mechanism may refuse
    any other, the audit is of that one, at the bound that the mechanism says its noise is for:
    the rest of the cost is the query's, and its audit is of both together.

    ``most_coordinates`` : of an answer. Without answers of 12,000 and 70,000 coordinates, most of
    the deviates, noise that is drawn one by one takes a tenth of the time.

    A class that states ``scalar_only = True`` is given answers of one coordinate.
    """
    require_assertions()
    made: Any = mechanism(_MULTIPLIER)
    require_frozen(made)
    needs = made.needs
    known = ("l2", "l1", "linf", "range")
    assert needs in known, f"needs={needs!r} is not one of {', '.join(known)}."
    _check_refusals(mechanism, needs)
    own = sensitivity if type(sensitivity) is not Sensitivity else None
    cases, open_ends = _cases(mechanism, needs, own, most_coordinates)
    _check_more_noise_costs_less(cases[0])
    for case in cases:
        assert_repeatable(case)
    if needs == "range":
        return _check_selections(cases, open_ends)
    return _check_additive(cases, open_ends)


def _cases(
    make: Callable[[float], Mechanism], needs: str, own: Sensitivity | None, most: int | None
) -> tuple[list[Case], list[str]]:
    """Return the settings in which the mechanism is looked at, and what they leave out."""
    rng = np.random.default_rng(_SEED)
    every: Sequence[Setting] = SELECTIONS if needs == "range" else ADDITIVE
    settings = [each for each in every if most is None or each.size <= most]
    if needs == "l1":  # Two coordinates are where right noise of each costs most together.
        settings = [replace(s, draws=2 * s.draws) if s.size == 2 else s for s in settings]
    open_ends = []
    if getattr(make(_MULTIPLIER), "scalar_only", False):
        settings = [
            replace(setting, size=1, columns=0) for setting in settings if setting.draws >= 100
        ]
        open_ends.append("answers of several coordinates, which it does not take")
    found = [open_case(make, setting, own, rng) for setting in settings]
    cases = [case for case in found if case is not None]
    if not cases:
        make(_MULTIPLIER).event(own or standard_sensitivity(needs))  # refuses, and says why
    coarser = [c for c in cases if c.sensitivity.grid_bits < c.setting.grid_bits]
    if any(c.setting.columns for c in cases) < any(s.columns for s in settings):
        open_ends.append("matrices, which it refuses")
    if coarser and own is None:
        finest = max(case.sensitivity.grid_bits for case in cases)
        open_ends.append(f"finer grids than {finest} bits, which it refuses")
    return cases, open_ends


def _check_refusals(mechanism: Callable[[float], Mechanism], needs: str) -> None:
    for norm in {"l2", "l1", "linf"} - {needs}:
        try:
            mechanism(_MULTIPLIER).event(standard_sensitivity(None, norm))
        except Exception:  # whatever it raises, nothing is charged
            continue
        raise AssertionError(f"It needs {needs} and accepts an {norm} sensitivity.")
    for multiplier in (math.nan, math.inf, 0.0, -1.0):
        try:
            mechanism(multiplier).event(standard_sensitivity(needs))
        except Exception:
            continue
        raise AssertionError(f"noise_multiplier={multiplier} was accepted.")


def _check_more_noise_costs_less(case: Case) -> None:
    if not case.known:
        return
    events = [case.make(m).event(case.sensitivity) for m in (0.5, 1.0, 2.0, 4.0)]
    costs = [_cost(event) for event in events]
    assert all(a > b for a, b in zip(costs, costs[1:], strict=False)), (
        "A larger noise_multiplier does not cost less."
    )


def _cost(event: DpEvent) -> tuple[float, float]:
    """Return values that a smaller cost makes smaller, by the first in which they differ."""
    return renyi_divergence(event, 2.0), largest_probability(event, 1e-3)


def assert_repeatable(case: Case) -> None:
    """Raise AssertionError for a mechanism that draws from elsewhere than the source of noise."""
    size = case.setting.size
    draws = max(2, min(50, _REPEATED // size))
    exact = np.arange(draws * size, dtype=np.int64).reshape(draws, size)
    first, second = (draw(case, exact, 3) for _ in range(2))
    assert np.array_equal(first, second), (
        f"{type(case.mechanism).__name__}: under the same noise source the same releases have "
        "other noise: it is drawn from elsewhere than the source, or kept between releases."
    )


def _check_selections(cases: list[Case], open_ends: list[str]) -> Tested:
    known = [case for case in cases if case.known]
    for k, case in enumerate(known):
        audit_selection(case, _SEED + 100 * k, _ALARM / (2 * len(known)))
        audit_far_selection(case, _SEED + 100 * k, _ALARM / (4 * len(known)))
        audit_contenders(case, _SEED + 100 * k, _ALARM / (4 * len(known)))
    return Tested(
        f"{_words(cases)} candidates",
        _power(known),
        (*open_ends, *_not_tested(cases), "releases that repeat noise in rare cases"),
        ranges_of(cases),
    )


def _check_additive(cases: list[Case], open_ends: list[str]) -> Tested:
    found: list[Residuals] = []
    alarm = _ALARM / (8 * len(cases))
    for k, case in enumerate(cases):
        looked = case, _distance(case), _SEED + 100 * k, alarm
        found += audit_additive(*looked)
        found += audit_bases(*looked, few=k > 0)
        audit_far(*looked)
    name = type(cases[0].mechanism).__name__
    assert_noise_is_fresh(found, name, _ALARM / 4)
    # Among thousands of other releases a few wide ones would not be seen.
    wide = [each for each in found if len(each.steps) < _FEW]
    assert_noise_is_fresh(wide, name, _ALARM / 4)
    for k, case in enumerate(cases):
        audit_spread(case, _distance(case), None, _SEED + 100 * k + 60, alarm, _SECONDS)
    power, faults = _power([case for case in cases if case.known]), faults_found(found, _ALARM / 4)
    if faults:
        power += f"; and {faults}"
    else:
        open_ends.append("exact answers and repeated noise, for want of a fine grid")
    larger = f"answers of more than {max(case.setting.size for case in cases):,} coordinates"
    left = (*open_ends, larger, *_not_tested(cases))
    return Tested(f"{_words(cases)} coordinates", power, left, ranges_of(cases))


def _distance(case: Case) -> float:
    """Return how far apart neighbours are whose distance this noise is to cover."""
    if type(case.sensitivity) is Sensitivity:
        return case.sensitivity.bound
    return float(case.mechanism.bound_of(case.sensitivity))


def _words(cases: list[Case]) -> str:
    multipliers = [case.mechanism.noise_multiplier for case in cases]
    bits = [case.sensitivity.grid_bits for case in cases]
    sizes = [case.setting.size for case in cases]
    releases = sum(case.setting.draws for case in cases)
    return (
        f"{releases:,} releases and as many on each neighbour, at noise multipliers from "
        f"{min(multipliers):.2g} to {max(multipliers):.2g}, grids of {min(bits)} to {max(bits)} "
        f"bits, answers of {min(sizes):,} to {max(sizes):,}"
    )


def ranges_of(cases: list[Case]) -> tuple[str, ...]:
    """Return, as clauses, the least and the largest of what a mechanism was looked at with."""
    told = {
        "noise multipliers": [case.mechanism.noise_multiplier for case in cases],
        "sensitivities": [case.sensitivity.bound for case in cases],
        "grid bits": [case.sensitivity.grid_bits for case in cases],
        "coordinates": [case.setting.size for case in cases],
        "releases of one distribution": [case.setting.draws for case in cases],
    }
    return tuple(f"{name} {min(seen):.6g} to {max(seen):.6g}" for name, seen in told.items())


def _power(cases: list[Case]) -> str:
    """Return in words the smallest factor by which noise would have to be too small."""
    factors = [
        detectable_factor(case.event_at, case.setting.draws // 2, _ALARM / (200 * len(cases)))
        for case in cases
        if case.setting.draws >= 1000
    ]
    least = min(factors, default=math.inf)
    if not math.isfinite(least):
        return ""
    return f"would have detected, with probability {PROBABILITY}, {least:.2g} times the claim"


def _not_tested(cases: list[Case]) -> list[str]:
    if all(case.known for case in cases):
        return ["outcomes too rare or too intricate for these sets of them"]
    return [f"what it costs: the checks have no second count of {type(cases[0].event).__name__}"]
