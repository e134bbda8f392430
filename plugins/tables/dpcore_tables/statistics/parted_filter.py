"""The filter of a session whose rows are in parts: a filter for each place where neighbours differ.

Parallel composition (McSherry 2009, Theorem 4) under adaptive and interleaved releases. Which part
a row is in is a public function of that row. Fix two neighbouring tables. Under add-or-remove-one
they differ in one row of one part p, so that a release from another part has, given all that was
released before it, one distribution on both tables: it costs this pair nothing. What the pair sees
is the adaptive composition of the releases from all rows and from p, whatever came between, and a
filter that has composed these keeps its (epsilon, delta) for the pair. Here is such a filter for
every p, and a release is made if all those that it concerns consent. So the guarantee holds for
every pair.

Under replace-one the row that left may be of part p and the row that came of part q. The pair sees
the releases from all rows, from p and from q: here is a filter for every two parts. The parts' own
releases are charged for a row less, for a row more and for a row replaced, whichever is more
(``dpcore_tables.statistics.part_session``).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = ["InPart", "PartedFilter"]


@dataclass(frozen=True, slots=True)
class InPart:
    """The event of a release from the rows of one part."""

    part: Hashable
    event: Any


@dataclass(frozen=True, slots=True)
class PartedFilter:
    """An immutable filter over events, some of them ``InPart``.

    Parameters
    ----------
    whole : the filter after the releases from all rows.
    at_once : how many parts a change of one row can concern: 1, or 2 under replace-one.
    own : for each set of as many parts at most, out of those that were released from, the filter
        after the releases from all rows and from these.
    """

    whole: Any
    at_once: int
    own: Mapping[frozenset[Hashable], Any] = field(default_factory=dict)

    def compose(self, event: Any) -> PartedFilter:
        """Return the filter after the event; BudgetExceededError if any that it concerns refuses
        it."""
        if not isinstance(event, InPart):
            own = {parts: held.compose(event) for parts, held in self.own.items()}
            return replace(self, whole=self.whole.compose(event), own=own)
        known: dict[frozenset[Hashable], Any] = dict(self.own)
        if frozenset((event.part,)) not in known:
            # With what these parts were charged before: nothing of this one.
            others = {frozenset[Hashable](): self.whole, **self.own}
            new = {k | {event.part}: held for k, held in others.items() if len(k) < self.at_once}
            known |= new
        concerned = {k: held.compose(event.event) for k, held in known.items() if event.part in k}
        return replace(self, own=known | concerned)

    def within(self, part: Hashable) -> PartedFilter:
        """Return the filters that a release from a part concerns."""
        own = {parts: held for parts, held in self.own.items() if part in parts}
        if not own:  # Nothing was released from it: it shares the others' charges alone.
            own = {k: held for k, held in self.own.items() if len(k) < self.at_once}
        return replace(self, own=own)

    def tightest(self) -> Any:
        """Return the filter with the least budget left, as a session shows its accountant."""
        return max((self.whole, *self.own.values()), key=lambda held: held.spent)

    def cost(self, event: Any) -> Any:
        return self.whole.cost(event)
