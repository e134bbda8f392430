"""Checks at the sizes of a run: its rows, columns, classes, units, noise and releases."""

from dpcore_lab.run_sizes.checks import run_checks_like
from dpcore_lab.run_sizes.request import LikeRequest

__all__ = ["LikeRequest", "run_checks_like"]
