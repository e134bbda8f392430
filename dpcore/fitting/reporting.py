"""The statement of a run, and its ledger in short: for its model, its report or its failure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpcore.accountants.pure import PureAccountant
from dpcore.errors import TargetNotMetError, UnsupportedEventError
from dpcore.model.details import bounded, plain
from dpcore.privacy.events import ComposedDpEvent, DpEvent, NonPrivateDpEvent
from dpcore.privacy.statement import OF_DPCORE, PrivacyStatement, foreign_parts
from dpcore.privacy.unit_of_privacy import Units
from dpcore.registry.tables.optimizer_spec import optimizer_facts
from dpcore.session.charges import Charged

if TYPE_CHECKING:
    from dpcore.data.files import RowFacts
    from dpcore.fitting.planning.planned import Plan
    from dpcore.fitting.steps.views import PublicFacts
    from dpcore.protocols import Accountant
    from dpcore.session.ledger import LedgerEntry
    from dpcore.session.sequential_sessions import Released

__all__ = [
    "charged_in",
    "delta_of",
    "not_met",
    "state",
    "state_session",
    "summarise",
    "unpromised",
    "why_released",
]


def charged_in(session: Released) -> Charged | None:
    """Return what a session's releases were charged; ``None`` where there was none."""
    used = session.accountant
    return (used.spent, used.budget, used.unit) if session.ledger else None


def not_met(
    error: TargetNotMetError, statement: PrivacyStatement, dataset: RowFacts
) -> TargetNotMetError:
    """Return the error with a report of what was charged: released values, like those of a
    model."""
    report = {
        "data": dataset.name,
        "model": None,
        "details": plain(bounded(error.report)),
        **statement.to_dict("What came out of this run, that no model did included,"),
    }
    void = "" if statement.private else " The run is NOT private: its numbers are no guarantee."
    return TargetNotMetError(f"{error}{void}", report)


def state(
    rows: RowFacts,
    why_not_private: tuple[str, ...],
    facts: PublicFacts,
    session: Released,
    trusted: tuple[str, ...],
    steps: Mapping[str, dict[str, Any]],
    ledger: dict[str, Any] | None,
) -> PrivacyStatement:
    """Return the privacy statement of a run.

    ``trusted`` : parts beside those the session saw. ``steps`` : what is stated of the steps beside
    the optimizer's, by name. ``ledger`` : the run's place in one.
    """
    plan, problem = facts.plan, facts.problem
    asked = plan, session.ledger, session.parts_not_private
    return state_session(
        session,
        plan.accountant,
        (*plan.why_not_private(), *why_released(*asked), *why_not_private),
        trusted,
        rows.typed_by,
        n0=problem.n0 if problem.n is None else None,
        units=_units_of(rows),
        native_budget=plan.settings.native_budget(),
        ex_post_epsilon=_ex_post(plan, session),
        part=None if rows.part is None else rows.part.name,
        fits=facts.ready.fits,
        ledger=ledger,
        steps={name: stated for name, stated in steps.items() if name not in OF_DPCORE} or None,
        **{name: stated for name, stated in steps.items() if name in OF_DPCORE},
    )


def _units_of(dataset: RowFacts) -> Units | None:
    units = dataset.schema.units
    return units and replace(units, in_one_file=dataset.rests_on_claim)


def state_session(
    session: Released,
    empty: Accountant,
    why_not_private: tuple[str, ...],
    trusted: tuple[str, ...],
    typed_by: str | None,
    **others: Any,
) -> PrivacyStatement:
    """Return the privacy statement of a session.

    ``empty`` : the accountant that it was opened with. ``others`` : further fields of the
    statement.
    """
    accountant = session.accountant
    return PrivacyStatement(
        epsilon=empty.epsilon,
        delta=delta_of(empty),
        relation=session.relation.value,
        accountant=accountant.name,
        conversion=accountant.conversion,
        unit=accountant.unit,
        budget=accountant.budget,
        spent=accountant.spent,
        releases=session.releases,
        parts_not_from_dpcore=tuple(sorted({*session.foreign_parts, *foreign_parts(trusted)})),
        why_not_private=why_not_private,
        most_rows=session.most_rows,
        capacity=session.rows_that_fit,
        typed_by=typed_by,
        **others,
    )


def delta_of(accountant: Accountant) -> float:
    """Return the delta of the guarantee. The pure filter bounds the sum of epsilons, and of the
    deltas that were reserved, whatever delta was asked for."""
    return accountant.reserve if type(accountant) is PureAccountant else accountant.delta


def _ex_post(plan: Plan, session: Released) -> float | None:
    """Return the loss of the outcome where the algorithm puts it out and every release has it."""
    stated = optimizer_facts(plan.optimizer)
    if not stated.targets or stated.needed_epsilon is not None:
        return None
    try:
        return session.ex_post_epsilon
    except UnsupportedEventError:
        return None


def why_released(
    plan: Plan, ledger: Iterable[LedgerEntry], not_private: tuple[str, ...]
) -> tuple[str, ...]:
    """Return why what was released voids the guarantee, whatever the optimizer says of itself;
    ``not_private`` : the released parts that promise no privacy."""
    reasons = []
    if any(_is_exact(entry.event) for entry in ledger) and not plan.why_not_private():
        reasons.append("exact answers were released")
    if not optimizer_facts(plan.optimizer).as_published:  # which says so of itself
        reasons += unpromised(not_private)
    return tuple(reasons)


def unpromised(parts: tuple[str, ...]) -> list[str]:
    """Return the clause about released parts that promise no privacy, if there were any."""
    return [f"parts that promise no privacy were released: {', '.join(parts)}"] if parts else []


def _is_exact(event: DpEvent) -> bool:
    if isinstance(event, ComposedDpEvent):
        return any(map(_is_exact, event.events))
    within = getattr(event, "event", None)  # Of a sample, say.
    return isinstance(event, NonPrivateDpEvent) or isinstance(within, DpEvent) and _is_exact(within)


def summarise(ledger: Iterable[LedgerEntry]) -> tuple[dict[str, Any], ...]:
    """Return count and cost of the ledger for each kind of release and mechanism, in order."""
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in ledger:
        key = (entry.kind, entry.mechanism)
        empty = {"kind": entry.kind, "mechanism": entry.mechanism, "count": 0, "cost": 0.0}
        group = groups.setdefault(key, empty)
        group["count"] += 1
        group["cost"] += entry.cost
    return tuple(groups.values())
