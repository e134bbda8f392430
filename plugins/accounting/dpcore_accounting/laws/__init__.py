"""Noise and selections whose author states the law of one deviate."""

from dpcore_accounting.laws.added_deviates import AddedDeviates
from dpcore_accounting.laws.continuous_law import ContinuousLaw
from dpcore_accounting.laws.integer_law import IntegerLaw
from dpcore_accounting.laws.noisy_maximum import NoisyMaximum, TableMaximum
from dpcore_accounting.laws.table_noise import TableNoise

__all__ = [
    "AddedDeviates",
    "ContinuousLaw",
    "IntegerLaw",
    "NoisyMaximum",
    "TableMaximum",
    "TableNoise",
]
