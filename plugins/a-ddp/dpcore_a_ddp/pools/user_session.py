"""One user: rows, budget, filter, ledger and secret entropy of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import (
    Account,
    LocalEngine,
    NoiseSource,
    TableSession,
    Unshareable,
)
from dpcore_a_ddp.pools.round_ledger import RoundLedger
from dpcore_a_ddp.pools.round_rules import GradientRounds
from dpcore_a_ddp.pools.sum_rules import delta_of_rounds, rounds_before_failure
from dpcore_a_ddp.pools.user_budgets import MOST_ROUNDS, filter_of_rounds, rounds_within
from dpcore_a_ddp.users.messages import Declined, Reply

if TYPE_CHECKING:
    from dpcore.plugin import Accountant, Loss
    from dpcore.plugin.parts import Dataset
    from dpcore_a_ddp.users.messages import User

__all__ = ["UserSession", "require_rows_as_given", "user_seed"]


def user_seed(seed: int, name: str) -> int:
    """Return the seed of one user's sample and noise, in a run with a seed."""
    text = f"dpcore user {seed} {name}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


class UserSession(Unshareable):
    """Answers the rounds of one run with noisy gradients, as long as the user's own budget lasts.

    It evaluates what one round *more* would cost, and joins only if that stays within the budget;
    then it debits its ledger, then draws the sample and the noise, then stores what it sends. A
    round that comes again gets the stored reply, or, at other parameters, none. An empty sample is
    answered with noise as well.

    .. warning::
       Whether it joins depends on its budget and on public values alone. That tells its budget to
       whoever sees who answers.

    Privacy: everything it ever sends is (epsilon, delta)-DP for one of its rows, under the rules'
    relation: the releases of ``TableSession`` under a filter of its own. With ``sampling=pass``
    each row has a session of its own, and a round asks one of them (parallel composition: the rows'
    releases are of disjoint data, in a fixed order).

    Parameters
    ----------
    user : its public facts. ``n_rows`` has to be the number of its rows.
    data : its rows.
    rules : what it agrees to. Noise of none, and rules as published, it refuses.
    accountant : its empty filter, of its own budget (``delta_of_rounds`` of its delta).
    noise : ``None`` for the system's entropy.
    ledger : ``None`` for one in memory.
    mask : round to the mask, int64 of shape (n_features,), that a secure aggregation takes off the
        sum, modulo 2^64: needed under that trust, and refused under another.

    Raises InvalidInputError for rows, rules and filter that do not fit each other.
    """

    def __init__(
        self,
        user: User,
        data: Dataset,
        loss: Loss,
        rules: GradientRounds,
        accountant: Accountant,
        noise: NoiseSource | None = None,
        ledger: RoundLedger | None = None,
        mask: Callable[[int], np.ndarray] | None = None,
    ) -> None:
        rules = GradientRounds.agreed(rules)
        _check(user, data, loss, rules, accountant)
        if rules.is_secure != (mask is not None):
            raise InvalidInputError(
                "Expected the masks of a secure aggregation with rules of that trust, and only "
                "there: a message with a share of the noise must not leave a user unmasked."
            )
        self._mask = mask
        self.user, self._rules, self._loss = user, rules, loss
        self._ledger = RoundLedger() if ledger is None else ledger
        noise = noise or NoiseSource.of_seed()
        alone = rules.sampling == "pass"
        rows = [np.arange(user.n_rows) == i for i in range(user.n_rows)]
        parts = [data.take(row) for row in rows] if alone else [data]
        past = self._counted = len(self._ledger)
        self._own = rules.of_budget(user.epsilon)
        self._event = self._own.event(user.n_rows)
        accountant = filter_of_rounds(accountant, self._event)
        self._sessions, self._accounts = [], []
        for i, part in enumerate(parts):
            filled = accountant
            for _ in range(i, past, len(parts)):
                filled = filled.compose(self._event)
            engine = LocalEngine(part.table(), threads=1)
            # A share of the noise is enough only where the message is masked.
            session = TableSession(
                engine, filled, rules.neighbors, noise, takes_shares=rules.is_secure
            )
            self._sessions.append(session)
            self._accounts.append(Account(filled, self._ledger))

    @property
    def rounds_joined(self) -> int:
        return len(self._ledger)

    def answer(self, index: int, w: np.ndarray) -> Reply | Declined:
        """Return the reply to round ``index``, or that the user does not join.

        ``w`` : float64 of shape (n_features,), public. Rounds come in rising order; an answered
        round may come again.

        Raises InvalidInputError for parameters that are not finite or of another width.
        """
        if type(index) is not int or index < 0:
            raise InvalidInputError(f"Expected round={index!r} to be a whole number >= 0.")
        with self._ledger.turn:
            return self._answer(index, w)

    def declines(self, index: int) -> Declined | None:
        """Return why the user will not join a round that it was not asked for before, by its budget
        and public values alone; ``None`` where it can. Nothing is spent."""
        debits = self._ledger.entries
        if debits and index <= debits[-1]:
            return self._declined(index, "The round is over: it was not joined, or its reply lost.")
        if len(debits) != self._counted:
            raise InvalidInputError("Another session spent from this ledger; open a new one on it.")
        fit = rounds_before_failure(self._rules, self.user.delta, MOST_ROUNDS)
        account = self._accounts[len(debits) % len(self._sessions)]
        if len(debits) >= fit or not rounds_within(account.filter, self._event, 1):
            return self._declined(index, "One round more would exceed the user's budget.")
        return None

    def _answer(self, index: int, w: np.ndarray) -> Reply | Declined:
        point = self._point(w)
        asked = hashlib.sha256(point.astype("<f8").tobytes()).hexdigest()
        stored = self._ledger.replies.get(index)
        if stored is not None and self._ledger.asked[index] == asked:
            return Reply(self.user.name, index, stored.copy())
        if stored is not None:
            return self._declined(index, "The round was answered at other parameters.")
        declined = self.declines(index)
        if declined is not None:
            return declined
        place = len(self._ledger) % len(self._sessions)
        session, account = self._sessions[place], self._accounts[place]
        query = self._own.query(self._loss, point, self.user.n_rows)
        session.dry_run(query)

        def draw() -> np.ndarray:
            self._counted += 1
            return session.release(query, self._own.mechanism)

        value = account.charge_then_draw(self._event, lambda: index, draw)
        # Steps of the grid, far below 2^53: the session's floats hold them exactly.
        values = np.ldexp(value, self._rules.grid_bits).astype(np.int64)
        if self._mask is not None:
            values = values + self._mask(index)  # modulo 2^64
        self._ledger.store(index, values, asked)
        return Reply(self.user.name, index, values.copy())

    def _declined(self, index: int, reason: str) -> Declined:
        return Declined(self.user.name, index, reason)

    def _point(self, w: np.ndarray) -> np.ndarray:
        point = np.asarray(w, dtype=np.float64)
        if point.shape != (self._rules.n_features,):
            raise InvalidInputError(f"Expected parameters w of {self._rules.n_features} values.")
        return point


