"""The exponential mechanism over millions of candidates, drawn in groups of like utility."""

from __future__ import annotations

import decimal
import functools
import itertools
import sys
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import GridScale, NoiseSource, TableSession, exp_up, sealed
from dpcore_accounting.selections.exponential import Exponential
from dpcore_accounting.selections.utilities import require_utilities
from dpcore_frank_wolfe.kernels import group_sizes, place_in_group

if TYPE_CHECKING:
    from dpcore.plugin.parts import NoiseSource, Sensitivity

__all__ = ["GroupedExponential", "load_groups"]

_GROUPS = 64
_WEIGHT_BITS = 36
_MOST_CANDIDATES = 2**26
"""The sum of their weights, each at most 2^_WEIGHT_BITS + 1, is below 2^63."""
_WORD_BITS = 64
_FIRST_BITS = 192
"""So many bits a ``lazy_uniform`` asks for first, whose share of a weight is worked out once."""


@sealed
@dataclass(frozen=True, slots=True)
class GroupedExponential(Exponential):
    """Selects i with probability proportional to exp(u_i / s), as ``Exponential`` does, which says
    why that costs what it does: the distribution, the event and the relation are the same. Only the
    way to a draw differs, so that none takes a trial for each candidate.

    Candidates are grouped by k = floor((max u - u_i) / s), 63 for all that are further away, found
    in floats that are rounded down: so k <= (max u - u_i) / s always, and nothing else is asked of
    them. One of group k is proposed with probability W_k / sum_j n_j W_j, for whole numbers W_k >=
    2^36 exp(-k) and n_j the size of group j: a uniform whole number says group and candidate. It is
    kept with probability exp(-(max u - u_i) / s) 2^36 / W_k, which is at most 1, by two coins of
    probabilities exp(-((max u - u_i) / s - k)) and exp(-k) 2^36 / W_k. So i is proposed and kept
    with probability exp(-(max u - u_i) / s) times what is the same for all i, exactly. All
    candidates of one utility, such as columns that no row has, are in one group and have one weight
    together. Of e proposals about one is kept.

    Parameters
    ----------
    noise_multiplier : s over the range of the change, > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore.plugin import NeighboringRelation
    >>> from dpcore.plugin.parts import SeededNoise, Sensitivity
    >>> from dpcore_frank_wolfe.grouped_exponential import GroupedExponential
    >>> add = NeighboringRelation.ADD_OR_REMOVE_ONE
    >>> range_of_one = Sensitivity("linf", 1.0, add, change_range=1.0)
    >>> GroupedExponential(2.0).release(np.array([0, 90, 0]), range_of_one, SeededNoise(0))
    1
    """

    name: ClassVar[str] = "grouped-exponential"
    theorem: ClassVar[str] = (
        "a choice with probability proportional to exp(utility / scale) is of bounded range: the "
        "range of the change of utilities between neighbours, over scale "
        "(McSherry & Talwar 2007; Dong, Durfee & Rogers 2020; Cesar & Rogers 2021)"
    )

    def release(self, exact: np.ndarray, sensitivity: Sensitivity, noise: NoiseSource) -> int:
        scale = self.scale(sensitivity)
        require_utilities(exact)
        if exact.size > _MOST_CANDIDATES:
            raise InvalidInputError(f"Expected at most {_MOST_CANDIDATES} candidates.")
        scores, counts = exact.view(np.uint64), np.zeros(_GROUPS, dtype=np.int64)
        best = exact.max()
        per_step = float(1 / scale.steps) * (1 - 2.0**-40)
        group_sizes(scores, best.view(np.uint64), per_step, counts)
        # Once, however many are proposed: a cache counts its calls, and how many are is secret.
        weights, shares = _weights()
        ends = np.cumsum(counts * weights)
        while True:
            drawn = noise.integers_below(int(ends[-1]))
            group = int(np.searchsorted(ends, drawn, side="right"))
            weight = int(weights[group])
            rank = (int(ends[group]) - 1 - drawn) // weight
            known = (scores, best.view(np.uint64), per_step, _GROUPS - 1)
            i = int(place_in_group(*known, group, rank))
            missing = int(best) - int(exact[i])
            if _is_kept(missing, group, weight, shares[group], scale, noise):
                return i


@functools.cache
def _weights() -> tuple[np.ndarray, tuple[tuple[int, int], ...]]:
    """Return whole numbers above ``2^_WEIGHT_BITS exp(-k)``, int64 of shape (_GROUPS,), and for
    each ``_share_of_weight`` of ``_FIRST_BITS``: of all groups, so that it tells of none."""
    above = [int(exp_up(Fraction(-k)) * 2**_WEIGHT_BITS) + 1 for k in range(_GROUPS)]
    weights = np.array(above, dtype=np.int64)
    weights.setflags(write=False)
    return weights, tuple(_share_of_weight(k, w, _FIRST_BITS) for k, w in enumerate(above))


def _is_kept(
    missing: int,
    group: int,
    weight: int,
    share: tuple[int, int],
    scale: GridScale,
    noise: NoiseSource,
) -> bool:
    """Return a coin of probability ``exp(-missing / s) 2^_WEIGHT_BITS / weight``, exactly.

    ``missing`` : grid steps, at least ``group`` scales. ``share`` : that of ``_weights``.
    """
    # s is significand / 2^shift steps. A deviate's floor(significand E) is at least a whole number
    # t with probability exp(-t / significand): once for each whole scale, and for what is left.
    unit = GridScale(scale.significand)
    scales, rest = divmod(missing * 2**scale.shift, scale.significand)
    whole = min(scales - group, sys.maxsize)  # beyond it none is kept but e^-(2^63)
    for least in itertools.chain(itertools.repeat(scale.significand, whole), (rest,)):
        if int(noise.exponential(unit, 1)[0]) < least:
            return False
    uniform = NoiseSource.lazy_uniform(
        int(noise.words(1)[0]), _WORD_BITS, lambda: int(noise.words(1)[0])
    )
    return not uniform.exceeds(
        lambda bits: share if bits == _FIRST_BITS else _share_of_weight(group, weight, bits)
    )


def _share_of_weight(group: int, weight: int, bits: int) -> tuple[int, int]:
    """Return whole numbers below and above ``2^bits exp(-group) 2^_WEIGHT_BITS / weight``. They are
    not kept: that would tell how far utilities of candidates are from the largest."""
    context = decimal.Context(prec=40 + bits // 3)  # more digits than so many bits have
    nearest = context.exp(Decimal(-group))
    low, above = context.next_minus(nearest).as_integer_ratio()
    high, below = context.next_plus(nearest).as_integer_ratio()
    shift = bits + _WEIGHT_BITS
    return (low << shift) // (above * weight), (high << shift) // (below * weight) + 1


def load_groups() -> None:
    """Load the kernels of a draw, which asks nothing of rows."""
    scores = np.zeros(2, dtype=np.uint64)

    def load() -> None:
        group_sizes(scores, scores[0], 1.0, np.zeros(_GROUPS, dtype=np.int64))
        place_in_group(scores, scores[0], 1.0, _GROUPS - 1, 0, 0)

    TableSession.load_now(load)
