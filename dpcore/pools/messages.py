"""Messages between users and server, and which of them the server takes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dpcore.pools.terms import Terms, User

__all__ = ["Answers", "Declined", "Inbox", "Rejection", "Reply"]

_TAIL = 45.0
"""A normal deviate beyond has a probability below 2^-1400."""


@dataclass(frozen=True, slots=True, eq=False)
class Reply:
    """A user's noisy gradient of one round: all that the user sends.

    ``values`` : int64 of shape (n_features,), in steps of ``2**-terms.grid_bits``.
    """

    user: str
    round: int
    values: np.ndarray


@dataclass(frozen=True, slots=True)
class Declined:
    """A user does not join a round. That depends on its budget and on public figures alone, and so
    tells its budget. ``reason`` : a sentence; for the last round, or for this one only."""

    user: str
    round: int
    reason: str


@dataclass(frozen=True, slots=True)
class Rejection:
    """A message that the server dropped, and why; it is in no sum. ``user`` : as it said."""

    user: str
    round: int
    reason: str


@dataclass(frozen=True, eq=False)
class Answers:
    """A round as the server has it.

    Parameters
    ----------
    joined : int64, places among the pool's users of those whose replies were taken.
    declined : int64, places of those that declined.
    total : int64 of shape (n_features,), the sum of the replies modulo 2^64.
    messages : int64 of shape (len(joined), n_features), the replies; ``None`` where the server gets
        no more than their sum.
    rejected : messages that were dropped.
    """

    joined: np.ndarray
    declined: np.ndarray
    total: np.ndarray
    messages: np.ndarray | None = None
    rejected: tuple[Rejection, ...] = field(default=())


class Inbox:
    """Takes the messages of a round: each well-formed reply of a known user once, nothing else.

    What is dropped is dropped by what it holds, which is noisy or false, so that nothing private
    decides. A well-formed reply within the public limit cannot be told from an honest one.
    """

    def __init__(self, terms: Terms, users: Sequence[User]) -> None:
        self._terms = terms
        self._places = {user.name: i for i, user in enumerate(users)}
        self._rows = [user.n_rows for user in users]

    def collect(self, index: int, messages: Iterable[Any]) -> Answers:
        """Return round ``index`` from what arrived for it, in any order."""
        replies: dict[int, np.ndarray] = {}
        declined: dict[int, None] = {}
        rejected = []
        for message in messages:
            place = self._places.get(getattr(message, "user", None) or "")
            fault = self._fault(index, message, place)
            if not fault and (place in replies or place in declined):
                fault = "it is the user's second message of the round"
            if fault:
                rejected.append(_rejection(message, fault))
            elif isinstance(message, Declined):
                declined[place] = None  # type: ignore[index]
            else:
                replies[place] = message.values  # type: ignore[index]
        joined = np.array(sorted(replies), dtype=np.int64)
        taken = np.zeros((joined.size, self._terms.n_features), dtype=np.int64)
        for row, place in zip(taken, joined, strict=True):
            row[:] = replies[int(place)]
        away = np.array(sorted(declined), np.int64)
        if not self._terms.is_secure:
            return Answers(joined, away, taken.sum(axis=0), taken, tuple(rejected))
        if joined.size < self._terms.threshold:  # not to be opened
            joined, taken = joined[:0], taken[:0]
        return Answers(joined, away, taken.sum(axis=0), None, tuple(rejected))

    def _fault(self, index: int, message: Any, place: int | None) -> str:
        """Return why a message is dropped, as a clause; empty if it is not."""
        if not isinstance(message, (Reply, Declined)):
            return "it is no message of a user"
        if place is None:
            return "no such user is known"
        if type(message.round) is not int or message.round != index:
            return "it is of another round"
        if isinstance(message, Declined):
            return ""
        values = message.values
        if not isinstance(values, np.ndarray) or values.dtype != np.int64:
            return "its values are not whole numbers of 64 bits"
        if values.shape != (self._terms.n_features,):
            return f"it has not {self._terms.n_features} values"
        if self._terms.is_secure:
            return ""  # A masked message may hold anything.
        # In floats, in which no size can overflow.
        if values.size and float(np.abs(values.astype(np.float64)).max()) > self._limit(place):
            return "a value is larger than clipped gradients and noise can be"
        return ""

    def _limit(self, place: int) -> float:
        draws = self._rows[place] if self._terms.rate is not None else 1
        reach = self._terms.clip * draws + _TAIL * self._terms.sigma
        return math.ldexp(reach, self._terms.grid_bits) + 1.0


def _rejection(message: Any, reason: str) -> Rejection:
    user, index = getattr(message, "user", ""), getattr(message, "round", -1)
    return Rejection(
        user if isinstance(user, str) else "", index if type(index) is int else -1, reason
    )
