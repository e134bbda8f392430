"""Checks of what an optimizer brings along that runs inside the trust boundary."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING, Any, cast

from dpcore.plugin.parts import DerivedQuery, PrivacyStatement, Table, TableQuery
from dpcore_lab.checks.coverage_text import Tested
from dpcore_lab.checks.interactive import check_interactive
from dpcore_lab.checks.mechanisms import check_mechanism
from dpcore_lab.checks.queries import check_contributions
from dpcore_lab.checks.samplers import check_sampler
from dpcore_lab.made_tables.sums import LargeTables, compare_sums
from dpcore_lab.made_tables.tables import make_rows, some_short
from dpcore_lab.outcomes.power import PROBABILITY
from dpcore_lab.outcomes.residuals import assert_noise_is_fresh, faults_found, recorded_residuals
from dpcore_lab.replay.answers import unsampled
from dpcore_lab.replay.canonical import canonical
from dpcore_lab.replay.recorded import cases_of, record_run, sizes_of
from dpcore_lab.replay.recording import started_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin.parts import Mechanism, Optimizer, Query
    from dpcore_lab.outcomes.residuals import Residuals
    from dpcore_lab.replay.recording import RecordingSession

__all__ = [
    "check_mechanisms_and_queries",
    "first_and_last",
    "foreign_answers",
    "foreign_parts",
    "is_of_the_core",
    "maker_of",
]

_QUERIES_PER_RUN = 8
_BLOCKS, _POOLED, _TABLES, _SECONDS = 20, 300, 8, (1.0, 1.0)
"""Blocks of the largest table, rows that it is made of, tables, and seconds for both."""
_ALARM = 1e-7
"""The chance that the noise of honest runs fails."""


def check_mechanisms_and_queries(optimizer: Optimizer) -> Tested:
    """Raise AssertionError unless the mechanisms, samplers and queries of a run bear out their
    claims.

    Those that are not dpcore's own get ``check_mechanism`` with the sensitivity of the run and
    ``check_sampler``; rows of a sum stay within the declared sensitivity, and a sum is that of its
    rows' parts on twenty full blocks too. None states that it is not private. A run adds to exact
    answers neither nothing, nor what it added before, nor too little
    (``dpcore_lab.outcomes.residuals``).

    An interactive mechanism has no release to repeat: ``check_interactive`` is the audit of a
    foreign class, with answers of the run's sizes. A mechanism without a noise multiplier, such as
    a table's, has no scale to try: the words say so.
    """
    audited: set[type] = set()
    of_one_scale: set[type] = set()
    large: set[tuple[Any, ...]] = set()
    sums = 0
    sessions = _recorded(optimizer)
    for session in sessions:
        void = ", ".join(session.parts_not_private)
        assert not void, f"It declares itself private and releases parts that are not: {void}."
        for query, mechanism in _of_other_settings(session, audited):
            if not hasattr(mechanism, "noise_multiplier"):
                of_one_scale.add(type(mechanism))
                continue
            check_mechanism(maker_of(mechanism), query.sensitivity(session.relation))
        audited |= {type(m) for _, m in session.parts if _is_foreign_noise(m)} - of_one_scale
        for query, _ in session.parts:
            asked = cast("Any", query)
            if hasattr(query, "sampled_event") and _is_new(type(query), audited):
                audited.add(type(query))
                check_sampler(asked)
        for started, sizes in started_in(session):
            if (
                not PrivacyStatement.is_ours(PrivacyStatement.part_of(started).partition(":")[0])
                and type(started) not in audited
            ):
                audited.add(type(started))
                check_interactive(started, *sizes)
        foreign = _foreign_sums(session)
        facts = session.relation, session.n_classes
        new = {(type(q), *facts): q for q in foreign if (type(q), *facts) not in large}
        large |= new.keys()
        for query in new.values():
            _check_large(query, session)
        for query in _some(foreign):
            sums += 1
            check_contributions(query, session.relation, session.n_classes)
    return _tested(sessions, audited, of_one_scale, sums)


def _of_other_settings(
    session: RecordingSession, audited: set[type]
) -> list[tuple[Any, Mechanism]]:
    """Return the mechanisms of a run to be audited, each with a query: of each class that is not
    dpcore's and was not seen before, those of ``first_and_last``."""
    kinds: dict[type, list[tuple[Any, Any]]] = {}
    for query, mechanism in session.parts:
        if _is_foreign_noise(mechanism) and type(mechanism) not in audited:
            kinds.setdefault(type(mechanism), []).append((query, mechanism))
    asked = {id(mechanism): query for parts in kinds.values() for query, mechanism in parts}
    chosen = [m for parts in kinds.values() for m in first_and_last([m for _, m in parts])]
    return [(asked[id(mechanism)], mechanism) for mechanism in chosen]


def _is_foreign_noise(mechanism: Any) -> bool:
    kind = type(mechanism)
    return not is_of_the_core(kind) and hasattr(kind, "release")


def first_and_last(mechanisms: list[Any]) -> list[Any]:
    """Return the first of a class's mechanisms, in the order of a run, and that whose fields came
    up last, if they are others: the noise multiplier aside, which an audit chooses itself."""
    settings: dict[Any, Any] = {}
    for mechanism in mechanisms:
        settings.setdefault(_other_fields(mechanism), mechanism)
    chosen = list(settings.values())
    return chosen if len(chosen) < 2 else [chosen[0], chosen[-1]]


