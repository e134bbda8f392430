"""The steps of a run beside its optimizer's: what they ask for, and what they release.

A step is a frozen dataclass of its options. Before anything is charged, ``check`` refuses what does
not fit, and returns what is asked for. Its releases are made where its phase is: bounds before rows
are encoded, counts of classes before the optimizer, figures of the model after it. A step alters
nothing: it returns the view that the steps after it have. How they share one filter is in
``dpcore.fitting.run_steps``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpcore.bounds.waiting import rehearsed_rows
from dpcore.fitting.engines import engine_at_hand
from dpcore.fitting.shares import deviation_of
from dpcore.registry.declarations import engine_facts

if TYPE_CHECKING:
    from dpcore.data.blocks.table import Table
    from dpcore.fitting.public_facts import Ready
    from dpcore.mechanisms.gaussian import Gaussian
    from dpcore.mechanisms.geometric import Geometric
    from dpcore.protocols import Engine, Query
    from dpcore.protocols.problem import Problem, Solution
    from dpcore.session.session import TableSession

__all__ = ["OneRelease", "Outcome", "Phase", "Request", "RunStep", "RunView", "Section"]


class Phase(Enum):
    """The time of a step's releases: before rows are encoded by a schema, before the optimizer is
    given its problem, or once there is its result."""

    SCHEMA = "schema"
    PROBLEM = "problem"
    RESULT = "result"


@dataclass(frozen=True, eq=False)
class RunView:
    """The knowledge of a run between two of its steps.

    Parameters
    ----------
    dataset : the rows that are trained on, a Dataset; of an engine that reads files, their facts.
    table, engine : of all its rows; ``None`` before they are encoded, or where each class has a fit
        of its own.
    taken : the share of the budget that the steps checked before have.
    solution : the optimizer's, in the last phase.
    """

    ready: Ready
    dataset: Any
    table: Table | None = None
    engine: Engine | None = None
    taken: Fraction = Fraction(0)
    solution: Solution | None = None

    def without_rows(self) -> Table:
        """Return a table of none of the rows, encoded by bounds that are nobody's where theirs are
        not released yet."""
        if self.table is not None:
            return self.table.without_rows()
        return rehearsed_rows(self.dataset, self.dataset.schema).table()

    def encoded(self) -> RunView:
        """Return the view with an engine over the rows, where there is one fit; the phase of the
        schema is over."""
        if self.engine is not None or self.ready.fits > 1:
            return self
        table = self.table or self.dataset.table()
        return replace(self, table=table, engine=self._over(table))

    def of_no_rows(self) -> RunView:
        """Return the view that a step of somebody's own has: of none of the rows."""
        if engine_facts(self.ready.plan.engine).reads_files:
            return replace(self, engine=None)
        none = self.dataset.take(np.zeros(self.dataset.X.shape[0], dtype=bool))
        table = None if self.table is None else self.table.without_rows()
        return replace(self, dataset=none, table=table, engine=None)

    def over_rows(self) -> Engine:
        """Return an engine over all encoded rows of the run."""
        if self.engine is not None:
            return self.engine
        return self._over(self.table or self.dataset.table())

    def over_none(self) -> Engine:
        """Return an engine over none of them."""
        plan = self.ready.plan
        return engine_at_hand(plan.engine, self.without_rows(), self.dataset.schema, 1)

    def _over(self, table: Table) -> Engine:
        plan = self.ready.plan
        return engine_at_hand(plan.engine, table, self.dataset.schema, plan.settings.threads)


@dataclass(frozen=True)
class Section:
    """The part of a model file that a step of somebody's own has.

    Parameters
    ----------
    data : JSON-able; arrays become lists.
    lines : the same in words, as ``dpcore info`` and reports show it.
    version : of the form of ``data``.

    Examples
    --------
    >>> from dpcore.plugin.steps import Section
    >>> Section({"yes": 31.5}, ("About 32 rows are of the class yes.",)).version
    1
    """

    data: Mapping[str, Any]
    lines: tuple[str, ...] = ()
    version: int = 1


@dataclass(frozen=True, eq=False)
class Outcome:
    """The outcome of a step: functions of its releases and of public facts.

    Parameters
    ----------
    view : what the steps after it have.
    stated : of it in the privacy statement; ``None`` for what its request states.
    figures : for the model file, under the name of the request; of steps of dpcore.
    section : the same of a step of somebody's own.
    """

    view: RunView
    stated: dict[str, Any] | None = None
    figures: dict[str, Any] | None = None
    section: Section | None = None


class Request(Protocol):
    """The releases that a step asks for, fixed before anything is charged. That of a step of
    somebody's own is shown views without a row, and its releases are of all rows of the run.

    Parameters
    ----------
    name : of what is stated of them, and of their figures.
    stated : of them in the privacy statement, ``None`` where that follows from a release.
    share : the most of the budget that they cost together.
    problem : the public facts that their sensitivities follow from.
    """

    @property
    def name(self) -> str: ...
    @property
    def phase(self) -> Phase: ...
    @property
    def stated(self) -> dict[str, Any] | None: ...
    @property
    def share(self) -> Fraction: ...
    @property
    def problem(self) -> Problem: ...

    def over(self, view: RunView) -> Engine:
        """Return an engine over the rows that are asked."""

    def over_none(self, view: RunView) -> Engine:
        """Return an engine over none of these rows."""

    def rehearse(self, session: TableSession, view: RunView) -> None:
        """Make all releases, over no rows and of a model of zeros: a refusal comes while nothing is
        charged."""

    def run(self, session: TableSession, view: RunView) -> Outcome:
        """Make the releases, and return what follows from them."""


@dataclass(frozen=True, eq=False)
class OneRelease:
    """One release of a query over all rows of a run (``Request``).

    Parameters
    ----------
    mechanism : costs the share of the budget, at most (``mechanism_for``).
    follow : returns the outcome, of the view, the noisy answer, and the standard deviation of its
        noise. It is asked nothing in a rehearsal.
    """

    name: str
    share: Fraction
    problem: Problem
    query: Query
    mechanism: Gaussian | Geometric
    follow: Callable[[RunView, np.ndarray, float], Outcome]
    phase: Phase = field(default=Phase.RESULT, kw_only=True)

    @property
    def stated(self) -> dict[str, Any]:
        """The share of the budget."""
        return {"share": float(self.share)}

    def over(self, view: RunView) -> Engine:
        """Return an engine over the rows of the run."""
        return view.over_rows()

    def over_none(self, view: RunView) -> Engine:
        """Return one over none of them."""
        return view.over_none()

    def rehearse(self, session: TableSession, view: RunView) -> None:
        """Make the release."""
        session.release(self.query, self.mechanism)

    def run(self, session: TableSession, view: RunView) -> Outcome:
        """Make the release, and return what follows."""
        answer = session.release(self.query, self.mechanism)
        return self.follow(view, answer, deviation_of(self.mechanism, self.query, self.problem))


class RunStep(Protocol):
    """A step of a run, with its options as fields: a frozen dataclass."""

    def check(self, view: RunView) -> Request:
        """Return what the step asks for.

        ``view`` : of public facts; that of a step of somebody's own has no row. Raises
        InvalidInputError, before anything is charged, where the plan has no budget to share or the
        step does not fit it.
        """
