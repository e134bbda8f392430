"""Settings of noise, grid and size at which a mechanism is looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import DpcoreError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import SeededNoise, Sensitivity
from dpcore_lab.outcomes.frequencies import largest_probability
from dpcore_lab.recount.ledger import UnknownEventError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin.parts import DpEvent, Mechanism

__all__ = ["BOUND", "Case", "Setting", "draw", "open_case", "standard_sensitivity"]

BOUND = 3.0
"""Of the sensitivities of an audit. No power of two, and odd on the coarsest grid."""

_ADD, _REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE


@dataclass(frozen=True)
class Setting:
    """Releases to be drawn: multipliers, grid, sizes and relation. Multipliers are drawn between
    ``least`` and ``most``, evenly in their logarithm; ``draws`` releases are of answers of ``size``
    coordinates (or candidates) on the grid of ``grid_bits``. Neighbours under the ``relation`` move
    them by ``bound`` at most; scores have a change range of ``spread`` times that. An answer of
    several ``columns`` is a matrix."""

    least: float
    most: float
    grid_bits: int
    size: int
    draws: int
    bound: float = BOUND
    relation: NeighboringRelation = _REPLACE
    spread: float = 2.0
    columns: int = 0


@dataclass(frozen=True)
class Case:
    """A mechanism with its noise, the sensitivity that it is looked at with, and its event."""

    setting: Setting
    make: Callable[[float], Mechanism]
    mechanism: Any
    sensitivity: Sensitivity
    event: DpEvent

    @property
    def known(self) -> bool:
        """Whether the checks have a second count of the event."""
        try:
            largest_probability(self.event, 0.5)
        except UnknownEventError:
            return False
        return True

    def event_at(self, factor: float) -> DpEvent:
        """Return the event of noise that is so many times smaller."""
        return self.make(self.mechanism.noise_multiplier / factor).event(self.sensitivity)


def standard_sensitivity(needs: Any, norm: Any = None) -> Sensitivity:
    """Return a sensitivity of the kind that is needed, or of another norm."""
    change_range = 2 * BOUND if needs == "range" else None
    norm = norm or ("linf" if needs == "range" else needs)
    return Sensitivity(norm, BOUND, _REPLACE, 10, change_range)


def _sensitivity(
    needs: Any, setting: Setting, grid_bits: int, relation: NeighboringRelation
) -> Sensitivity:
    """Return the setting's sensitivity; its bound is the usual one where the grid is coarser."""
    bound = setting.bound if math.ldexp(setting.bound, grid_bits) >= 1 else BOUND
    change_range = setting.spread * bound if needs == "range" else None
    norm: Any = "linf" if needs == "range" else needs
    return Sensitivity(norm, bound, relation, grid_bits, change_range)


def open_case(
    make: Callable[[float], Mechanism],
    setting: Setting,
    own: Sensitivity | None,
    rng: np.random.Generator,
) -> Case | None:
    """Return the case of a setting, on the finest grid up to the setting's that the mechanism
    accepts, ``None`` if it accepts none. ``own`` : a sensitivity of a class of its own, with its
    grid."""
    multiplier = float(np.exp(rng.uniform(np.log(setting.least), np.log(setting.most))))
    mechanism = make(multiplier)
    relations = (setting.relation, _REPLACE if setting.relation is _ADD else _ADD)
    for grid_bits in range(setting.grid_bits, -1, -5):
        for relation in relations:
            sensitivity = own or _sensitivity(mechanism.needs, setting, grid_bits, relation)
            if own is None:
                _use_with_less(mechanism, sensitivity, setting.size)
            try:
                event = mechanism.event(sensitivity)
            except DpcoreError:
                continue
            return _taken(Case(setting, make, mechanism, sensitivity, event))
    return None


def _taken(case: Case) -> Case:
    """Return the case with answers in one row if the mechanism takes no matrix."""
    setting = case.setting
    if setting.columns:
        whole = np.zeros((setting.size // setting.columns, setting.columns), dtype=np.int64)
        try:
            case.mechanism.release(whole, case.sensitivity, SeededNoise(0))
        except (DpcoreError, ValueError, IndexError, TypeError):
            return replace(case, setting=replace(setting, columns=0))
    return case


def _use_with_less(mechanism: Any, sensitivity: Sensitivity, size: int) -> None:
    """Release with a quarter of the sensitivity, so that a scale which is kept is too small."""
    change_range = sensitivity.change_range and sensitivity.change_range / 4
    less = replace(sensitivity, bound=sensitivity.bound / 4, change_range=change_range)
    try:
        mechanism.event(less)
        mechanism.release(np.zeros(size, dtype=np.int64), less, SeededNoise(0))
    except DpcoreError:
        return


def draw(case: Case, exact: np.ndarray, source: int | SeededNoise) -> np.ndarray:
    """Return a release of each of ``exact``, from one source of noise or its seed, with matrices
    laid flat."""
    noise = SeededNoise(source) if isinstance(source, int) else source
    release, sensitivity = case.mechanism.release, case.sensitivity
    columns = case.setting.columns
    try:
        if columns:
            whole = exact.reshape(len(exact), -1, columns)
            found = np.array([release(one.copy(), sensitivity, noise) for one in whole])
            return found.reshape(exact.shape) if found.shape == whole.shape else found
        return np.array([release(one.copy(), sensitivity, noise) for one in exact])
    except DpcoreError as error:
        raise AssertionError(
            f"It states a cost and refuses an answer of {case.setting.size} coordinates "
            f"({error}). One that takes single numbers alone states scalar_only = True."
        ) from error
