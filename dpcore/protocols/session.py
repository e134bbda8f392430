"""The session that an optimizer is handed: noisy answers, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from dpcore.privacy.sensitivity import NeighboringRelation
    from dpcore.protocols import Accountant, DerivedQuery, Mechanism, Query, TableQuery
    from dpcore.protocols.interactive import Exchange, InteractiveMechanism

__all__ = ["PrivacySession"]


@runtime_checkable
class PrivacySession(Protocol):
    """Releases noisy answers, each of them charged before the rows are asked.

    All that it gives is a function of released values and public facts: safe to use in any way.
    """

    def release(self, query: Query | DerivedQuery | TableQuery, mechanism: Mechanism) -> Any:
        """Return a noisy answer.

        Raises BudgetExceededError (nothing drawn, nothing charged), UnsupportedEventError or
        InvalidInputError (a mechanism that does not fit the query), before the data are asked.
        """

    def start(self, mechanism: InteractiveMechanism) -> Exchange:
        """Return an open interactive mechanism, its cap charged. Raises as ``release`` does."""

    def dry_run(self, query: Query | DerivedQuery | TableQuery) -> None:
        """Load what an answer needs; the rows are not asked.

        A run that first counts the rows makes a dry run of a later query before: what refuses it
        refuses while nothing is charged. Raises KernelError for what cannot be loaded, AnswerError
        for a sum whose answer is not int64 of the shape of its ``start()``, InvalidInputError where
        the engine cannot answer the query.
        """

    @property
    def accountant(self) -> Accountant:
        """The filter as it is after the last release, and what remains of its budget."""

    @property
    def relation(self) -> NeighboringRelation:
        """The neighbouring relation of every release."""

    @property
    def releases(self) -> dict[str, int]:
        """How many releases of each kind were charged."""

    @property
    def ledger(self) -> tuple[Any, ...]:
        """The charges, a ``LedgerEntry`` for each release, in order."""
