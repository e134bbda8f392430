"""The checks of a part at the sizes of a run, as ``dpcore check --like`` prints them."""

from __future__ import annotations

import inspect
import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcore.errors import DpcoreError, InvalidInputError
from dpcore.plugin.parts import LossFacts, Table, optimizer_facts
from dpcore_lab.checks.coverage_text import Tested
from dpcore_lab.checks.guard import require_assertions, require_frozen
from dpcore_lab.checks.interactive import check_interactive
from dpcore_lab.checks.losses import check_loss
from dpcore_lab.checks.parts import first_and_last, is_of_the_core, maker_of
from dpcore_lab.checks.run import Outcome, outcome_of, outcomes_of
from dpcore_lab.checks.samplers import check_sampler
from dpcore_lab.isolation import run_apart
from dpcore_lab.made_tables.large_neighbours import compare_large_neighbours
from dpcore_lab.made_tables.sums import LargeTables, compare_sums
from dpcore_lab.replay.answers import unsampled
from dpcore_lab.replay.recording import started_in
from dpcore_lab.replay.transcripts import shape_of
from dpcore_lab.run_sizes.engines import check_engine_of_run
from dpcore_lab.run_sizes.first_calls import (
    assert_loss_has_no_first_call,
    assert_query_has_no_first_call,
)
from dpcore_lab.run_sizes.mechanisms import check_mechanism_of_run, scales_of
from dpcore_lab.run_sizes.optimizers import check_run
from dpcore_lab.run_sizes.own_columns import check_of_its_columns, is_of_its_columns
from dpcore_lab.run_sizes.request import LikeRun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcore_lab.replay.recording import RecordingSession
    from dpcore_lab.run_sizes.request import LikeRequest

__all__ = ["KINDS_LIKE_RUNS", "in_order", "outcomes_like", "run_checks_like"]

KINDS_LIKE_RUNS = ("optimizer", "query", "sampler", "loss", "mechanism", "engine", "interactive")
"""Kinds whose parts meet the sizes of a run."""
_MOST_CALLS = 2000
"""Calls of a loss between two of the same margins."""
_FEW, _SECONDS_OVER_FEW = 129, (1.0, 2.0)
"""Rows of a run over few of them, two round batches of 64 and a row; and its CPU seconds."""
_MOST_SAMPLED = 100_000
"""Rows, at most, of a table that samples are drawn from."""

Named = tuple[str, str, Any, "Callable[[], Tested]"]
"""The kind of a part, its name, the part and its check."""


def run_checks_like(part: Any, kind: str, request: LikeRequest) -> tuple[str, list[Outcome]]:
    """Return the sizes of the run in words, and the outcome of every check of a part at these.

    Of an optimizer its run, and the check of every query, sampler, mechanism and loss of the run
    that is not the core's; of any other part, as ``run_checks`` takes it, its general check too.

    Raises InvalidInputError for a kind that meets no sizes of a run, and for a request that does
    not fit.
    """
    words, outcomes = outcomes_like(part, kind, request)
    return words, in_order(list(outcomes), kind)


def in_order(ended: list[Outcome], kind: str) -> list[Outcome]:
    """Return the outcomes of ``outcomes_like``, those of the general check first."""
    return ended if kind == "optimizer" else [*ended[1:], *ended[:1]]


def outcomes_like(part: Any, kind: str, request: LikeRequest) -> tuple[str, Iterator[Outcome]]:
    """Return the words of ``run_checks_like``, and its outcomes, each as its check ends: that of
    the run's sizes first, before anything else has called the part in this process."""
    require_assertions()
    if kind not in KINDS_LIKE_RUNS:
        raise InvalidInputError(
            f"A part of the kind {kind} meets no sizes of a run: --like takes one that is "
            f"{', '.join(KINDS_LIKE_RUNS)}."
        )
    planned = {kind: part} if kind in ("optimizer", "loss") else {}
    like = LikeRun.of(request, **planned)
    if kind == "optimizer":
        return like.words, _of_optimizer(like)
    part = like.plan.loss if kind == "loss" else part
    checks: dict[str, Callable[[Any, LikeRun], Tested]] = {
        "query": _query,
        "sampler": _sampler,
        "loss": _loss,
        "mechanism": _mechanism,
        "engine": _engine,
        "interactive": _interactive,
    }
    return like.words, _of_part(part, kind, checks[kind], like)


