"""The authors' pass as it behaves: not private at the epsilon it prints, kept for comparison.

It divides the gradient of every batch by its norm. Such a step is no contraction, and Lemma 2 of
Chen, Lee & Kifer 2019, on which the sensitivity rests, does not cover it. Not reproduced: an
average after the very first epoch, and the Renyi order (``--conversion mironov`` has it).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcore.plugin import ordered_norm
from dpcore.plugin.parts import sealed
from dpcore_rsgd_ar.sgd_pass import SgdPass

__all__ = ["PublishedPass"]


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class PublishedPass(SgdPass):
    """NOT private at the sensitivity it states, that of the pass without the division."""

    private: ClassVar[bool] = False

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        norm = ordered_norm(gradient)
        return gradient / norm if norm > 0.0 else gradient
