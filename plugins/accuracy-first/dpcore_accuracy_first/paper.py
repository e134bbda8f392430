"""The preset ``paper``, its levels and its tests, as Ligett et al. 2017 print them.

The paper leaves values to its full version; where it does, they are those of the authors' code
(``run_sims.sh`` and ``run_*.py`` of the repository that footnote 6 names). Its constants as printed
count both that a question and that the minimum moves, and are sound; its code counts one of them.
"""

from __future__ import annotations

import math
from typing import Any

from dpcore.plugin import InvalidInputError

__all__ = [
    "COVARIANCE",
    "NOISE_REDUCTION",
    "PUBLISHED_L2",
    "SEARCH",
    "THEORY",
    "paper_levels",
    "paper_tries",
    "sources_of",
]

PUBLISHED_L2 = 0.005

THEORY: dict[str, Any] = {
    "l2_scaled": PUBLISHED_L2,
    "ball": "paper",
}
"""The preset of one release."""

SEARCH: dict[str, Any] = {
    **THEORY,
    "failure_probability": 0.1,
    "threshold": "paper",
    "grid": "paper",
}
"""The preset of a search by doubling."""

NOISE_REDUCTION: dict[str, Any] = {**SEARCH, "levels": 1000}

COVARIANCE: dict[str, Any] = {"l1_norm": 1.0}
"""Covariance perturbation adds this to a preset."""

_SOURCES = {
    "l2_scaled": "run_sims.sh of the authors' code",
    "ball": "section 3.1: sqrt(1 / lambda); Theorem 3.4: sqrt(2 log 2 / lambda)",
    "failure_probability": 'section 4: "a modest failure probability gamma = 0.1"',
    "threshold": "Theorem 3.2 and Algorithm 3: eps_0, -alpha / 2; of doubling the authors' code",
    "grid": "run_ridge.py and run_logist.py of the authors' code: from 1/n to four times the "
    "epsilon of the utility theorem",
    "levels": "run_sims.sh of the authors' code: max_steps",
    "l1_norm": "section 3: ||X_i||_1 <= 1",
}


def sources_of(preset: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return where each field of the preset ``paper`` is found."""
    return {"paper": {name: _SOURCES[name] for name in preset}}


_LAST = 4.0
"""The last level over the epsilon of the utility theorem."""


def paper_levels(n: int, theorem: float, count: int, most: float) -> tuple[float, ...]:
    """Return the levels from 1/n on that are at most ``most``. They are 1/n c^k, k < ``count``,
    where c is such that k = ``count`` would be four times the epsilon of the utility theorem.

    Raises InvalidInputError where the first level is above ``most`` or the last below the first.
    """
    first = 1.0 / n
    _check_room(first, theorem)
    ratio = (_LAST * theorem / first) ** (1 / count)
    levels = tuple(first * ratio**k for k in range(count) if first * ratio**k <= most)
    if not levels:
        raise InvalidInputError(
            f"The worst case leaves epsilon={max(most, 0.0):.4g} for the levels, and the first is "
            f"{first:.4g}. Raise --epsilon-max, or ask for less."
        )
    return levels


def paper_tries(n: int, theorem: float) -> int:
    """Return how many tries there are from 1/n, doubled, until they reach four times the epsilon of
    the utility theorem."""
    _check_room(1.0 / n, theorem)
    return int(math.log2(_LAST * theorem * n) + 1) + 1


def _check_room(first: float, theorem: float) -> None:
    if not _LAST * theorem > first:
        raise InvalidInputError(
            f"The utility theorem asks for epsilon={theorem:.4g}, below the paper's first level, "
            f"1/n = {first:.4g}. Ask for less excess risk."
        )
