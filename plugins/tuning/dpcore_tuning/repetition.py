"""The best of a random number of tries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from dpcore.plugin.parts import NoiseSource
    from dpcore_tuning.stopping_distributions import StoppingDistribution

__all__ = ["best_of_random_tries"]


class _Scored(Protocol):
    @property
    def score(self) -> float: ...


Outcome = TypeVar("Outcome", bound=_Scored)


def best_of_random_tries(
    distribution: StoppingDistribution,
    n_candidates: int,
    attempt: Callable[[int], Outcome | None],
    noise: NoiseSource,
) -> Outcome | None:
    """Return the outcome of the largest score; ``None`` where none was made, or none came to one.

    The number of tries is drawn first and never cut short. ``attempt`` : makes a try of the
    candidate at a place, drawn uniformly with replacement, by fresh noise; ``None`` is the outcome
    of a try that came to nothing, below every other. Of equal scores the earlier stays.
    """
    best: Outcome | None = None
    for _ in range(distribution.draw(noise)):
        tried = attempt(noise.integers_below(n_candidates))
        if tried is not None and (best is None or tried.score > best.score):
            best = tried
    return best
