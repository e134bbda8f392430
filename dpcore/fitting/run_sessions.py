"""The session of a run over its rows, or those of its fits, one after the other, and what is solved
there."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcore.errors import TargetNotMetError
from dpcore.fitting.optimizer_run import run_optimizer
from dpcore.fitting.ovr import solve_each
from dpcore.fitting.planning.engines import engine_at_hand
from dpcore.fitting.planning.fixed_schedule import fixed_schedule
from dpcore.session.ledger import ChargeLog, LedgerEntry, LedgerWithin
from dpcore.session.sequential_sessions import OnRelease, Released, SequentialSessions
from dpcore.session.session import TableSession

if TYPE_CHECKING:
    from dpcore.data.dataset import Dataset
    from dpcore.fitting.run_state import RunSessions, RunState
    from dpcore.protocols import Engine
    from dpcore.protocols.problem import Solution

__all__ = ["opened"]


def opened(
    state: RunState, sessions: RunSessions, are_generated: bool
) -> tuple[Released, Callable[[], Solution]]:
    """Return what a run releases, to be followed, and the call that solves its problem.

    The noise of all its fits is drawn from one source, one after the other: no two share any. Each
    has its part of what the run's filter has left. ``are_generated`` : whether the rows are no
    secret, so that an error of the optimizer's may say what it says.
    """
    ready, rows = state.facts.ready, state.rows
    plan, problem = ready.of_each, ready.problem
    part = ready.part_of(state.accountant)

    def over(engine: Engine, on_release: OnRelease, ledger: ChargeLog[LedgerEntry]) -> TableSession:
        told: dict[str, Any] = {"on_release": on_release, "problem": problem, "ledger": ledger}
        told |= {"schedule": fixed_schedule(plan, problem), "earlier": sessions.parts}
        return TableSession(engine, part, plan.relation, sessions.noise, **told)

    def solve(session: TableSession) -> Solution:
        asked = plan.optimizer, plan.entry, problem, session
        try:
            solution = run_optimizer(*asked, secret_rows=not are_generated)
        except TargetNotMetError:  # which is reported with a guarantee, as a model is
            session.require_whole()
            raise
        finally:
            session.close()  # An optimizer may keep it: what is stated is all that it released.
        session.require_whole()  # It may have caught what an answer raised.
        return solution

    if rows.engine is not None:
        session = over(rows.engine, sessions.on_release, sessions.ledger)
        return session, lambda: solve(session)
    before, on_release = Fraction(state.accountant.spent), sessions.on_release
    asked = plan.relation, part, ready.fits, before, sessions.ledger, sessions.parts
    all_of_them = SequentialSessions(*asked)
    tell = None if on_release is None else lambda _: on_release(all_of_them)

    def solve_class(own: Dataset) -> Solution:
        at_hand = engine_at_hand(ready.plan.engine, own.table(), own.schema, plan.settings.threads)
        session = over(at_hand, tell, LedgerWithin(sessions.ledger))
        all_of_them.begin(session)
        return solve(session)

    return all_of_them, lambda: solve_each(plan, rows.dataset, problem.n_features, solve_class)
