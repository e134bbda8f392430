"""One user: rows, budget, filter, ledger and secret entropy of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dpcore.engines.local import LocalEngine
from dpcore.errors import InvalidInputError
from dpcore.noise.entropy import Unshareable
from dpcore.noise.source import SystemNoise
from dpcore.pools.budgets import rounds_within
from dpcore.pools.ledger import Ledger
from dpcore.pools.messages import Declined, Reply
from dpcore.pools.terms import Terms
from dpcore.session.session import TableSession

if TYPE_CHECKING:
    from dpcore.data.dataset import Dataset
    from dpcore.noise.source import NoiseSource
    from dpcore.pools.terms import User
    from dpcore.protocols import Accountant, Loss

__all__ = ["UserSession"]


class UserSession(Unshareable):
    """Answers the rounds of one run with noisy gradients, as long as the user's own budget lasts.

    It evaluates what one round *more* would cost, and joins only if that stays within the budget;
    then it debits its ledger, then draws the sample and the noise, then stores what it sends. A
    round that comes again gets the stored reply, or, at other parameters, none. An empty sample is
    answered with noise as well.

    .. warning::
       Whether it joins depends on its budget and on public figures alone. That tells its budget to
       whoever sees who answers.

    Privacy: everything it ever sends is (epsilon, delta)-DP for one of its rows, under the terms'
    relation: the releases of ``TableSession`` under a filter of its own. With ``sampling=pass``
    each row has a session of its own, and a round asks one of them (parallel composition: the rows'
    releases are of disjoint data, in a fixed order).

    Parameters
    ----------
    user : its public facts. ``n_rows`` has to be the number of its rows.
    data : its rows.
    terms : what it agrees to. Noise of none, and terms as published, it refuses.
    accountant : its empty filter, of its own budget.
    noise : ``None`` for the system's entropy.
    ledger : ``None`` for one in memory.
    mask : round to the mask, int64 of shape (n_features,), that a secure aggregation takes off the
        sum, modulo 2^64: needed under that trust, and refused under another.

    Raises InvalidInputError for rows, terms and filter that do not fit each other.
    """

    def __init__(
        self,
        user: User,
        data: Dataset,
        loss: Loss,
        terms: Terms,
        accountant: Accountant,
        noise: NoiseSource | None = None,
        ledger: Ledger | None = None,
        mask: Callable[[int], np.ndarray] | None = None,
    ) -> None:
        _check(user, data, loss, terms, accountant)
        if terms.is_secure != (mask is not None):
            raise InvalidInputError(
                "Expected the masks of a secure aggregation with terms of that trust, and only "
                "there: a message with a share of the noise must not leave a user unmasked."
            )
        self._mask = mask
        self.user, self._terms, self._loss = user, terms, loss
        self._ledger = ledger or Ledger()
        noise = noise or SystemNoise()
        alone = terms.sampling == "pass"
        rows = [np.arange(user.n_rows) == i for i in range(user.n_rows)]
        parts = [data.take(row) for row in rows] if alone else [data]
        past = self._counted = len(self._ledger.debits)
        self._sessions = []
        for i, part in enumerate(parts):
            filled = accountant
            for _ in range(i, past, len(parts)):
                filled = filled.compose(terms.event(user.n_rows))
            engine = LocalEngine(part.table(), threads=1)
            self._sessions.append(TableSession(engine, filled, terms.neighbors, noise))

    @property
    def rounds_joined(self) -> int:
        return len(self._ledger.debits)

    def answer(self, index: int, w: np.ndarray) -> Reply | Declined:
        """Return the reply to round ``index``, or that the user does not join.

        ``w`` : float64 of shape (n_features,), public. Rounds come in rising order; one that was
        answered may come again.

        Raises InvalidInputError for parameters that are not finite or of another width.
        """
        if type(index) is not int or index < 0:
            raise InvalidInputError(f"Expected round={index!r} to be a whole number >= 0.")
        with self._ledger.turn:
            return self._answer(index, w)

    def _answer(self, index: int, w: np.ndarray) -> Reply | Declined:
        point = self._point(w)
        asked = hashlib.sha256(point.astype("<f8").tobytes()).hexdigest()
        stored = self._ledger.replies.get(index)
        if stored is not None and self._ledger.asked[index] == asked:
            return Reply(self.user.name, index, stored.copy())
        if stored is not None:
            return self._declined(index, "The round was answered at other parameters.")
        if self._ledger.debits and index <= self._ledger.debits[-1]:
            return self._declined(index, "The round is over: it was not joined, or its reply lost.")
        if len(self._ledger.debits) != self._counted:
            raise InvalidInputError("Another session spent from this ledger; open a new one on it.")
        session = self._sessions[self.rounds_joined % len(self._sessions)]
        query = self._terms.query(self._loss, point, self.user.n_rows)
        if not rounds_within(session.accountant, self._terms.event(self.user.n_rows), 1):
            return self._declined(index, "One round more would exceed the user's budget.")
        session.rehearse(query)
        self._ledger.debit(index)
        self._counted += 1
        value = session.release(query, self._terms.mechanism)
        # Steps of the grid, far below 2^53: the session's floats hold them exactly.
        values = np.ldexp(value, self._terms.grid_bits).astype(np.int64)
        if self._mask is not None:
            values = values + self._mask(index)  # modulo 2^64
        self._ledger.store(index, values, asked)
        return Reply(self.user.name, index, values.copy())

    def _declined(self, index: int, reason: str) -> Declined:
        return Declined(self.user.name, index, reason)

    def _point(self, w: np.ndarray) -> np.ndarray:
        point = np.asarray(w, dtype=np.float64)
        if point.shape != (self._terms.n_features,):
            raise InvalidInputError(f"Expected parameters w of {self._terms.n_features} values.")
        return point


def _check(user: User, data: Dataset, loss: Loss, terms: Terms, accountant: Accountant) -> None:
    Terms.require(terms)
    if terms.noise_multiplier == 0 or terms.as_published:
        raise InvalidInputError("A user agrees to no terms that are not private.")
    if user.n_rows < 1 or data.X.shape[0] != user.n_rows:
        raise InvalidInputError(f"Expected user {user.name!r} to have its {user.n_rows} rows.")
    if loss.name != terms.loss:
        raise InvalidInputError(f"Expected loss={loss.name!r} to be that of the terms.")
    facts = (data.n_features, data.row_norm, data.raw_norm_bound)
    if facts != (terms.n_features, terms.row_norm, terms.raw_norm_bound):
        raise InvalidInputError("The terms are for rows of another width or other bounds.")
    if (accountant.epsilon, accountant.delta) != (user.epsilon, user.delta):
        raise InvalidInputError(f"The filter of user {user.name!r} has another budget.")
    if data.rows_dropped:
        raise InvalidInputError("The number of a user's rows is public: no row may be dropped.")
