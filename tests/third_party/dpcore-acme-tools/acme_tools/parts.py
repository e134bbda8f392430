"""The smallest part of each of four kinds: a loss, an accountant, a data set and an engine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.plugin import option
from dpcore.plugin.parts import Dataset, LocalEngine, PureAccountant, dataset_from_arrays
from dpcore_baselines.losses.row_loss import RowLoss

__all__ = ["Absolute", "BasicAccountant", "OneThread", "Ramp", "load_steps"]


class Absolute:
    """|y - z|: the median of a number."""

    name: ClassVar[str] = "acme-absolute"
    classification: ClassVar[bool] = False
    convex: ClassVar[bool] = True
    lipschitz: ClassVar[float] = 1.0
    smoothness: ClassVar[float] = math.inf
    thread_safe: ClassVar[bool] = True

    def value(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        np.abs(np.subtract(y, z, out=out), out=out)

    def dvalue(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        np.sign(np.subtract(z, y, out=out), out=out)


def ramp(z: float, y: float, parameters: np.ndarray) -> float:
    return min(max(0.0, 1.0 - y * z), parameters[0])


def ramp_slope(z: float, y: float, parameters: np.ndarray) -> float:
    return -y if 1.0 - parameters[0] < y * z < 1.0 else 0.0


@dataclass(frozen=True, slots=True)
class Ramp(RowLoss, value=ramp, slope=ramp_slope):
    """A hinge of at most ``most``: it gives up on rows that are far on the wrong side."""

    most: float = option(2.0, "the largest loss of a row", range=(1.0, 100.0))

    name: ClassVar[str] = "acme-ramp"
    classification: ClassVar[bool] = True
    nonincreasing: ClassVar[bool] = True
    lipschitz: ClassVar[float] = 1.0
    smoothness: ClassVar[float] = math.inf


@dataclass(frozen=True, kw_only=True)
class BasicAccountant(PureAccountant):
    """Adds up epsilons, as basic composition has it (Dwork et al. 2006)."""

    name: ClassVar[str] = "acme-basic"


class OneThread(LocalEngine):
    """Sums the blocks of a table in this process, one after the other."""


def load_steps() -> Dataset:
    """Return a table of two classes: is a number above one half?"""
    x = np.linspace(0.0, 1.0, 400)[:, None]
    return dataset_from_arrays(x, (x[:, 0] > 0.5).astype(int), classes=(0, 1), bounds=(0.0, 1.0))
