"""Noise and selections whose author states the distribution of one deviate."""

from dpcore_accounting.distributions.added_deviates import AddedDeviates
from dpcore_accounting.distributions.continuous_distribution import ContinuousDistribution
from dpcore_accounting.distributions.integer_distribution import IntegerDistribution
from dpcore_accounting.distributions.noisy_maximum import NoisyMaximum, TableMaximum
from dpcore_accounting.distributions.table_noise import TableNoise

__all__ = [
    "AddedDeviates",
    "ContinuousDistribution",
    "IntegerDistribution",
    "NoisyMaximum",
    "TableMaximum",
    "TableNoise",
]
