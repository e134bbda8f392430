"""Messages between users and server, and which of them the server takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

if TYPE_CHECKING:
    from dpcore.plugin import NeighboringRelation

__all__ = ["Answers", "Declined", "Inbox", "Rejection", "Reply", "RoundRules", "User"]


class User(NamedTuple):
    """The public facts of a user: its name, how many rows it has, and its budget.

    A tuple: nothing of it can be set, so that pools hand it out as it is.

    ``epsilon``, ``delta`` : what the user's own filter enforces, over everything it ever sends.

    Examples
    --------
    >>> from dpcore_a_ddp.users.messages import User
    >>> User("ward-7", n_rows=120, epsilon=1.0, delta=1e-6).epsilon
    1.0
    """

    name: str
    n_rows: int
    epsilon: float
    delta: float


class RoundRules(Protocol):
    """The rules that users and server agree on beforehand: public, the same in every round.

    Whatever else they say is between the optimizer and its pool.
    """

    @property
    def n_features(self) -> int:
        """The length of a reply."""

    @property
    def is_secure(self) -> bool:
        """Whether the server gets sums alone."""

    @property
    def threshold(self) -> int:
        """The number of users without whom no sum is opened; 0 where messages are read."""

    @property
    def server_sees(self) -> str:
        """A clause of the privacy statement that says what the server gets to see."""

    def largest_message(self, n_rows: int) -> float:
        """Return a bound of the values, in grid steps, that a user of so many rows can send."""

    def why_not_private(self, relation: NeighboringRelation) -> tuple[str, ...]:
        """Return what voids a guarantee under the relation, as clauses; empty for nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Reply:
    """A user's noisy gradient of one round: all that the user sends.

    ``values`` : int64 of shape (n_features,), in steps of ``2**-rules.grid_bits``.
    """

    user: str
    round: int
    values: np.ndarray


@dataclass(frozen=True, slots=True)
class Declined:
    """A user does not join a round. That depends on its budget and on public values alone, and so
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

    def __init__(self, rules: RoundRules, users: Sequence[User]) -> None:
        self._rules = rules
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
        taken = np.zeros((joined.size, self._rules.n_features), dtype=np.int64)
        for row, place in zip(taken, joined, strict=True):
            row[:] = replies[int(place)]
        away = np.array(sorted(declined), np.int64)
        if not self._rules.is_secure:
            return Answers(joined, away, taken.sum(axis=0), taken, tuple(rejected))
        if joined.size < self._rules.threshold:  # not to be opened
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
        if values.shape != (self._rules.n_features,):
            return f"it has not {self._rules.n_features} values"
        if self._rules.is_secure:
            return ""  # A masked message may hold anything.
        # In floats, in which no size can overflow.
        limit = self._rules.largest_message(self._rows[place])
        if values.size and float(np.abs(values.astype(np.float64)).max()) > limit:
            return "a value is larger than clipped gradients and noise can be"
        return ""


def _rejection(message: Any, reason: str) -> Rejection:
    user, index = getattr(message, "user", ""), getattr(message, "round", -1)
    return Rejection(
        user if isinstance(user, str) else "", index if type(index) is int else -1, reason
    )
