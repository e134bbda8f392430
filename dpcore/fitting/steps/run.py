"""One filter for the optimizer of a run and for the steps beside it.

A step after the optimizer has its share set aside first: the optimizer has a filter that was
charged the step's events already, and can spend what is left of it. When the run is over, the whole
filter is charged every event of the run's ledger, which the sum in any order fits, and then the
events of the step, by its session, each before it is drawn. A step before the optimizer is charged
to the filter that the run goes on with: all events that it stated, whether it made them or not, so
that nothing unspent is handed on. So one filter bounds all, by its own theorem, in which releases
may be chosen from earlier ones, and the statement's epsilon and delta are of all together. A step's
own session refuses what would cost more than its share (``dpcore.fitting.steps.budget_share``).
"""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any

from dpcore.accountants.delta_reserve import ReservingAccountant
from dpcore.errors import DpcoreError, InvalidInputError, OptimizerError, replacing, type_and_place
from dpcore.fitting.optimizer_run import packages_of
from dpcore.fitting.steps.budget_share import ShareOfBudget, StepSession
from dpcore.fitting.steps.checked import CheckedStep, changed
from dpcore.fitting.steps.facts import Phase
from dpcore.fitting.steps.step import Outcome, Section
from dpcore.fitting.steps.views import PublicFacts, ResultView
from dpcore.model.details import LONGEST_TEXT, bounded, fault_of_details, plain
from dpcore.noise.source import SeededNoise
from dpcore.privacy.statement import OF_DPCORE
from dpcore.registry.tables.class_metadata import read
from dpcore.registry.tables.parts import MechanismFacts
from dpcore.session.ledger import ChargeLog, LedgerEntry
from dpcore.session.session import TableSession

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dpcore.fitting.run_state import RunSessions, RunState
    from dpcore.privacy.events import DpEvent
    from dpcore.protocols import Accountant, Mechanism
    from dpcore.session.sequential_sessions import Released

__all__ = ["RunSteps"]

_LOG = logging.getLogger("dpcore")


@dataclass(frozen=True, eq=False)
class RunSteps:
    """The steps of a run in their order, checked."""

    checked: tuple[CheckedStep, ...]

    @property
    def foreign_parts(self) -> tuple[str, ...]:
        """The names in the statement of steps of somebody's own."""
        return tuple(part for step in self.checked for part in step.parts)

    def of_phase(self, phase: Phase) -> list[CheckedStep]:
        return [step for step in self.checked if step.phase is phase]

    def stated(self, state: RunState) -> dict[str, dict[str, Any]]:
        """Return the entries of the privacy statement, by name."""
        return {
            **{step.name: step.stated for step in self.checked if step.stated is not None},
            **state.stated,
        }

    def charged(self, state: RunState) -> RunState:
        """Return the run whose filter is without the shares of all steps, each after a dry run of
        it and of all that follows."""
        return reduce(_charged_for, self.checked, state)

    def set_aside(self, state: RunState) -> RunState:
        """Return the run whose filter is without the shares of the steps after the optimizer."""
        return reduce(_charged_for, self.of_phase(Phase.RESULT), state)

    def before(self, state: RunState, sessions: RunSessions) -> RunState:
        """Return the run after the steps before its optimizer."""
        state = self.run(Phase.SCHEMA, state, sessions)
        state = replace(state, rows=state.rows.encoded(state.facts.ready))
        return self.run(Phase.PROBLEM, state, sessions)

    def run(self, phase: Phase, state: RunState, sessions: RunSessions) -> RunState:
        """Return the run after the steps of a phase, all that each stated charged to what the
        filter has left."""
        for step in self.of_phase(phase):
            before, state = state.accountant, _charged_for(state, step)
            session = _session(step, state, sessions, before)
            sessions.follow(session)
            outcome = _ran(step, session, _view_of(state))
            state = _noted(changed(state, step, outcome), step, outcome)
        return state

    def after(
        self, state: RunState, ran: Released, sessions: RunSessions
    ) -> tuple[Released, RunState]:
        """Return the last session of the run, which goes on with those before it, and the run with
        what the steps after its optimizer found. ``ran`` : its closed sessions, whose ledger is
        the run's."""
        for step in self.of_phase(Phase.RESULT):
            ended = (entry.event for entry in sessions.ledger.entries)
            accountant = _composed(state.facts.accountant, ended)
            ran = session = _session(step, state, sessions, accountant)
            sessions.follow(session)
            state = _noted(state, step, _ran(step, session, _view_of(state)))
        return ran, state


def _view_of(state: RunState) -> PublicFacts:
    return state.facts if state.solution is None else ResultView.of(state.facts, state.solution)


def _session(
    step: CheckedStep, state: RunState, sessions: RunSessions, accountant: Accountant
) -> TableSession:
    """Return a session over the rows of a step, held to what it stated."""
    engine = state.rows.over(step.facts.rows, state.facts.plan)
    stated = state.charged_for.get(step.name, ())
    held_to = ShareOfBudget(state.facts.accountant, stated, step.name)
    return sessions.session(engine, accountant, step.problem, schedule=held_to)


