"""The cost of objective perturbation with normal noise, as data."""

from dataclasses import dataclass

from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import DpEvent

__all__ = ["ObjectivePerturbationDpEvent"]


@dataclass(frozen=True, slots=True)
class ObjectivePerturbationDpEvent(DpEvent):
    """A release whose likelihood ratio is at most e^``log_determinant`` times the largest of the
    ratios of normal distributions that are ``shifts[k]`` standard deviations apart: objective
    perturbation with normal noise. The query that states such a ratio has the proof of it.

    So its Renyi divergence and its delta are at most those sums over k: with m = ``shifts[k]``,

        exp((alpha - 1) D_alpha) <= e^((alpha - 1) log_determinant) sum exp(alpha (alpha - 1) m^2/2)
        delta(epsilon) <= sum delta_Gauss(m; epsilon - log_determinant)

    Parameters
    ----------
    shifts : one or more, finite and > 0, rounded up.
    log_determinant : finite and > 0, rounded up.
    """

    shifts: tuple[float, ...]
    log_determinant: float

    def __post_init__(self) -> None:
        if type(self.shifts) is not tuple or not self.shifts:
            raise InvalidInputError("Expected shifts to be a tuple of one number or more.")
        for shift in self.shifts:
            DpEvent.require_positive("shift", shift)
        DpEvent.require_positive("log_determinant", self.log_determinant)
