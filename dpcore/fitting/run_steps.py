"""One filter for the optimizer of a run and for the steps beside it.

A step after the optimizer has its share set aside first: the optimizer has a filter that was
charged the step's events already, and can spend what is left of it. When the run is over, the whole
filter is charged every event of the run's ledger, which the sum in any order fits, and then the
events of the step, at the door and each before it is drawn. A step before the optimizer is charged
to the filter that the run goes on with. So one filter bounds all, by its own theorem, in which
releases may be chosen from earlier ones, and the statement's epsilon and delta are of all together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError
from dpcore.exact.rounding import float_up
from dpcore.fitting.details import LONGEST_TEXT, bounded
from dpcore.fitting.reporting import charged_in, plain
from dpcore.fitting.shares import rehearse_run, require_share
from dpcore.fitting.steps import Outcome, Phase
from dpcore.noise.source import SeededNoise
from dpcore.privacy.first_party import is_ours
from dpcore.privacy.statement import OF_DPCORE, part_of
from dpcore.registry.declarations import engine_facts
from dpcore.session.in_turn import SessionAndLast
from dpcore.session.ledger import Ledger, LedgerEntry
from dpcore.session.session import TableSession

if TYPE_CHECKING:
    from dpcore.fitting.doors import OnRelease, Released
    from dpcore.fitting.steps import Request, RunStep, RunView
    from dpcore.noise.source import NoiseSource
    from dpcore.protocols import Accountant, Engine
    from dpcore.protocols.problem import Problem
    from dpcore.session.charges import Charges

__all__ = ["Door", "Steps", "checked"]

_SLACK = 1 + Fraction(1, 2**30)
"""For what figures of a filter are rounded by."""
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


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


def checked(steps: Iterable[RunStep], also: Iterable[RunStep], view: RunView) -> Steps:
    """Return the steps of a run with what each asks for; InvalidInputError, before anything is
    charged, where a step does not fit the run.

    ``also`` : of somebody's own, whoever's name they bear.
    """
    requests: list[Request] = []
    for step in steps:
        requests.append(step.check(view))
        view = replace(view, taken=view.taken + requests[-1].share)
    parts = []
    for step in also:
        request = _Foreign.of(step.check(view), view)
        _require_fit(step, request, view, [each.name for each in requests])
        requests.append(request)
        parts += [part_of(step), part_of(request.asked)]
        view = replace(view, taken=view.taken + request.share)
    return Steps(tuple(requests), parts=tuple(parts))


def _require_fit(step: RunStep, request: Request, view: RunView, taken: list[str]) -> None:
    """Refuse a step of somebody's own where the plan cannot leave it a share, whatever its own
    check says, or its name is not one of its own."""
    plan, name = view.ready.plan, request.name
    require_share(plan, f"The step {name} is released from the rows", "Leave it out")
    if not _NAME.fullmatch(name) or name in (*OF_DPCORE, *taken):
        raise InvalidInputError(
            f"Expected the step {part_of(step)} to have a name of small letters and hyphens that "
            f"no other has, such as 'class-counts', and not {name!r}."
        )
    if is_ours(type(step).__module__):
        raise InvalidInputError(
            f"Expected the step {part_of(step)} to bear the name of its own module, which the "
            "statement then names."
        )
    if request.phase is Phase.SCHEMA:
        raise InvalidInputError(f"Expected the step {name} to have the phase PROBLEM or RESULT.")
    if not 0 < request.share < 1 - view.taken:
        raise InvalidInputError(
            f"The steps beside the fit would take {float(view.taken + request.share):.3g} of the "
            "budget: expected shares that add up to less than 1, so that the fit has the rest."
        )
    if engine_facts(plan.engine).reads_files:
        raise InvalidInputError(
            f"An engine that reads files itself has no step {name}: leave it out, or take the "
            "engine local."
        )


@dataclass(frozen=True, eq=False)
class Steps:
    """The requests of a run's steps, each in its phase, in order.

    Parameters
    ----------
    said : what is stated of releases that were made, by the name of their request.
    sections : of steps of somebody's own, by name, for the model file.
    parts : these steps, as ``"module:Class"``.
    """

    requests: tuple[Request, ...] = ()
    said: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    sections: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    parts: tuple[str, ...] = ()

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
                outcome = request.run(session, view)
                accountant, view = session.accountant, outcome.view
                said |= {} if outcome.stated is None else {request.name: outcome.stated}
                sections |= _section(request, outcome)
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
            sections |= _section(request, outcome)
        return ran, figures | ({"sections": sections} if sections else {})

    def _in(self, phase: Phase) -> list[Request]:
        return [request for request in self.requests if request.phase is phase]


@dataclass(frozen=True, eq=False)
class _Foreign:
    """The request of a step of somebody's own, as it was when it was checked. The filter, the run
    and the steps after it have what they had without it, whatever its outcome says.

    Parameters
    ----------
    problem : the run's, so that the door knows the units whose rows are protected together.
    """

    asked: Request
    name: str
    phase: Phase
    share: Fraction
    problem: Problem

    @classmethod
    def of(cls, asked: Request, view: RunView) -> _Foreign:
        """Return the request, with a share that is a float taken as its shortest decimal."""
        name, phase, share = str(asked.name), asked.phase, asked.share
        with suppress(TypeError, ValueError, OverflowError):
            exact = Fraction(str(share) if isinstance(share, float) else share)
            return cls(asked, name, phase, exact, view.ready.problem)
        raise InvalidInputError(f"Expected the step {name} to have a share that is a number.")

    @property
    def stated(self) -> dict[str, Any]:
        """The share of the budget, rounded up."""
        return {"share": float_up(self.share)}

    def over(self, view: RunView) -> Engine:
        """Return its engine over the rows."""
        return self.asked.over(view)

    def over_none(self, view: RunView) -> Engine:
        """Return its engine over none of them."""
        return self.asked.over_none(view)

    def rehearse(self, session: TableSession, view: RunView) -> None:
        """Make its releases; InvalidInputError where they cost more than its share."""
        before = Fraction(session.accountant.spent)
        self.asked.rehearse(session, view)
        cost = Fraction(session.accountant.spent) - before
        if cost > self.share * Fraction(view.ready.plan.accountant.budget) * _SLACK:
            raise InvalidInputError(
                f"The step {self.name} states a share of {float(self.share):.3g} of the budget, "
                "and its releases cost more: mechanism_for(accountant, share) has the noise of one."
            )

    def run(self, session: TableSession, view: RunView) -> Outcome:
        """Return its section."""
        return Outcome(view, section=self.asked.run(session, view).section)


def _section(request: Request, outcome: Outcome) -> dict[str, dict[str, Any]]:
    section = outcome.section
    if section is None:
        return {}
    lines = [str(line)[:LONGEST_TEXT] for line in section.lines]
    told = {"version": section.version, "part": part_of(request), "lines": lines}
    return {request.name: {**told, "data": plain(bounded(dict(section.data)))}}


def _rehearsed(request: Request, view: RunView, accountant: Accountant) -> Accountant:
    """Return the filter after the releases of a step, made of no rows; then the run's first one is
    made so too (``rehearse_run``). A refusal comes while nothing is charged."""
    plan, ledger = view.ready.plan, Ledger[LedgerEntry]()
    asked = request.over_none(view), accountant, plan.relation, SeededNoise(0)
    first = TableSession(*asked, problem=request.problem, ledger=ledger)
    request.rehearse(first, view)
    rehearse_run(view.ready, view.without_rows(), view.dataset.schema, first, ledger)
    return first.accountant
