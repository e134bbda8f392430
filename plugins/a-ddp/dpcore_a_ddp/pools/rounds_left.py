"""The filters of all users of a pool at once, and what the pool's ledger says of a round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcore.errors import BudgetExceededError

__all__ = ["JoinedRound", "RoundsLeft"]


@dataclass(frozen=True, slots=True)
class JoinedRound:
    """A pool's entry in its ledger: a round that so many users were charged for."""

    round: int
    users: int


@dataclass(frozen=True, slots=True, eq=False)
class RoundsLeft:
    """The filters of all users at once: a value like an accountant, whose events are the places of
    the users who join one round more.

    ``limits``, ``joined`` : int64 of shape (n_users,). How many rounds a user's own filter holds
    follows from its budget and the rules alone (``rounds_of_users``).
    """

    limits: np.ndarray
    joined: np.ndarray

    @classmethod
    def none(cls, n_users: int) -> RoundsLeft:
        """Return the filters that hold no round, before the rules."""
        return cls(*np.zeros((2, n_users), dtype=np.int64))

    def compose(self, joining: np.ndarray) -> RoundsLeft:
        """Return the filters after a round; BudgetExceededError if one of them does not hold it."""
        joined = self.joined.copy()
        joined[joining] += 1
        if (joined > self.limits).any():
            raise BudgetExceededError("One round more would exceed the budget of a user.")
        return RoundsLeft(self.limits, joined)
