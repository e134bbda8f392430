"""A pool of users that are reached by messages: what an optimizer gets is what a server gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dpcore.errors import BudgetExceededError
from dpcore.plugin import InvalidInputError
from dpcore_a_ddp.flower.wire import Question, SumStep, pack_question, unpack_answer
from dpcore_a_ddp.pools.round_rules import GradientRounds
from dpcore_a_ddp.pools.user_budgets import Filters, middle_budget, rounds_of_users
from dpcore_a_ddp.users.messages import Answers, Declined, Inbox

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcore.plugin import Accountant
    from dpcore_a_ddp.pools.user_budgets import MakeFilter
    from dpcore_a_ddp.users.messages import Reply, User
    from dpcore_accounting.best import Schedule

__all__ = ["FlowerPool", "Post"]

OnRound = Callable[[int, Answers, dict[str, str]], None]


_GONE = "No user was heard of any more."
_MOST_SILENT = 3
"""Rounds in a row without an answer, after which the users count as gone."""


class Post(Protocol):
    """Carries a question to every user that is there, and brings the answers."""

    def ask(self, index: int, question: bytes) -> Iterator[bytes | None]:
        """Yield the answers to round ``index`` as they come, ``None`` for an unreadable answer;
        end when no more can come."""
        ...


class FlowerPool:
    """A ``UserPool`` whose users are elsewhere, each with data, budget and ledger of its own.

    A user that does not answer in time is not in the round, and is asked again in the next. What
    arrives goes through the same inbox as in every pool: malformed, of another round or size, too
    large, or of an unknown user, it is dropped and reported. After three rounds in a row without
    any answer all users count as gone: they decline, which ends a run with what it has.

    Parameters
    ----------
    users : their public facts, as the server knows them.
    post : how they are reached.
    make_filter : epsilon and delta to an empty accountant, to tell how many rounds there can be.
    reference : the public epsilon and delta that the noise is planned for; ``None`` for the users'
        lower medians.
    on_round : called with each round's index and answers, and by user why it declined (progress).
    """

    def __init__(
        self,
        users: Sequence[User],
        post: Post,
        make_filter: MakeFilter,
        reference: tuple[float, float] | None = None,
        on_round: OnRound | None = None,
    ) -> None:
        self.users = tuple(users)
        self.reference, self.trust = reference or middle_budget(users), "local"
        self._post, self._make_filter, self._on_round = post, make_filter, on_round
        self._rules: GradientRounds | None = None
        self._allowed = self._joined = np.zeros(len(self.users), dtype=np.int64)
        self._silent = 0

    @property
    def rules(self) -> GradientRounds | None:
        return None if self._rules is None else replace(self._rules)

    def plan_filters(self, schedule: Schedule) -> None:
        """Plan the filters that tell how many rounds a user may join: its own, elsewhere, fixes the
        same by the rules (``GradientRounds.planned``)."""
        if isinstance(self._make_filter, Filters):
            self._make_filter.plan(schedule)

    def filter_of(self, epsilon: float, delta: float) -> Accountant:
        return self._make_filter(epsilon, delta)

    @property
    def rounds_allowed(self) -> np.ndarray:
        return self._allowed.copy()

    @property
    def rounds_joined(self) -> np.ndarray:
        """How many replies of each user were taken, int64 of shape (n_users,). A user's ledger
        says what it has spent: a reply that was lost on the way is spent as well."""
        return self._joined.copy()

    def begin(self, rules: GradientRounds, most: int) -> np.ndarray:
        """Return how many rounds each user may join, told from public budgets, at most ``most``.

        Raises BudgetExceededError if nobody can join the first round, InvalidInputError for rules
        that no message can carry out: nothing is sent then.
        """
        if self._rules is not None:
            raise InvalidInputError("The rules of a run are agreed on once.")
        rules = self._agreed(GradientRounds.agreed(rules))
        if rules.noise_multiplier == 0 or rules.as_published:
            raise InvalidInputError("Users agree to no rules that are not private.")
        limits = self._limits(rules, int(most))
        self._rules, self._allowed = rules, limits
        return limits.copy()

    def round(self, index: int, w: np.ndarray) -> Answers:
        if self._rules is None:
            raise InvalidInputError("Expected rounds after the rules.")
        answers, said = self._answers(self._rules, index, np.asarray(w, dtype=np.float64))
        places = np.arange(len(self.users))
        self._joined = self._joined + np.isin(places, answers.joined)
        self._silent = 0 if answers.joined.size + answers.declined.size else self._silent + 1
        if self._silent == _MOST_SILENT:
            answers = replace(answers, declined=places)
        if self._on_round is not None:
            names = [self.users[place].name for place in answers.declined]
            self._on_round(index, answers, {name: said.get(name, _GONE) for name in names})
        return answers

    def _agreed(self, rules: GradientRounds) -> GradientRounds:
        """Return the rules as users get them; InvalidInputError for those of another trust."""
        if rules.trust != self.trust:
            raise InvalidInputError("Expected rules of local trust: users send whole replies.")
        return rules

    def _limits(self, rules: GradientRounds, most: int) -> np.ndarray:
        """Return how many rounds each user may join; BudgetExceededError for none."""
        limits = rounds_of_users(self.users, rules, self._make_filter, most)
        if not limits.any():
            raise BudgetExceededError("No user can join the first round. Nothing was spent.")
        return limits

    def _answers(
        self, rules: GradientRounds, index: int, w: np.ndarray
    ) -> tuple[Answers, dict[str, str]]:
        """Return a round as the server has it, and why users declined, by their names."""
        question = pack_question(Question(rules, index, w))
        inbox = Inbox(rules, self.users)
        messages: list[Reply | Declined | SumStep | None] = []
        answers = inbox.collect(index, messages)
        for content in self._post.ask(index, question):
            messages.append(None if content is None else unpack_answer(content))
            answers = inbox.collect(index, messages)
            if answers.joined.size + answers.declined.size == len(self.users):
                break
        return answers, {m.user: m.reason for m in messages if isinstance(m, Declined)}
