"""All users in one process, round by round at once: for experiments, and for tests of deployments.

Whoever runs it can read every user's rows. What it gives to the optimizer is what a server would
get, and with a seed every message is that of the user's own ``UserSession``, to the bit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpcore.errors import BudgetExceededError
from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import (
    Account,
    ChargeLog,
    LocalEngine,
    NoiseSource,
    SeededNoise,
    TableSession,
)
from dpcore_a_ddp.pools.noise_ahead import NoiseAhead
from dpcore_a_ddp.pools.one_process_pool import OneProcessPool
from dpcore_a_ddp.pools.pooled_rows import PooledRows
from dpcore_a_ddp.pools.round_rules import GradientRounds
from dpcore_a_ddp.pools.rounds_left import JoinedRound, RoundsLeft
from dpcore_a_ddp.pools.rule_checks import TRUST_MODELS
from dpcore_a_ddp.pools.samples import Samples
from dpcore_a_ddp.pools.user_budgets import Filters, MakeFilter, rounds_of_users
from dpcore_a_ddp.pools.user_session import require_rows_as_given, user_seed
from dpcore_a_ddp.pools.users_file import alike_users, read_users
from dpcore_a_ddp.users.messages import Answers, User
from dpcore_accounting.best import BestAccountant

if TYPE_CHECKING:
    from dpcore.plugin import Accountant, Loss
    from dpcore.plugin.parts import Dataset

__all__ = ["InProcessPool"]

Absent = Callable[[int], np.ndarray]


class InProcessPool(OneProcessPool):
    """A ``UserPool`` whose users are vectorised over.

    A user joins a round only if one round more stays within its budget, and is charged before its
    sample is drawn and its noise is taken. How many rounds that makes follows from its budget and
    the rules alone, so it is worked out once, when the rules are agreed on.

    Parameters
    ----------
    users : who owns the rows: the first ``users[0].n_rows``, then ``users[1].n_rows``, and so on.
    data : the rows, as many as the users own.
    make_filter : epsilon and delta to an empty accountant.
    seed : for tests and figures; ``None`` for the system's entropy.
    reference : the public epsilon and delta that the noise is planned for; ``None`` for the users'
        lower medians.
    trust : what the server gets: every message, or, under ``secure-aggregation``, the sum alone.
    threads : how many may draw noise; ``None`` for all available.
    absent : for tests: round to a bool array of shape (n_users,), true for those that do not hear
        of it. They are not charged.

    Raises InvalidInputError for users that do not own the rows, or none.
    """

    def __init__(
        self,
        users: Sequence[User],
        data: Dataset,
        loss: Loss,
        make_filter: MakeFilter,
        seed: int | None = None,
        absent: Absent | None = None,
        reference: tuple[float, float] | None = None,
        trust: str = "local",
        threads: int | None = None,
    ) -> None:
        self._sizes = np.array([user.n_rows for user in users], dtype=np.int64)
        n_rows = int(data.X.shape[0])
        if not users or (self._sizes < 1).any() or int(self._sizes.sum()) != n_rows:
            raise InvalidInputError(
                f"Expected users of one row or more, who together own the {n_rows} rows."
            )
        require_rows_as_given(data)
        super().__init__(users, make_filter, reference, trust)
        self._samples = Samples(self._sizes)
        self._rows, self._loss = PooledRows(data), loss
        self._facts = (loss.name, data.n_features, data.row_norm, data.raw_norm_bound)
        self._absent, self._threads = absent, threads or LocalEngine.available_threads()
        self._noises: tuple[NoiseSource, ...]
        if seed is None:
            self._noises = (NoiseSource.of_seed(),)
        else:
            self._noises = tuple(SeededNoise(user_seed(seed, user.name)) for user in users)
        self._seeded = seed is not None
        self._ahead: NoiseAhead | None = None
        self._account = Account(RoundsLeft.none(len(self.users)), ChargeLog[JoinedRound]())
        self._next = 0
        self._groups: list[tuple[GradientRounds, np.ndarray]] = []
        self._held = self.rounds_allowed

    @classmethod
    def open(
        cls,
        users: Any,
        dataset: Dataset,
        loss: Loss,
        accountant: Accountant,
        rows_per_user: int,
        reference: tuple[float, float] | None,
        trust: str | None,
        threads: int | None,
        seed: int | None,
    ) -> Self:
        trust = TRUST_MODELS[0] if trust is None else trust
        if trust not in TRUST_MODELS:
            raise InvalidInputError(f"Expected trust={trust!r} to be {' or '.join(TRUST_MODELS)}.")
        if isinstance(accountant, BestAccountant) and users is not None:
            raise InvalidInputError(
                "Users of several budgets need one accountant by name, not best."
            )
        n_rows = int(dataset.X.shape[0])
        if users is None:
            users = alike_users(n_rows, rows_per_user, accountant.epsilon, accountant.delta)
        elif not isinstance(users, (list, tuple)):
            users = read_users(users, n_rows, rows_per_user)
        elif not all(isinstance(user, User) for user in users):
            raise InvalidInputError(
                "Expected users to be a path, or dpcore_a_ddp.users.messages.User objects."
            )
        filters = Filters(accountant)
        return cls(users, dataset, loss, filters, seed, None, reference, trust, threads)

    @classmethod
    def checks(cls) -> tuple[Callable[[Any], Any], ...]:
        from dpcore_a_ddp.checks import POOL_CHECKS

        return POOL_CHECKS

    @property
    def rounds_allowed(self) -> np.ndarray:
        """How many rounds each user may join under the rules, int64 of shape (n_users,)."""
        return self._account.filter.limits.copy()

    @property
    def rounds_joined(self) -> np.ndarray:
        """How many rounds each user was charged for, int64 of shape (n_users,)."""
        return self._account.filter.joined.copy()

    @property
    def rules(self) -> GradientRounds | None:
        late = bool((self.rounds_joined > self._held).any())
        return None if self._rules is None else dataclasses.replace(self._rules, left_late=late)

    def begin(self, rules: GradientRounds, most: int) -> np.ndarray:
        self._require_no_rules()
        rules, most = GradientRounds.agreed(rules), int(most)
        if (rules.loss, rules.n_features, rules.row_norm, rules.raw_norm_bound) != self._facts:
            raise InvalidInputError("The rules are for another loss, or rows of other bounds.")
        if rules.noise_multiplier == 0:
            limits = np.full(len(self.users), most, dtype=np.int64)
        else:
            limits = rounds_of_users(self.users, rules, self._make_filter, most)
        held = limits
        if rules.as_published:  # delta is looked at after the round
            limits = np.minimum(most, limits + 1)
        if rules.trust != self.trust or rules.listed not in (0, len(self.users)):
            raise InvalidInputError(f"Expected rules of trust={self.trust!r} and of these users.")
        if np.count_nonzero(limits) < rules.threshold:
            limits[:] = 0
        if not limits.any():
            raise BudgetExceededError(
                f"No user can join the first round: noise of {rules.noise_multiplier:.4g} times "
                "the sensitivity costs more than their budgets. Nothing was spent. Raise the "
                "budgets, or take more noise (a larger number of rounds to plan for)."
            )
        TableSession.load_now(lambda: self._dry_run(rules))
        with self._lock:
            self._require_no_rules()
            self._rules, self._held, ledger = rules, held, self._account.ledger
            self._groups = self._grouped(rules)
            self._ahead = NoiseAhead.of(rules, self._noises[0], len(self.users), self._threads)
            self._account = Account(RoundsLeft(limits, np.zeros_like(limits)), ledger)
        return limits.copy()

    def _grouped(self, rules: GradientRounds) -> list[tuple[GradientRounds, np.ndarray]]:
        """Return the rules as users of each share carry them out, and who these users are: bool of
        shape (n_users,)."""
        owned = [rules.of_budget(user.epsilon) for user in self.users]
        return [(own, np.array([other == own for other in owned])) for own in dict.fromkeys(owned)]

    def _dry_run(self, rules: GradientRounds) -> None:
        """Load what a round needs: gradients of no rows, and noise that is nobody's."""
        none, width = np.empty(0, dtype=np.int64), rules.n_features
        c = self._coefficients(rules, np.zeros(width), none)
        self._rows.add_gradients(rules.grid_bits, none, none, c, np.empty((0, width), np.int64))
        NoiseSource.load_kernels(width * len(self.users))
        self._noise(rules, SeededNoise(0), (width,))

    def round(self, index: int, w: np.ndarray) -> Answers:
        self._require_this_process()
        with self._lock:
            return self._round(index, w)

    def _round(self, index: int, w: np.ndarray) -> Answers:
        rules = self._rules
        if rules is None or index < self._next:
            raise InvalidInputError("Expected rounds in rising order, after the rules.")
        if np.shape(w) != (rules.n_features,):
            raise InvalidInputError(f"Expected parameters w of {rules.n_features} values.")
        heard = np.ones(len(self.users), dtype=bool)
        if self._absent is not None:
            heard = ~np.asarray(self._absent(index), dtype=bool)
        left: RoundsLeft = self._account.filter
        able = left.joined < left.limits
        if np.count_nonzero(able & heard) < rules.threshold:
            able[:] = False  # No sum would be opened: nobody joins, nobody is charged.
        joined, declined = np.flatnonzero(able & heard), np.flatnonzero(~able & heard)
        visits = left.joined[joined]
        self._next = index + 1
        answer = self._answer_each if self._seeded else self._answer_all
        messages = self._account.charge_then_draw(
            joined,
            lambda: JoinedRound(index, joined.size),
            lambda: answer(rules, w, joined, visits),
        )
        total = messages.sum(axis=0)
        # Masked messages would add up to the same; what each of them hides stays in here.
        return Answers(joined, declined, total, None if rules.is_secure else messages)

    def _answer_all(
        self, rules: GradientRounds, w: np.ndarray, joined: np.ndarray, visits: np.ndarray
    ) -> np.ndarray:
        """Return the messages from one stream; where the server gets their sum alone, and all users
        are in it, that sum as one message: the shares add up to Skellam noise of a known
        distribution."""
        noise, shape = self._noises[0], (joined.size, rules.n_features)
        drawn = []
        for own, members in self._groups:
            these = np.flatnonzero(members[joined])
            if these.size:
                rows, at = self._draw(own, joined[these], visits[these], noise)
                drawn.append((rows, these[at], self._coefficients(own, w, rows)))
        if rules.is_secure and joined.size == len(self.users):
            out = rules.draw_sum(noise, joined.size)[np.newaxis]
            drawn = [(rows, np.zeros_like(places), c) for rows, places, c in drawn]
        elif self._ahead is not None:
            out = self._ahead.take(shape)
        else:
            out = self._noise(rules, noise, shape)
        for rows, places, c in drawn:
            self._rows.add_gradients(rules.grid_bits, rows, places, c, out)
        return out

    def _answer_each(
        self, rules: GradientRounds, w: np.ndarray, joined: np.ndarray, visits: np.ndarray
    ) -> np.ndarray:
        """Return the messages from every user's own stream, in the order of a user's own session:
        first the sample, then the noise."""
        out = np.empty((joined.size, rules.n_features), dtype=np.int64)
        for own, members in self._groups:
            drawn, places = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
            for i in np.flatnonzero(members[joined]):
                noise, one = self._noises[joined[i]], slice(i, i + 1)
                rows, _ = self._draw(own, joined[one], visits[one], noise)
                drawn.append(rows)
                places.append(np.full(rows.size, i))
                out[i] = self._noise(own, noise, (rules.n_features,))
            rows = np.concatenate(drawn)
            c = self._coefficients(own, w, rows)
            self._rows.add_gradients(rules.grid_bits, rows, np.concatenate(places), c, out)
        return out

    def _coefficients(self, own: GradientRounds, w: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return self._rows.coefficients(own.gradient(self._loss, w, 1), rows, self._loss)

    def _noise(
        self, rules: GradientRounds, noise: NoiseSource, shape: tuple[int, ...]
    ) -> np.ndarray:
        if rules.noise_multiplier == 0:
            return np.zeros(shape, dtype=np.int64)
        return rules.draw(noise, shape, self._threads)

    def _draw(
        self, rules: GradientRounds, joined: np.ndarray, visits: np.ndarray, noise: NoiseSource
    ) -> tuple[np.ndarray, np.ndarray]:
        return self._samples.draw(rules, joined, visits, noise)
