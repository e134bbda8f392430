"""Entries of a ledger that are decided in the light of all before them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dpcore.errors import tell_of_ledger
from dpcore_ledger.chain import Chain
from dpcore_ledger.standing import standing_of_entry
from dpcore_ledger.state import State, state_after, state_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore_ledger.chain import Entry
    from dpcore_ledger.stores.store import Store

__all__ = ["DecidedEntries", "Decision"]

Decision = tuple[str, str, dict[str, Any]]
"""Kind, time and body of an entry."""


class DecidedEntries:
    """The entries of a ledger's file, each added once it is decided by a state of the ledger."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.chain = Chain(path)
        self.path = self.chain.address

    @property
    def store(self) -> Store:
        return self.chain.store

    def close(self) -> None:
        """Close the file, which then is whole by itself; the next call opens it anew."""
        self.store.stays_open = False
        self.store.close()

    def state(self) -> State:
        """Return all that was charged, and to what."""
        return state_of(self.chain.entries())

    def add(
        self,
        decide: Callable[[State], Decision],
        read: Callable[[list[Entry]], State] = state_of,
        tells: bool = True,
    ) -> Entry:
        """Return a new entry, decided in the light of the state that ``read`` makes of all before
        it, with the sums after it.

        What ends it once that is decided, an interrupt too, has a note of whether the ledger has
        the entry, if it ``tells``.
        """
        wanted: list[tuple[int, str, str, dict[str, Any]]] = []

        def decided(entries: list[Entry]) -> Decision:
            state, number = read(entries), len(entries) + 1
            kind, at, body = decide(state)
            after = state_after(state, number, (kind, at, body)).carried()
            wanted.append((number, kind, at, {**body, "after": after}))
            return wanted[-1][1:]

        try:
            return self.chain.added(decided)
        except BaseException as error:
            if wanted and tells:
                self.close()
                tell_of_ledger(error, standing_of_entry(self.chain, wanted[-1]))
            raise
