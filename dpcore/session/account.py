"""A budget in use, and the one way from it to a draw: charge, then draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from dpcore.accountants.equal_parts import equal_part, require_within
from dpcore.errors import InvalidInputError
from dpcore.noise.entropy import Unshareable
from dpcore.privacy.exact_copies import exact_copy

if TYPE_CHECKING:
    from dpcore.session.ledger import ChargeLog

__all__ = ["Account"]

Entry = TypeVar("Entry")
Drawn = TypeVar("Drawn")


class Account(Unshareable, Generic[Entry]):
    """A budget in use: the filter after all charges so far, and their ledger.

    ``filter`` : an immutable value that consents to a charge or refuses it, an accountant, or
    several: its ``compose(event)`` returns the filter after the event, or raises
    BudgetExceededError. ``schedule`` : the releases that a run is held to where its filter is not
    fully adaptive: its ``take(event)`` takes the place of an event, or raises where none is left.

    Whatever draws noise or a sample for a release draws it inside ``charge_then_draw``: sessions,
    users with a session of their own, and pools of users alike. ``copied(filter)`` is a copy of a
    filter that nobody else holds, ``equal_part(filter, parts)`` the filter of one of so many parts.
    """

    copied, equal_part = staticmethod(exact_copy), staticmethod(equal_part)
    require_within = staticmethod(require_within)

    def __init__(self, filter: Any, ledger: ChargeLog[Entry], schedule: Any = None) -> None:
        self._filter: Any = filter
        self._schedule = schedule
        self._is_broken = False
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
        it was and nothing drawn; what ``draw`` raises takes no charge back, and is the account's
        end (``draw``).
        """
        self.require_whole()
        after = self._filter.compose(event)
        if self._schedule is not None:
            self._schedule.take(event)
        self.ledger.charge(entry())
        self._filter = after
        return self.draw(draw)

    def draw(self, draw: Callable[[], Drawn]) -> Drawn:
        """Return what ``draw`` draws, which was charged.

        Whether it raises anything may depend on a row, and whoever asked may catch it: an output
        without noise, so that nothing is drawn after it. NumPy neither warns nor raises of a number
        meanwhile, whatever the process has set: it would tell of a row too.
        """
        self.require_whole()
        self._is_broken = True
        with np.errstate(all="ignore"):
            drawn = draw()
        self._is_broken = False
        return drawn

    def require_whole(self) -> None:
        """Raise InvalidInputError if something that was charged ended in an error: there is no
        other release, no guarantee to state and no model."""
        if self._is_broken:
            raise InvalidInputError(
                "An answer of this session ended in an error or an interrupt, which may tell of a "
                "row: it makes no other release, and there is no guarantee to state."
            )