def _ran(step: CheckedStep, session: TableSession, view: PublicFacts) -> Outcome:
    try:
        with _told_by_place(step):
            outcome = step.request.run(StepSession(session, step.problem), view)
            session.require_whole()  # It may have caught what an answer raised.
            return outcome if step.is_ours else Outcome(_plain(outcome.section, step.name))
    finally:
        session.close()  # A step may keep its session: what is stated is all that it released.


def _plain(section: Section | None, name: str) -> Section | None:
    """Return a section of somebody's own as plain data, bounded in its length; what was wrong with
    data that are left out is said."""
    if section is None:
        return None
    fault = fault_of_details(dict(section.data))
    if fault:
        _LOG.warning("dpcore: warning: the data of the step %s were left out: %s", name, fault)
    lines = tuple(str(line)[:LONGEST_TEXT] for line in section.lines)
    return Section(plain(bounded(dict(section.data))), lines, int(section.version))


def _told_by_place(step: CheckedStep) -> AbstractContextManager[None]:
    """Raise OptimizerError in place of an error of a step of somebody's own, without its text,
    which may hold a private value."""

    def failed(error: BaseException) -> BaseException:
        if isinstance(error, DpcoreError):
            return error
        told = type_and_place(error, packages_of(step.part.partition(":")[0]))
        return OptimizerError(f"The step {step.name} failed: {told}.")

    return nullcontext() if step.is_ours else replacing(Exception, SystemExit, by=failed)


def _charged_for(state: RunState, step: CheckedStep) -> RunState:
    """Return the run after a charge of all that a step states, whether it is released or not.

    The releases are made of no rows; then the run's first one is made so too
    (``dry_run_optimizer``), unless its rows are elsewhere. A refusal comes while nothing is
    charged. Each is charged as it costs at most, on whatever grid its sums at the model will be
    (``_at_most``).
    """
    facts, ledger = state.facts, ChargeLog[LedgerEntry]()
    plan = facts.plan
    none = state.rows.over_none(step.facts.rows, plan)
    asked = none, state.accountant, plan.relation, SeededNoise(0)
    first = TableSession(*asked, problem=step.problem, ledger=ledger)
    with _told_by_place(step):
        for query, mechanism in step.request.releases:
            first.release(query, mechanism)
        pairs = zip(ledger.entries, step.request.releases, strict=True)
        events = tuple(_at_most(entry.event, one, facts.accountant) for entry, (_, one) in pairs)
    _require_share(step, _composed(facts.accountant, events))
    charged = _composed(state.accountant, events)
    if state.needs_dry_run and not plan.engine_facts.reads_files:
        state.dry_run(first.accountant, ledger)
    return replace(state, accountant=charged, charged_for={**state.charged_for, step.name: events})


def _at_most(event: DpEvent, mechanism: Mechanism, accountant: Accountant) -> DpEvent:
    """Return the event of a release, or that of its noise multiplier as given, where it costs more:
    a scale is rounded up to a sum's grid, and a sum of other bounds is on another one."""
    facts = read(MechanismFacts, type(mechanism))
    if facts.nominal_event is None:
        return event
    given: DpEvent = facts.nominal_event(mechanism.noise_multiplier)
    # A release of sampled rows, or of a random sensitivity, has an event of another kind.
    same = type(given) is type(event) and accountant.cost(given) > accountant.cost(event)
    return given if same else event


def _composed(accountant: Accountant, events: Iterable[DpEvent]) -> Accountant:
    """Return a filter after all these events."""
    for event in events:
        accountant = accountant.compose(event)
    return accountant


def _require_share(step: CheckedStep, alone: Accountant) -> None:
    """Refuse a step whose releases cost more than the share that it states; costs of a filter are
    rounded."""
    most = step.share * (1 + Fraction(1, 2**30))
    costs = Fraction(alone.spent) > most * Fraction(alone.budget)
    if isinstance(alone, ReservingAccountant):
        costs |= alone.reserved_ticks > most * alone.reserve_ticks
    if costs:
        raise InvalidInputError(
            f"The step {step.name} states a share of {float(step.share):.3g} of the budget, and "
            "its releases cost more: mechanism_for(accountant, share) has the noise of one."
        )


def _noted(state: RunState, step: CheckedStep, outcome: Outcome) -> RunState:
    """Return the run with the section of a step, and what is stated of it."""
    stated, section = outcome.stated, outcome.section
    state = replace(state, solution=outcome.solution or state.solution)
    if stated is not None:
        state = replace(state, stated={**state.stated, step.name: stated})
    if section is None:
        return state
    if step.name in OF_DPCORE:
        return replace(state, step_data={**state.step_data, step.name: dict(section.data)})
    told = {"version": section.version, "part": step.part, "lines": list(section.lines)}
    kept = {**told, "data": dict(section.data)}
    return replace(state, sections={**state.sections, step.name: kept})