def _of_part(
    part: Any, kind: str, check: Callable[[Any, LikeRun], Tested], like: LikeRun
) -> Iterator[Outcome]:
    name = f"check_{kind} at the run's sizes"
    yield _outcome(name, partial(check, part, like), part, kind, like)
    if kind == "query" and is_of_its_columns(part, like):
        yield outcome_of("check_query", partial(check_of_its_columns, part, like), part, True)
    else:
        yield from outcomes_of(part, kind)


def _outcome(name: str, check: Any, part: Any, kind: str, like: LikeRun) -> Outcome:
    """Return the outcome of a check in a process of its own, after those that need two each."""

    def whole() -> Tested:
        if kind == "query":
            made = part(like.problem) if isinstance(part, type) or inspect.isroutine(part) else part
            assert_query_has_no_first_call(unsampled(made), like)
        tested: Tested = check() if kind == "loss" else run_apart(check)
        return tested

    return outcome_of(name, whole, part, False)


def _of_optimizer(like: LikeRun) -> Iterator[Outcome]:
    optimizer: Any = like.plan.optimizer
    if not optimizer_facts(type(optimizer)).private:
        raise InvalidInputError(
            f"{like.plan.entry.name} is given exact answers: it claims nothing."
        )
    run = outcome_of("run", partial(check_run, like), optimizer, False)
    yield run
    if not run.passed:
        return
    session, _ = like.recorded()
    for kind, name, part, check in _parts(like, session):
        yield _outcome(f"{kind} {name} at the run's sizes", check, part, kind, like)
    others = list(like.of_other_relations())
    for other in others:
        yield from _under(other)
    yield from _over_few([like, *others])


def _under(like: LikeRun) -> Iterator[Outcome]:
    """Yield the outcomes of a run under another relation than the request's: its queries' too, and
    not the noise's, which a sensitivity alone decides."""
    under, optimizer = f"under {like.relation.value}", like.plan.optimizer
    yield outcome_of(f"run {under}", partial(check_run, like), optimizer, False)
    try:
        session, _ = like.recorded()
    except DpcoreError:  # As the outcome before says.
        return
    for kind, name, part, check in _parts(like, session):
        if kind == "query":
            yield _outcome(f"query {name} {under}", check, part, kind, like)


def _over_few(runs: list[LikeRun]) -> Iterator[Outcome]:
    """Yield the outcomes of what a run over few rows asks that is no sum, under the first relation
    with a public number of rows: tables of no other number are met there, a row counts for more
    in a small one, and the last of equal parts of the rows is short."""
    like = next((each for each in runs if each.problem.n is not None), None)
    if like is None or like.n_rows <= _FEW:
        return
    request, optimizer = replace(like.request, rows=_FEW), like.plan.optimizer
    try:
        few = LikeRun.of(request, optimizer, like.relation.value)
        session, _ = few.recorded()
    except Exception:  # It may take no table as small.
        return
    for kind, name, part, _ in _parts(few, session):
        if kind == "query" and not hasattr(part, "answer_block"):
            check = partial(_asked, part, few, _SECONDS_OVER_FEW)
            yield outcome_of(f"query {name} over {_FEW} rows", check, part, True)


