"""Noise and selections of an author's own, of which they state the law of one deviate."""

from dpcore_accounting.laws.integer_law import IntegerLaw
from dpcore_accounting.laws.table_noise import TableNoise

__all__ = ["IntegerLaw", "TableNoise"]
