"""A budget in use, and the one way from it to a draw: charge, then draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from dpcore.noise.entropy import Unshareable

if TYPE_CHECKING:
    from dpcore.session.ledger import Ledger

__all__ = ["Account"]

Entry = TypeVar("Entry")
Drawn = TypeVar("Drawn")


class Schedule(Protocol):
    """The releases that a run is held to where its filter is not fully adaptive."""

    def take(self, event: Any, /) -> None:
        """Take the place of an event; an error, with nothing taken, where none is left for it."""


class Account(Unshareable, Generic[Entry]):
    """A budget in use: the filter after all charges so far, and their ledger.

    Whatever draws noise or a sample for a release draws it inside ``charge_then_draw``: sessions,
    users with a session of their own, and pools of users alike.
    """

    def __init__(
        self, filter: Any, ledger: Ledger[Entry], schedule: Schedule | None = None
    ) -> None:
        self._filter: Any = filter
        self._schedule = schedule
        self.ledger = ledger

    @property
    def filter(self) -> Any:
        """The filter after all charges so far."""
        return self._filter

    def charge_then_draw(
        self, event: Any, entry: Callable[[], Entry], draw: Callable[[], Drawn]
    ) -> Drawn:
        """Charge the event, then return what ``draw`` draws.

        The filter consents, the schedule if any has a place, the ledger has the ``entry`` for good,
        and only then ``draw`` is called. What filter, schedule or ledger raise leaves the filter as
        it was and nothing drawn; what ``draw`` raises takes no charge back. NumPy neither warns nor
        raises of a number while it draws, whatever the process has set: it would tell of a row.
        """
        after = self._filter.compose(event)
        if self._schedule is not None:
            self._schedule.take(event)
        self.ledger.charge(entry())
        self._filter = after
        return np.errstate(all="ignore")(draw)()
