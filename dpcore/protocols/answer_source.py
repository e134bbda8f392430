"""The contract of what answers an optimizer in place of a run's session, beside those in
``dpcore.protocols``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpcore.data.dataset import Dataset
    from dpcore.privacy.sensitivity import NeighboringRelation

__all__ = ["AnswerSource"]


@runtime_checkable
class AnswerSource(Protocol):
    """A class whose object answers an optimizer in place of a session.

    The optimizer's class names it as ``answered_by = "module:Class"``.

    It has the rows, so it is inside the trust boundary, whosever the optimizer is: the statement
    names it, and the parts that it states, wherever they are not dpcore's. It is handed the empty
    filter of the run's budget, and charges that, or a filter of the same kind, before it asks a
    row: what ``dpcore.session.account.Account`` is for.
    """

    @classmethod
    def refuse(cls, optimizer: Any, settings: Any, of_loss: Mapping[str, Any]) -> None:
        """Raise InvalidInputError or RegistryError, before any data, for settings of a run that it
        cannot answer. ``optimizer`` : the class. ``of_loss`` : the loss's parameters that were
        set."""

    @classmethod
    def usual_accountant(cls, optimizer: Any, settings: Any) -> str:
        """Return the accountant of a run that names none; empty for the optimizer's own."""

    @classmethod
    def open(cls, plan: Any, dataset: Dataset) -> Self:
        """Return the source of a run's rows. Nothing was asked of it yet.

        Raises InvalidInputError or DataError for rows that it cannot answer for.
        """

    @property
    def asked(self) -> Any:
        """The object that the optimizer's ``minimize`` is handed."""

    def charged(self) -> tuple[int, int, str] | None:
        """Return what was charged, of how much, and the unit; ``None`` while nothing was."""

    def stated(self, relation: NeighboringRelation) -> Any:
        """Return an object of what the privacy statement says of the charges.

        It has ``fields``, of the statement's fields ``epsilon``, ``delta``, ``accountant``,
        ``conversion``, ``unit``, ``budget``, ``spent``, ``releases`` and ``users``;
        ``why_not_private``, what voids the guarantee, as clauses; and ``parts``, its parts that are
        inside the trust boundary: objects, or ``"module:Class"``.
        """

    @classmethod
    def checks(cls) -> tuple[Callable[[Any], Any], ...]:
        """Return the admission test of an optimizer that asks it: each check returns what it has
        tested, or raises AssertionError."""
