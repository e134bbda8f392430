"""Settings of noise, grid and size at which a mechanism is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import DpcoreError
from dpcore.noise.source import SeededNoise
from dpcore.privacy.sensitivity import NeighboringRelation, Sensitivity
from dpcore.testing.audit import largest_probability
from dpcore.testing.recount import UnknownEventError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.privacy.events import DpEvent
    from dpcore.protocols import Mechanism

__all__ = ["BOUND", "Case", "Setting", "draw", "open_case", "standard_sensitivity"]

BOUND = 3.0
"""Of the sensitivities of an audit. No power of two, and odd on the coarsest grid."""


@dataclass(frozen=True)
class Setting:
    """Multipliers are drawn between ``least`` and ``most``, evenly in their logarithm; ``draws``
    releases of answers of ``size`` coordinates (or candidates) on the grid of ``grid_bits``."""

    least: float
    most: float
    grid_bits: int
    size: int
    draws: int


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


def standard_sensitivity(needs: Any, grid_bits: int = 10, norm: Any = None) -> Sensitivity:
    """Return the sensitivity of an audit; scores move by the bound, one up and the others down."""
    change_range = 2 * BOUND if needs == "range" else None
    norm = norm or ("linf" if needs == "range" else needs)
    return Sensitivity(norm, BOUND, NeighboringRelation.REPLACE_ONE, grid_bits, change_range)


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
    for grid_bits in range(setting.grid_bits, -1, -5):
        sensitivity = own or standard_sensitivity(mechanism.needs, grid_bits)
        try:
            event = mechanism.event(sensitivity)
        except DpcoreError:
            continue
        return Case(setting, make, mechanism, sensitivity, event)
    return None


def draw(case: Case, exact: np.ndarray, seed: int) -> np.ndarray:
    """Return a release of each of ``exact``, from one source of noise."""
    noise = SeededNoise(seed)
    release, sensitivity = case.mechanism.release, case.sensitivity
    try:
        return np.array([release(one.copy(), sensitivity, noise) for one in exact])
    except DpcoreError as error:
        raise AssertionError(
            f"It states a cost and refuses an answer of {case.setting.size} coordinates "
            f"({error}). One that takes single numbers alone states scalar_only = True."
        ) from error
