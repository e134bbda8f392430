"""A release in several steps: the mechanism, its state, and the optimizer's side of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np

    from dpcore.noise.source import NoiseSource
    from dpcore.privacy.events import DpEvent
    from dpcore.privacy.sensitivity import Sensitivity
    from dpcore.protocols import DerivedQuery, Query, TableQuery

__all__ = ["Exchange", "InteractiveMechanism", "InteractiveState"]


@runtime_checkable
class InteractiveMechanism(Protocol):
    """A release in several steps, charged once, before its first: ``PrivacySession.start``.

    It answers ``base`` with noise, and then questions that may be chosen from what it said. What it
    keeps between the steps stays inside the session, and so do the exact answers. Derived questions
    may ask for ``base``, which is worked out once.

    It may charge any event: what all its steps cost together, whatever is asked, if no question
    moves further than ``question`` and there are ``most_questions`` at most. The session holds the
    optimizer to both. Where the cost rests on more, such as that a row takes part in few of the
    answers, the class has a method ``narrowed(index, query)``: it returns the query that the
    session answers in place of the index-th question, counted from 0, from public facts alone, or
    raises InvalidInputError; what it returns is held to ``question``.

    Sums wrap around beyond 2^64. Where they are compared they then move by more than is stated: the
    promise is for tables whose sums do not. A class that only adds noise to answers, modulo 2^64,
    states ``compares_answers = False``, and has it for all tables.
    """

    kind: ClassVar[str]

    @property
    def base(self) -> Query | DerivedQuery | TableQuery:
        """The query whose noisy answer it starts from."""

    @property
    def reference(self) -> DerivedQuery | None:
        """A second exact answer that it keeps, if it needs one; never released. It may ask for
        ``base``, which is worked out once."""

    @property
    def question(self) -> Sensitivity:
        """The largest sensitivity that a later question may have: known at the start."""

    @property
    def most_questions(self) -> int:
        """How many later questions there are at most: fixed at the start."""

    def event(self, sensitivity: Sensitivity, reference: Sensitivity | None) -> DpEvent:
        """Return its cap, known before the data are touched. ``sensitivity`` is the base's.

        An ``ExPostDpEvent`` where the state tells the loss of its outcome, or an
        ``ApproximateDpEvent`` where that holds but with its delta: for all sets S of outcomes,
        P(S) is at most the integral over S of e^(loss of the outcome) dP', plus delta.
        """

    def begin(
        self,
        exact: np.ndarray,
        sensitivity: Sensitivity,
        reference: tuple[np.ndarray, Sensitivity] | None,
        noise: NoiseSource,
    ) -> InteractiveState: ...


@runtime_checkable
class InteractiveState(Protocol):
    """The state of an interactive mechanism between its steps."""

    @property
    def first(self) -> Any:
        """The value that is released when it starts."""

    @property
    def halted(self) -> bool: ...

    @property
    def epsilon(self) -> Fraction | None:
        """The ex-post privacy loss of all that was said so far, an upper bound. It is ``None``
        where the event has no such meaning: an outcome then has no loss of its own to be told."""

    def reply(self, exact: np.ndarray) -> Any:
        """Return the noisy reply to a question, from its exact answer. It moves on before it looks
        at the answer, so that an interrupt cannot make it reply twice with one noise."""


@runtime_checkable
class Exchange(Protocol):
    """An open interactive mechanism, as an optimizer has it from ``PrivacySession.start``.

    ``value`` is what it released when it started. While it is open the session refuses every other
    release; it closes itself when the mechanism halts, and refuses every question from then on.
    """

    @property
    def value(self) -> Any: ...

    def ask(self, query: Query | DerivedQuery | TableQuery) -> Any:
        """Return the mechanism's reply: a released value.

        Raises InvalidInputError, before the data are asked, for a question whose sensitivity is
        more than the mechanism was started for, for a question more than it was started for, and
        for any question once it has closed.
        """

    def close(self) -> None:
        """End it; what was charged stays charged. Closing twice is nothing."""
