"""A run's releases, held to its reservation before anything is drawn for them.

Invariant. A run is charged, before its first release, a bound of what all of its releases cost
together, in the ledger's unit and of delta (``dpcore_ledger.cost``). A release is charged before it
is drawn, and no charge of one ever comes back. What comes back of a reservation when its run ends
is what its releases did not take: that this is not below nought is what is held here.

The run's own filter, which its sessions ask, holds its releases to its budget. A mistake on the way
from one to the other, in shares of steps, parts of fits or the session's filter, would let through
what nobody was charged, and the ledger would still say the reservation. So each release is asked of
the filter once more that the reservation was made of. In it costs are whole numbers of 2**-120,
each rounded up, and the budget is rounded down: what it consents to is within the budget, exactly.

Where the ledger's filter is of the same unit, a run is charged its budget times a factor, and ends
at its releases' cost times the same factor. A cost follows from the event alone, so that it is the
same in both filters, and the end at most the reservation. In another unit the reservation stays
whole.

Proof that it refuses no release of an honest run, for a filter that adds up and says how it splits.
A session has the run's filter, what is left of it after earlier sessions, or an equal part of that.
The ticks of parts, rounded down, add up to no more than there were (``AdditiveAccountant.split``);
the shares of steps are charged to the same filter. So whatever these consent to in turn, the sum of
its ticks is within the budget, and the filter of the whole consents to it in the same order.

* Rows in parts: a row is in one part by the session's one column, so that what it sees is the sum
  of the releases from all rows and from that part. Each of these sums is held to the budget. Under
  replace-one the session's own filter holds more, the two largest: here it is not asked again.
* A filter that does not add up, such as one of curves, gives parts by basic composition, which it
  may not consent to as one. Of these runs only the kind of each release is held, by ``supports``.
* A run that is one release, as a search: one, of no more epsilon and delta than were reserved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcore.errors import BudgetExceededError, UnsupportedEventError
from dpcore.plugin.parts import AdditiveAccountant, ApproximateDpEvent, PureDpEvent, Registry

if TYPE_CHECKING:
    from dpcore.plugin.ledgers import LedgerEntry

__all__ = ["Held"]

_MORE = (
    "The release costs more than the ledger still holds of its run's reservation: it was not made, "
    "nor charged. What asked for it is at fault, and not the budget."
)


@dataclass(frozen=True)
class Held:
    """A reservation after some releases of its run; a value, as its filter is.

    Parameters
    ----------
    own : the run's filter, empty, or its budget where the run is one release.
    left : what of the filter is left for each part of the rows, ``None`` for all, where it adds up.
    is_taken : whether there was a release.
    """

    own: Any
    left: Mapping[str | None, Any] | None = None
    is_taken: bool = False

    @classmethod
    def of(cls, own: Any) -> Held:
        """Return what a reservation holds before the first release."""
        is_sum = isinstance(own, AdditiveAccountant)
        adds_up = is_sum and Registry.facts_of("accountant", own).splits
        return cls(own, {None: own} if adds_up else None)

    def after(self, entry: LedgerEntry) -> Held:
        """Return what is held after a release.

        Raises BudgetExceededError for a release that costs more than is left, and
        UnsupportedEventError for one of a kind that the run's filter cannot bound.
        """
        if self.left is not None:
            return Held(self.own, _taken(self.left, entry), True)
        if hasattr(self.own, "supports"):
            if not self.own.supports(entry.event):
                raise UnsupportedEventError(
                    f"The run was reserved under the {self.own.name} accountant, which cannot "
                    f"bound a {type(entry.event).__name__}: the release was not made."
                )
        elif self.is_taken or not _is_within(entry.event, self.own):
            raise BudgetExceededError(_MORE)
        return Held(self.own, None, True)


def _taken(left: Mapping[str | None, Any], entry: LedgerEntry) -> dict[str | None, Any]:
    """Return the filter of each part after a release, which is from all rows or from one part."""
    known = {entry.part: left[None], **left}
    try:
        return {
            part: filter.compose(entry.event) if entry.part in (None, part) else filter
            for part, filter in known.items()
        }
    except BudgetExceededError:
        raise BudgetExceededError(_MORE) from None


def _is_within(event: Any, own: Any) -> bool:
    """Return whether one release is of an epsilon, or of a delta too, within the run's."""
    if type(event) is PureDpEvent:
        return bool(event.epsilon <= own.epsilon)
    is_pair = type(event) is ApproximateDpEvent
    return bool(is_pair and event.epsilon <= own.epsilon and event.delta <= own.delta)
