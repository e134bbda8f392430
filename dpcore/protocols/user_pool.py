"""The contract of users who each keep their rows, beside those in ``dpcore.protocols``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np

    from dpcore.accountants.schedule import Schedule
    from dpcore.pools.messages import Answers
    from dpcore.pools.terms import Terms, User
    from dpcore.protocols import Accountant

__all__ = ["UserPool"]


@runtime_checkable
class UserPool(Protocol):
    """Users who each keep their rows: the boundary at which nobody may hold an exact sum.

    What it gives is what a server gets: noisy messages, and who declined. Never sent: rows,
    gradients without noise or unclipped, the sample, the seed of the noise. Each user's own filter
    decides (``dpcore.pools.UserSession``); the unit of protection is one row of a user.
    """

    @property
    def users(self) -> tuple[User, ...]:
        """Name, number of rows and budget of each user: public."""
        ...

    @property
    def reference(self) -> tuple[float, float]:
        """The public epsilon and delta for which the noise is planned."""
        ...

    @property
    def trust(self) -> str:
        """One of ``dpcore.pools.terms.TRUST_MODELS``: what the server gets to see."""
        ...

    @property
    def terms(self) -> Terms | None:
        """What was agreed on; ``None`` before that."""
        ...

    def plan_filters(self, schedule: Schedule) -> None:
        """Let the users fit what their filters fix beforehand to a schedule; before ``begin``."""
        ...

    def filter_of(self, epsilon: float, delta: float) -> Accountant:
        """Return the empty filter of a user with that budget: to plan with, public."""
        ...

    @property
    def rounds_allowed(self) -> np.ndarray:
        """How many rounds each user may join under the terms, int64 of shape (n_users,)."""
        ...

    @property
    def rounds_joined(self) -> np.ndarray:
        """How many rounds each user was charged for, int64 of shape (n_users,)."""
        ...

    def begin(self, terms: Terms, most: int) -> np.ndarray:
        """Agree on the terms, once; return how many rounds, at most ``most``, each user may join:
        int64 of shape (n_users,), of budgets and public figures alone. Nothing is spent.

        Raises BudgetExceededError if no user can join the first round.
        """
        ...

    def round(self, index: int, w: np.ndarray) -> Answers:
        """Ask all users for round ``index``, in rising order, at the public ``w``."""
        ...
