"""Users with a session each, whose messages are masked by the protocol of secure sums itself."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import BudgetExceededError
from dpcore.plugin import InvalidInputError
from dpcore_a_ddp.pools.one_process_pool import OneProcessPool
from dpcore_a_ddp.pools.round_rules import GradientRounds
from dpcore_a_ddp.pools.sum_rules import sums_of
from dpcore_a_ddp.pools.user_budgets import MakeFilter, rounds_of_users
from dpcore_a_ddp.secure_sums.context import Identity, Members, RoundContext
from dpcore_a_ddp.secure_sums.driver import Carry, carried, run_round
from dpcore_a_ddp.secure_sums.journal import RoundJournal
from dpcore_a_ddp.secure_sums.primitives import require_primitives
from dpcore_a_ddp.secure_sums.server import SumServer
from dpcore_a_ddp.secure_sums.user import SumUser
from dpcore_a_ddp.users.messages import Answers, Rejection, Reply

if TYPE_CHECKING:
    from dpcore_a_ddp.pools.user_session import UserSession
    from dpcore_a_ddp.secure_sums.server import OpenedSum
    from dpcore_a_ddp.users.messages import User

__all__ = ["MaskedPool", "OpenSession", "answers_of"]

Mask = Callable[[int], np.ndarray]
OpenSession = Callable[[GradientRounds, int, Mask], "UserSession"]


class _Masked:
    """A user of the pool: its session, its identity, its journal, and the mask of this round."""

    def __init__(self, place: int, rules: GradientRounds, open_session: OpenSession) -> None:
        self.place, self.identity = place, Identity.fresh()
        self.journal = RoundJournal()
        self._mask = np.empty(0, dtype=np.int64)
        self.session = open_session(rules, place, lambda index: self._mask)

    def side(self, context: RoundContext, w: np.ndarray) -> SumUser:
        """Return the user's side of a round: its session charges and draws only when all that the
        protocol can check before has been checked."""

        def contribute(mask: np.ndarray) -> np.ndarray | None:
            self._mask = mask
            reply = self.session.answer(context.round, w)
            return reply.values if isinstance(reply, Reply) else None

        return SumUser(context, self.place, self.identity, contribute, self.journal)


class MaskedPool(OneProcessPool):
    """A ``UserPool`` whose users and server speak the protocol of ``secure_sums``, in this process.

    What the optimizer gets of a round is what a server could open. A sum is right or not opened;
    with the same seeds it is that of ``InProcessPool`` over the same users, to the bit. A user who
    is lost after it drew is charged, whether it is in the sum or not.

    Parameters
    ----------
    users : their public facts.
    open_session : rules, the place of a user, and where its session gets its masks, to the session.
    make_filter : epsilon and delta to an empty accountant, to tell how many rounds there can be.
    carry : for tests: what arrives of each message.
    """

    def __init__(
        self,
        users: Sequence[User],
        open_session: OpenSession,
        make_filter: MakeFilter,
        carry: Carry = carried,
    ) -> None:
        require_primitives()
        super().__init__(users, make_filter, None, "secure-aggregation")
        self._limits = np.zeros(len(users), dtype=np.int64)
        self._open, self._carry = open_session, carry
        self._masked: tuple[_Masked, ...] = ()
        self._members: Members | None = None
        self._next = 0

    @property
    def rounds_allowed(self) -> np.ndarray:
        return self._limits.copy()

    @property
    def rounds_joined(self) -> np.ndarray:
        return np.array([user.session.rounds_joined for user in self._masked], dtype=np.int64)

    def begin(self, rules: GradientRounds, most: int) -> np.ndarray:
        self._require_this_process()
        rules = GradientRounds.agreed(rules)
        if rules.trust != self.trust or rules.listed not in (0, len(self.users)):
            raise InvalidInputError("Expected rules of secure-aggregation, for as many users.")
        # Refused here, before anything is spent: a threshold that lets two sums be opened.
        rules = dataclasses.replace(rules, listed=len(self.users), masked=True)
        with self._lock:
            self._require_no_rules()
            limits = rounds_of_users(self.users, rules, self._make_filter, int(most))
            if np.count_nonzero(limits) < rules.threshold:
                raise BudgetExceededError(
                    f"Fewer than {rules.threshold} users can join the first round: no sum would be "
                    "opened. Nothing was spent. Raise the budgets, or take more noise."
                )
            places = range(len(self.users))
            self._masked = tuple(_Masked(place, rules, self._open) for place in places)
            names = tuple(user.name for user in self.users)
            keys = tuple(user.identity.public for user in self._masked)
            self._members, self._rules, self._limits = Members(names, keys), rules, limits
        return limits.copy()

    def round(self, index: int, w: np.ndarray) -> Answers:
        self._require_this_process()
        with self._lock:
            rules = self._rules
            if rules is None or index < self._next:
                raise InvalidInputError("Expected rounds in rising order, after the rules.")
            self._next = index + 1
            return self._round(rules, index, np.asarray(w, dtype=np.float64))

    def _round(self, rules: GradientRounds, index: int, w: np.ndarray) -> Answers:
        able = self.rounds_joined < self._limits
        if np.count_nonzero(able) < rules.threshold:
            able[:] = False  # No sum would be opened: nobody joins, nobody is charged.
        none = np.zeros(rules.n_features, dtype=np.int64)
        declined = np.flatnonzero(~able)
        if not able.any():
            return Answers(np.empty(0, dtype=np.int64), declined, none)
        context = self._context(rules, index, w)
        server = SumServer(context)
        sides = {int(place): self._masked[place].side(context, w) for place in np.flatnonzero(able)}
        opened = run_round(sides, server, self._carry)
        return answers_of(index, opened, server, declined, none)

    def _context(self, rules: GradientRounds, index: int, w: np.ndarray) -> RoundContext:
        parameters = sums_of(rules)
        assert parameters is not None and self._members is not None
        question = hashlib.sha256(w.astype("<f8").tobytes()).digest()
        agreed = rules.digest.encode("ascii")
        return RoundContext(self._members, parameters, index, rules.n_features, agreed, question)


def answers_of(
    index: int,
    opened: OpenedSum | None,
    server: SumServer,
    declined: np.ndarray,
    none: np.ndarray,
) -> Answers:
    """Return a round as the server has it; without a sum, why, in place of a rejected message."""
    rejected = [Rejection(sender, index, reason) for sender, reason in server.dropped]
    if opened is None:
        reason = f"no sum was opened: {server.failed}"
        rejected.append(Rejection("", index, reason))
        return Answers(np.empty(0, dtype=np.int64), declined, none, None, tuple(rejected))
    joined = np.array(opened.places, dtype=np.int64)
    return Answers(joined, declined, opened.total, None, tuple(rejected))
