"""One filter for the optimizer of a run and for the steps beside it.

A step after the optimizer has its share set aside first: the optimizer has a filter that was
charged the step's events already, and can spend what is left of it. When the run is over, the whole
filter is charged every event of the run's ledger, which the sum in any order fits, and then the
events of the step, at the door and each before it is drawn. A step before the optimizer is charged
to the filter that the run goes on with. So one filter bounds all, by its own theorem, in which
releases may be chosen from earlier ones, and the statement's epsilon and delta are of all together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcore.fitting.reporting import charged_in
from dpcore.fitting.shares import rehearse_run
from dpcore.fitting.steps import Phase
from dpcore.noise.source import SeededNoise
from dpcore.session.in_turn import SessionAndLast
from dpcore.session.ledger import Ledger, LedgerEntry
from dpcore.session.session import TableSession

if TYPE_CHECKING:
    from dpcore.fitting.doors import OnRelease, Released
    from dpcore.fitting.steps import Request, RunStep, RunView
    from dpcore.noise.source import NoiseSource
    from dpcore.protocols import Accountant
    from dpcore.session.charges import Charges

__all__ = ["Door", "Steps", "checked"]


@dataclass(frozen=True, eq=False)
class Door:
    """The door of a run: one source of noise, one ledger and one place to tell for all sessions.

    ``charges`` : tells what was charged if the run ends on the way.
    """

    noise: NoiseSource
    on_release: OnRelease
    charges: Charges
    ledger: Ledger[LedgerEntry]

    def session(self, request: Request, view: RunView, accountant: Any) -> TableSession:
        """Return a session of a step over its rows."""
        asked = request.over(view), accountant, view.ready.plan.relation, self.noise
        told: dict[str, Any] = {"on_release": self.on_release, "ledger": self.ledger}
        return TableSession(*asked, problem=request.problem, **told)


def checked(steps: Iterable[RunStep], view: RunView) -> Steps:
    """Return the steps of a run with what each asks for; InvalidInputError, before anything is
    charged, where a step does not fit the run."""
    requests: list[Request] = []
    for step in steps:
        requests.append(step.check(view))
        view = replace(view, taken=view.taken + requests[-1].share)
    return Steps(tuple(requests))


@dataclass(frozen=True, eq=False)
class Steps:
    """The requests of a run's steps, each in its phase, in order.

    Parameters
    ----------
    said : what is stated of releases that were made, by the name of their request.
    """

    requests: tuple[Request, ...] = ()
    said: Mapping[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def stated(self) -> dict[str, dict[str, Any]]:
        """The entries of the privacy statement, by name."""
        known = {each.name: each.stated for each in self.requests if each.stated is not None}
        return {**known, **self.said}

    def set_aside(self, view: RunView) -> Accountant:
        """Return the run's filter without the shares of the steps after the optimizer, each after a
        rehearsal of it and of all that follows."""
        accountant = view.ready.plan.accountant
        for request in self._in(Phase.RESULT):
            accountant = _rehearsed(request, view, accountant)
        return accountant

    def before(
        self, view: RunView, accountant: Accountant, door: Door
    ) -> tuple[Steps, RunView, Accountant]:
        """Return what is said and known after the steps before the optimizer, and what the filter
        has left then."""
        said = dict(self.said)
        for phase in (Phase.SCHEMA, Phase.PROBLEM):
            view = view.encoded() if phase is Phase.PROBLEM else view
            for request in self._in(phase):
                _rehearsed(request, view, accountant)
                session = door.session(request, view, accountant)
                door.charges.follow(partial(charged_in, session))
                outcome = request.run(session, view)
                accountant, view = session.accountant, outcome.view
                said |= {} if outcome.stated is None else {request.name: outcome.stated}
        return replace(self, said=said), view, accountant

    def after(
        self, view: RunView, ran: Released, door: Door
    ) -> tuple[Released, dict[str, dict[str, Any]]]:
        """Return the sessions of the run, those of the steps after it included, and the figures of
        each, by name.

        ``ran`` : the closed sessions of the run, whose ledger is the door's.
        """
        figures: dict[str, dict[str, Any]] = {}
        for request in self._in(Phase.RESULT):
            accountant: Any = view.ready.plan.accountant
            for entry in door.ledger.entries:
                accountant = accountant.compose(entry.event)
            last = door.session(request, view, accountant)
            ran = SessionAndLast(ran, last)
            door.charges.follow(partial(charged_in, ran))
            try:
                outcome = request.run(last, view)
            finally:
                last.close()
            view = outcome.view
            figures |= {} if outcome.figures is None else {request.name: outcome.figures}
        return ran, figures

    def _in(self, phase: Phase) -> list[Request]:
        return [request for request in self.requests if request.phase is phase]


def _rehearsed(request: Request, view: RunView, accountant: Accountant) -> Accountant:
    """Return the filter after the releases of a step, made of no rows; then the run's first one is
    made so too (``rehearse_run``). A refusal comes while nothing is charged."""
    plan, ledger = view.ready.plan, Ledger[LedgerEntry]()
    asked = request.over_none(view), accountant, plan.relation, SeededNoise(0)
    first = TableSession(*asked, problem=request.problem, ledger=ledger)
    request.rehearse(first, view)
    rehearse_run(view.ready, view.without_rows(), view.dataset.schema, first, ledger)
    return first.accountant