def _parts(like: LikeRun, session: RecordingSession) -> Iterator[Named]:
    """Yield the check of each class of part that a run met and that is not the core's: of queries
    the first and the last one of the run."""
    asked: dict[type, list[Any]] = {}
    for query, mechanism in session.parts:
        for part in {id(each): each for each in (query, unsampled(query), mechanism)}.values():
            if not is_of_the_core(type(part)):
                asked.setdefault(type(part), []).append(part)
    for kind, parts in asked.items():
        for part in {id(each): each for each in (parts[0], parts[-1])}.values():
            if hasattr(part, "sampled_event"):
                yield "sampler", kind.__name__, part, partial(_sampler, part, like)
            elif hasattr(part, "sensitivity"):
                yield "query", kind.__name__, part, partial(_asked, part, like)
        if hasattr(kind, "begin"):
            sizes = next(sizes for part, sizes in started_in(session) if type(part) is kind)
            for part in first_and_last(parts):
                yield (
                    "interactive",
                    kind.__name__,
                    part,
                    partial(check_interactive, part, *sizes),
                )
        if hasattr(kind, "release"):
            scales = scales_of(session, kind)
            for part in first_and_last(parts):
                yield (
                    "mechanism",
                    kind.__name__,
                    part,
                    partial(_noise, maker_of(part), scales, like),
                )
    if not is_of_the_core(type(like.plan.loss)):
        loss = like.plan.loss
        yield "loss", loss.name, loss, partial(_loss, loss, like, session)


def _noise(make: Any, scales: Any, like: LikeRun) -> Tested:
    return check_mechanism_of_run(make, scales, like.n_rows)


def _asked(query: Any, like: LikeRun, seconds: tuple[float, float] = LargeTables.seconds) -> Tested:
    """Check a query that was asked in a run, or made from its problem."""
    facts = like.problem.n is not None, like.rows_per_unit is not None
    made = LargeTables(like.rows, like.relation, like.n_rows, *facts, seconds=seconds)
    if hasattr(query, "answer_block"):
        certain = "a sum that is not that of its rows' parts on one of these tables: with certainty"
        left = ("rows and parameters that were not tried",)
        found = compare_sums(query, made)
        return Tested(found.words, certain, left, (*found.ranges, *_columns(like)))
    only = like.problem.n
    told = compare_large_neighbours(lambda n: query if only in (None, n) else None, made)
    ranges = (f"rows 0 to {like.n_rows + 1:,}", *_columns(like))
    return Tested(told, not_tested=("worse pairs of tables than these",), ranges=ranges)


def _columns(like: LikeRun) -> tuple[str, ...]:
    classes = like.schema.label.n_classes
    return f"columns {like.problem.n_features:,}", f"classes {classes}" if classes else "a target"


def _query(make: Any, like: LikeRun) -> Tested:
    query = unsampled(make(like.problem))
    require_frozen(query)
    return _asked(query, like)


def _sampler(make: Any, like: LikeRun) -> Tested:
    is_made = hasattr(make, "sampled_event") and not isinstance(make, type)
    sampler = make if is_made else make(like.problem)
    return check_sampler(sampler, min(like.n_rows - like.n_rows % 2, _MOST_SAMPLED))


def _loss(loss: Any, like: LikeRun, session: RecordingSession | None = None) -> Tested:
    """Check a loss with the run's classes, and after as many calls as its run makes, or 2,000: the
    run and the check in processes of their own."""
    classes, several = max(3, like.problem.n_margins), LossFacts.of(loss).multiclass
    assert_loss_has_no_first_call(loss, classes if several else 2 * bool(loss.classification))
    releases = len(session.parts) if session else run_apart(partial(_n_releases, like))
    calls = min(_MOST_CALLS, releases * -(-like.n_rows // Table.BLOCK_ROWS))
    tested: Tested = run_apart(partial(check_loss, loss, (classes,), max(1, calls)))
    return tested


def _n_releases(like: LikeRun) -> int:
    return len(like.recorded()[0].parts)


def _mechanism(make: Any, like: LikeRun) -> Tested:
    session, _ = like.recorded()
    return check_mechanism_of_run(make, scales_of(session), like.n_rows)


def _interactive(make: Any, like: LikeRun) -> Tested:
    mechanism = make if hasattr(make, "begin") else make(like.problem)
    size = math.prod(shape_of(mechanism.base, like.rows.table()))
    return check_interactive(mechanism, n_base=size)


def _engine(engine: Any, like: LikeRun) -> Tested:
    session, _ = like.recorded()
    return check_engine_of_run(engine, like, session)