def _check(
    user: User, data: Dataset, loss: Loss, rules: GradientRounds, accountant: Accountant
) -> None:
    if rules.noise_multiplier == 0 or rules.as_published:
        raise InvalidInputError("A user agrees to no rules that are not private.")
    if user.n_rows < 1 or data.X.shape[0] != user.n_rows:
        raise InvalidInputError(f"Expected user {user.name!r} to have its {user.n_rows} rows.")
    if loss.name != rules.loss:
        raise InvalidInputError(f"Expected loss={loss.name!r} to be that of the rules.")
    facts = (data.n_features, data.row_norm, data.raw_norm_bound)
    if facts != (rules.n_features, rules.row_norm, rules.raw_norm_bound):
        raise InvalidInputError("The rules are for rows of another width or other bounds.")
    if (accountant.epsilon, accountant.delta) != (user.epsilon, delta_of_rounds(rules, user.delta)):
        raise InvalidInputError(f"The filter of user {user.name!r} has another budget.")
    require_rows_as_given(data)


def require_rows_as_given(data: Dataset) -> None:
    """Raise InvalidInputError for rows that are left of more, or that have units. A round is
    charged for one row, by the public number of a user's rows, and a unit's rows would move what is
    sent k times as far."""
    if data.units is not None:
        raise InvalidInputError(
            "A user is charged for one row, and its schema asks for units of several rows: take "
            "unit and rows_per_unit out of it, or fit where all rows are in one place."
        )
    if data.rows_dropped:
        raise InvalidInputError("The number of a user's rows is public: no row may be dropped.")
