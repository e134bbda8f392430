"""The two sides of an interactive mechanism: the optimizer's, with questions in and noisy replies
out, and what the session keeps of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError
from dpcore.noise.entropy import Unshareable

if TYPE_CHECKING:
    from dpcore.privacy.sealed import Copies
    from dpcore.privacy.sensitivity import Sensitivity
    from dpcore.protocols import DerivedQuery, Query
    from dpcore.protocols.interactive import InteractiveMechanism, InteractiveState

__all__ = ["Exchange", "Known", "OpenMechanism", "require_whole", "require_within"]

Known = tuple[tuple[Any, Any], ...]
"""Queries, by identity, with their exact answers."""


class Exchange(Unshareable):
    """An open interactive mechanism; ``PrivacySession.start`` makes one.

    ``value`` is what it released when it started. While it is open the session refuses every other
    release; it closes itself when the mechanism halts, and refuses every question from then on.
    """

    def __init__(
        self,
        value: Any,
        ask: Callable[[Exchange, Any], Any],
        close: Callable[[Exchange], None],
    ) -> None:
        self.value = value
        self._ask = ask
        self._close = close

    def ask(self, query: Query | DerivedQuery) -> Any:
        """Return the mechanism's reply: a released value.

        Raises InvalidInputError, before the data are asked, for a question whose sensitivity is
        more than the mechanism was started for, and for any question once it has closed.
        """
        return self._ask(self, query)

    def close(self) -> None:
        """End it; what was charged stays charged. Closing twice is nothing."""
        self._close(self)


@dataclass(slots=True)
class OpenMechanism:
    """An interactive mechanism that is open, and the ledger's entry of its cap.

    ``held`` : the session's copies of what it holds. ``copies`` : those, and that of the last
    question.
    """

    exchange: Exchange
    mechanism: InteractiveMechanism
    state: InteractiveState
    index: int
    known: Known
    held: Copies
    last: Known = ()
    copies: Copies = field(default_factory=dict)

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


def require_within(asked: Sensitivity, allowed: Sensitivity) -> None:
    """Raise InvalidInputError if a question may move further than the mechanism accounts for."""
    same = (asked.norm, asked.grid_bits) == (allowed.norm, allowed.grid_bits)
    if not same or asked.bound > allowed.bound:
        raise InvalidInputError(
            f"The question has an {asked.norm} sensitivity of {asked.bound:.6g} on the grid "
            f"2^-{asked.grid_bits}; the mechanism was started for {allowed.norm}, "
            f"{allowed.bound:.6g} and 2^-{allowed.grid_bits}."
        )
