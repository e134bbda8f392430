"""The two sides of an interactive mechanism: the optimizer's, with questions in and noisy replies
out, and what the session keeps of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.noise.entropy import Unshareable

if TYPE_CHECKING:
    from dpcore.privacy.immutable import Copies
    from dpcore.privacy.sensitivity import Sensitivity
    from dpcore.protocols import DerivedQuery, Query, TableQuery
    from dpcore.protocols.interactive import InteractiveMechanism, InteractiveState

__all__ = [
    "SessionExchange",
    "CachedAnswers",
    "OpenMechanism",
    "require_another",
    "require_whole",
    "require_within",
]

# Queries, by identity, with their exact answers.
CachedAnswers = tuple[tuple[Any, np.ndarray], ...]


class SessionExchange(Unshareable):
    """The exchange that ``TableSession.start`` makes: it asks and closes what the session keeps."""

    def __init__(
        self,
        value: Any,
        ask: Callable[[SessionExchange, Any], Any],
        close: Callable[[SessionExchange], None],
    ) -> None:
        self.value = value
        self._ask = ask
        self._close = close

    def ask(self, query: Query | DerivedQuery | TableQuery) -> Any:
        return self._ask(self, query)

    def close(self) -> None:
        self._close(self)


@dataclass(slots=True)
class OpenMechanism:
    """An interactive mechanism that is open, and the ledger's entry of its cap.

    ``held`` : the session's copies of what it holds. ``copies`` : those, and that of the last
    question. ``asked`` : how many questions it was asked.
    """

    exchange: SessionExchange
    mechanism: InteractiveMechanism
    state: InteractiveState
    index: int
    known: CachedAnswers
    held: Copies
    last: CachedAnswers = ()
    copies: Copies = field(default_factory=dict)
    asked: int = 0

    def __post_init__(self) -> None:
        self.copies = self.held


def require_whole(query: Any) -> Any:
    """Return the query; InvalidInputError for one over a sample, which is accounted for as a
    release of its own and as nothing else."""
    if hasattr(query, "sampled_event"):
        raise InvalidInputError(
            f"{type(query).__name__} is released by itself: no other query and no interactive "
            "mechanism may ask for it."
        )
    return query


def require_another(opened: OpenMechanism) -> None:
    """Raise InvalidInputError if no question is left of those that the mechanism accounts for."""
    most = opened.mechanism.most_questions
    if opened.asked >= most:
        raise InvalidInputError(f"The mechanism was started for {most} questions, all asked now.")


def require_within(asked: Sensitivity, allowed: Sensitivity) -> None:
    """Raise InvalidInputError if a question may move further than the mechanism accounts for."""
    same = (asked.norm, asked.grid_bits) == (allowed.norm, allowed.grid_bits)
    if allowed.change_range is not None:
        same &= asked.change_range is not None and asked.change_range <= allowed.change_range
    if not same or asked.bound > allowed.bound:
        raise InvalidInputError(
            f"The question has an {asked.norm} sensitivity of {asked.bound:.6g} on the grid "
            f"2^-{asked.grid_bits}; the mechanism was started for {allowed.norm}, "
            f"{allowed.bound:.6g} and 2^-{allowed.grid_bits}."
        )
