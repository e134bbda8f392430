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
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcore.fitting.foreign_steps import SLACK, ForeignRequest, require_fit
from dpcore.fitting.reporting import charged_in
from dpcore.fitting.shares import rehearse_run
from dpcore.fitting.steps import Outcome, Phase
from dpcore.noise.source import SeededNoise
from dpcore.privacy.statement import part_of
from dpcore.session.in_turn import Said, SessionAndLast
from dpcore.session.ledger import Ledger, LedgerEntry, LedgerOfShare
from dpcore.session.session import TableSession

if TYPE_CHECKING:
    from dpcore.fitting.doors import OnRelease, Released
    from dpcore.fitting.steps import Request, RunStep, RunView
    from dpcore.noise.source import NoiseSource
    from dpcore.protocols import Accountant
    from dpcore.session.charges import Charges
    from dpcore.session.in_turn import SessionsInTurn

__all__ = ["Door", "Steps", "checked"]


@dataclass(frozen=True, eq=False)
class Door:
    """The door of a run: one source of noise, one ledger and one place to tell for all sessions.

    ``charges`` : tells what was charged if the run ends on the way. ``ended`` : what the closed
    sessions before the optimizer's say.
    """

    noise: NoiseSource
    on_release: OnRelease
    charges: Charges
    ledger: Ledger[LedgerEntry]
    ended: list[Said] = field(default_factory=list, init=False)

    def session(self, request: Request, view: RunView, accountant: Any) -> TableSession:
        """Return a session of a step over its rows, which releases no more than its share."""
        share = Fraction(request.share)
        most = share * Fraction(accountant.budget) * SLACK
        what = f"The step {request.name} has a share of {float(share):.3g} of the budget"
        ledger = LedgerOfShare(self.ledger, most, what)
        asked = request.over(view), accountant, view.ready.plan.relation, self.noise
        told: dict[str, Any] = {"on_release": self.on_release, "ledger": ledger}
        return TableSession(*asked, problem=request.problem, **told)

    def continued(self, session: TableSession | SessionsInTurn) -> Released:
        """Return the optimizer's session, or sessions, with those before it, read as one."""
        released: Released = session
        for said in self.ended:
            released = SessionAndLast(said, released)
        return released


def checked(steps: Iterable[RunStep], also: Iterable[RunStep], view: RunView) -> Steps:
    """Return the steps of a run with what each asks for; InvalidInputError, before anything is
    charged, where a step does not fit the run.

    ``also`` : of somebody's own, whoever's name they bear.
    """
    requests: list[Request] = []
    for step in steps:
        requests.append(step.check(view))
        view = replace(view, taken=view.taken + requests[-1].share)
    parts, owners = [], {}
    for step in also:
        request = ForeignRequest.of(step, view)
        require_fit(step, request, view, [each.name for each in requests])
        requests.append(request)
        parts += [part_of(step), part_of(request.asked)]
        owners[request.name] = part_of(step)
        view = replace(view, taken=view.taken + request.share)
    return Steps(tuple(requests), parts=tuple(parts), owners=owners)


@dataclass(frozen=True, eq=False)
class Steps:
    """The requests of a run's steps, each in its phase, in order.

    Parameters
    ----------
    said : what is stated of releases that were made, by the name of their request.
    sections : of steps of somebody's own, by name, for the model file.
    parts : these steps and their requests, as ``"module:Class"``.
    owners : of the sections, the step of each, by name.
    """

    requests: tuple[Request, ...] = ()
    said: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    sections: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    parts: tuple[str, ...] = ()
    owners: Mapping[str, str] = field(default_factory=dict)

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
        said, sections = dict(self.said), dict(self.sections)
        for phase in (Phase.SCHEMA, Phase.PROBLEM):
            view = view.encoded() if phase is Phase.PROBLEM else view
            for request in self._in(phase):
                _rehearsed(request, view, accountant)
                session = door.session(request, view, accountant)
                door.charges.follow(partial(charged_in, session))
                try:
                    outcome = request.run(session, view)
                finally:
                    session.close()  # What a step keeps releases nothing beside what is stated.
                door.ended.append(Said.of(session))
                accountant, view = session.accountant, outcome.view
                said |= {} if outcome.stated is None else {request.name: outcome.stated}
                sections |= self._section(request.name, outcome)
        return replace(self, said=said, sections=sections), view, accountant

    def after(self, view: RunView, ran: Released, door: Door) -> tuple[Released, dict[str, Any]]:
        """Return the sessions of the run, those of the steps after it included, and the figures of
        each, by name; ``sections`` are those of somebody's own.

        ``ran`` : the closed sessions of the run, whose ledger is the door's.
        """
        figures: dict[str, Any] = {}
        sections = dict(self.sections)
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
            sections |= self._section(request.name, outcome)
        return ran, figures | ({"sections": sections} if sections else {})

    def _section(self, name: str, outcome: Outcome) -> dict[str, dict[str, Any]]:
        section = outcome.section
        if section is None:
            return {}
        told = {"version": section.version, "part": self.owners[name]}
        return {name: {**told, "lines": list(section.lines), "data": section.data}}

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
