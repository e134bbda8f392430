"""PSGD: SGD on permuted batches without averages (Chen, Lee & Kifer 2019, section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpcore_rsgd_ar.nsgd import Nsgd

__all__ = ["Psgd"]


@dataclass(frozen=True, kw_only=True)
class Psgd(Nsgd):
    """Fits a linear model by mini-batch SGD on rows in a secret order, released once at the end.

    Steps are ``step_size / s`` in epoch s. Privacy, under replace-one: the batch of the row that
    differs is random, and so is the sensitivity (Lemma 2, Lemma 3), rounding included.
    """

    name: ClassVar[str] = "psgd"
    randomized: ClassVar[bool] = True
    theorem: ClassVar[str] = (
        "Chen, Lee & Kifer 2019, Lemmas 2 and 3; its curve by joint convexity from Balle & Wang "
        "2018, Theorem 8"
    )
    departures: ClassVar[tuple[str, ...]] = (
        "rounding of every step and of the result is part of the sensitivity",
        "the exact curve instead of a Renyi order and Proposition 1, which is --conversion mironov",
    )
