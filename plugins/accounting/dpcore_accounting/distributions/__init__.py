"""Noise and selections whose author states the distribution of one deviate."""

from typing import Any

from dpcore_accounting.distributions.added_deviates import AddedDeviates
from dpcore_accounting.distributions.continuous_distribution import ContinuousDistribution
from dpcore_accounting.distributions.integer_distribution import IntegerDistribution
from dpcore_accounting.distributions.noisy_maximum import NoisyMaximum, TableMaximum
from dpcore_accounting.distributions.old_names import class_named_before
from dpcore_accounting.distributions.table_noise import TableNoise

__all__ = [
    "AddedDeviates",
    "ContinuousDistribution",
    "IntegerDistribution",
    "NoisyMaximum",
    "TableMaximum",
    "TableNoise",
]

_OLD = {"ContinuousLaw": ContinuousDistribution, "IntegerLaw": IntegerDistribution}


def __getattr__(name: str) -> Any:
    """Return a class by the name that it had, with a warning."""
    return class_named_before(__name__, name, _OLD)
