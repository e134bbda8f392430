"""The contracts of users who each keep their rows, beside those in ``dpcore.protocols``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np

    from dpcore.plugin import Accountant, Loss
    from dpcore.plugin.parts import Dataset, DpEvent
    from dpcore_a_ddp.users.messages import Answers, RoundRules, User

__all__ = ["LocalPool", "UserPool"]


@runtime_checkable
class UserPool(Protocol):
    """Users who each keep their rows: the boundary at which nobody may hold an exact sum.

    It gives what a server gets: noisy messages, and who declined. Never sent: rows,
    gradients without noise or unclipped, the sample, the seed of the noise. Each user's own filter
    decides; the unit of protection is one row of a user.
    """

    @property
    def users(self) -> tuple[User, ...]:
        """Name, number of rows and budget of each user: public."""

    @property
    def reference(self) -> tuple[float, float]:
        """The public epsilon and delta for which the noise is planned."""

    @property
    def trust(self) -> str:
        """The name of what the server gets to see, such as ``local``."""

    @property
    def rules(self) -> RoundRules | None:
        """The rules that were agreed on; ``None`` before that."""

    def plan_filters(self, schedule: Callable[[float], Mapping[DpEvent, int]]) -> None:
        """Let the users fit what their filters fix beforehand to a schedule, a function of the
        noise multiplier; before ``begin``."""

    def filter_of(self, epsilon: float, delta: float) -> Accountant:
        """Return the empty filter of a user with that budget: to plan with, public."""

    @property
    def rounds_allowed(self) -> np.ndarray:
        """How many rounds each user may join under the rules, int64 of shape (n_users,)."""

    @property
    def rounds_joined(self) -> np.ndarray:
        """How many rounds each user was charged for, int64 of shape (n_users,)."""

    def begin(self, rules: Any, most: int) -> np.ndarray:
        """Agree on ``RoundRules`` that this pool knows, once; return how many rounds, at most
        ``most``, each user may join: int64 of shape (n_users,), of budgets and public values
        alone. Nothing is spent.

        Raises BudgetExceededError if no user can join the first round.
        """

    def round(self, index: int, w: np.ndarray) -> Answers:
        """Ask all users for round ``index``, in rising order, at the public ``w``."""


@runtime_checkable
class LocalPool(UserPool, Protocol):
    """A pool whose users are all in this process, as an entry point of the group
    ``dpcore.pools`` offers it: a class.

    It sees every row, so it is inside the trust boundary, and the statement names it.
    """

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
        """Return the users who own the rows, none of whom was asked anything yet.

        Parameters
        ----------
        users : the path of a file, ``User`` objects, or ``None`` for users of one budget.
        accountant : the empty filter whose kind, and where ``users`` is ``None`` whose budget, each
            user's own has.
        rows_per_user : the size of a user where ``users`` does not say.
        reference : the public epsilon and delta that the noise is planned for; ``None`` for the
            users' own.
        trust : ``None`` for the pool's first trust model.

        Raises InvalidInputError or DataError for users who do not own the rows.
        """

    @classmethod
    def checks(cls) -> tuple[Callable[[Any], Any], ...]:
        """Return the admission test of an optimizer that asks such users: each check returns what
        it has tested, or raises AssertionError."""