def _other_fields(mechanism: Any) -> Any:
    if not dataclasses.is_dataclass(mechanism) or not hasattr(mechanism, "noise_multiplier"):
        return ()
    return canonical(dataclasses.replace(cast("Any", mechanism), noise_multiplier=1.0))


def _is_new(kind: type, audited: set[type]) -> bool:
    return not is_of_the_core(kind) and kind not in audited


def _check_large(query: Query, session: RecordingSession) -> None:
    """Compare a sum of a run on up to twenty blocks with the parts of its rows."""
    facts = getattr(getattr(query, "loss", None), "classification", True)
    rows = some_short(make_rows(_POOLED, seed=12, n_classes=session.n_classes if facts else 2))
    given: dict[str, Any] = {"most_parts": _POOLED, "most_tables": _TABLES, "seconds": _SECONDS}
    compare_sums(query, LargeTables(rows, session.relation, _BLOCKS * Table.BLOCK_ROWS, **given))


def _tested(
    sessions: list[RecordingSession], audited: set[type], of_one_scale: set[type], sums: int
) -> Tested:
    """Look at the residuals of all additive releases, and return what was looked at.

    ``of_one_scale`` : mechanisms without a noise multiplier, by which ``check_mechanism`` would
    make more or less noise.
    """
    by_kind: dict[type, list[Residuals]] = {}
    for session in sessions:
        for kind, residuals in recorded_residuals(session):
            by_kind.setdefault(kind, []).append(residuals)
    for kind, found in by_kind.items():
        assert_noise_is_fresh(found, kind.__name__, _ALARM / len(by_kind))
    releases = sum(len(session.parts) for session in sessions)
    seen = sum(len(each.steps) for found in by_kind.values() for each in found)
    faults = {
        kind.__name__: faults_found(found, _ALARM / len(by_kind)) for kind, found in by_kind.items()
    }
    power = ", ".join(f"{words} ({name})" for name, words in faults.items() if words)
    names = ", ".join(sorted(kind.__name__ for kind in audited)) or "none"
    return Tested(
        f"the noise of {seen} of {releases} releases in {len(sessions)} runs, {sums} sums by "
        f"queries from outside the core, and mechanisms and samplers from outside: {names}",
        f"would have detected, with probability {PROBABILITY}, {power}" if power else "",
        (
            *([f"the noise of {releases - seen} releases that add none"] * (seen != releases)),
            *(
                f"{kind.__name__} by check_mechanism: it has no noise multiplier"
                for kind in sorted(of_one_scale, key=lambda kind: kind.__name__)
            ),
        ),
        (
            f"rows 80, of foreign sums to {_BLOCKS * Table.BLOCK_ROWS:,}",
            f"classes 2 to {max(session.n_classes for session in sessions)}",
            f"releases {releases:,}",
        ),
    )


def foreign_parts(optimizer: Optimizer) -> list[str]:
    """Return ``module:Class`` of every part that ran inside the trust boundary of a recorded run
    and is not of this repository."""
    named = {
        PrivacyStatement.part_of(part)
        for session in _recorded(optimizer)
        for query, mechanism in session.parts
        for part in (query, unsampled(query), mechanism)
    }
    return sorted(part for part in named if not PrivacyStatement.is_ours(part.partition(":")[0]))


def _recorded(optimizer: Optimizer) -> list[RecordingSession]:
    # Without a public number of rows an optimizer may ask more: it has to count.
    return [
        record_run(optimizer, make_rows(80, seed=10, n_classes=n_classes), relation, n0=n0)[0]
        for relation, n_classes in cases_of(optimizer)
        for n0 in (sizes_of(optimizer, relation) if n_classes == 2 else (400,))
    ]


def is_of_the_core(kind: type) -> bool:
    """Return whether dpcore has this very class under the name that it bears."""
    home = sys.modules.get(kind.__module__)
    named = kind.__module__.startswith("dpcore.")
    return named and getattr(home, kind.__qualname__, None) is kind


def foreign_answers(session: RecordingSession) -> list[Any]:
    """Return the first query of each class that is no sum: its answer is derived from sums, or from
    the table, and no row has a part of it."""
    asked = [unsampled(query) for query, _ in session.parts]
    kinds = {type(query): query for query in reversed(asked) if not hasattr(query, "answer_block")}
    return [query for kind, query in kinds.items() if not is_of_the_core(kind)]


def _foreign_sums(session: RecordingSession) -> list[Query]:
    """Return the queries that are sums over rows."""
    queries = [unsampled(query) for query, _ in session.parts]
    return [
        query
        for query in queries
        if not isinstance(query, (DerivedQuery, TableQuery)) and not is_of_the_core(type(query))
    ]


def maker_of(mechanism: Mechanism) -> Callable[[float], Mechanism]:
    """Return what makes the same mechanism, other fields included, with another multiplier."""
    if not dataclasses.is_dataclass(mechanism):
        return type(mechanism)
    instance: Any = mechanism
    return lambda multiplier: dataclasses.replace(instance, noise_multiplier=multiplier)


def _some(queries: list[Query]) -> list[Query]:
    """Return a few, from the first to the last: the later ones were made from released values."""
    step = max(1, len(queries) // _QUERIES_PER_RUN)
    return queries[::step]
