"""One fit, shared by the command line and ``dpcore.fit``: data in, model and statement out.

Everything that can be refused is refused before the session starts, so before any budget is spent.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcore.data.files import parts_of_rows
from dpcore.data.loader import file_loader, loader_if_there
from dpcore.data.registered_loader import foreign_loader
from dpcore.errors import TargetNotMetError
from dpcore.fitting.answered import fit_answered, open_source
from dpcore.fitting.planning.engines import opened_rows, require_one_fit
from dpcore.fitting.planning.optimizer_queries import takes_curves
from dpcore.fitting.planning.public_facts import check_dataset
from dpcore.fitting.planning.utility_warning import UtilityWarning
from dpcore.fitting.reporting import bound_of, charged_in, not_met, state, summarise, why_released
from dpcore.fitting.request.ledger_request import LedgerRequest
from dpcore.fitting.request.run_request import Run
from dpcore.fitting.rows.loading import are_ours_and_generated
from dpcore.fitting.rows.unbounded import encoded_rows, rehearsed_rows
from dpcore.fitting.run_sessions import opened
from dpcore.fitting.run_state import RunDoor, RunState
from dpcore.fitting.steps.checked import checked, foreign_parts_of, steps_of
from dpcore.fitting.steps.held_out_rows import (
    exact_figures_if_there,
    figures_asked,
    foreign_figures,
    holds_out,
    require_held_out,
)
from dpcore.fitting.steps.run import run_after, run_before, set_aside, stated_of
from dpcore.fitting.table_ledger import charged_run, found_in, refuse_users
from dpcore.fitting.training import Training, make_model
from dpcore.noise.source import NoiseSource
from dpcore.privacy.first_party import part_of
from dpcore.registry.tables.declarations import engine_facts, optimizer_facts
from dpcore.session.charges import Charges

if TYPE_CHECKING:
    from dpcore.data.files import RowFacts
    from dpcore.fitting.planning.planned import Plan
    from dpcore.fitting.planning.ready import Ready
    from dpcore.fitting.request.run_request import DataRequest
    from dpcore.fitting.steps.checked import CheckedStep
    from dpcore.fitting.table_ledger import Charged
    from dpcore.model.model import Model
    from dpcore.protocols import Engine
    from dpcore.session.sequential_sessions import OnRelease

__all__ = ["fit_dataset", "fit_run", "train"]


def train(
    plan: Plan,
    request: DataRequest,
    on_release: OnRelease = None,
    charges: Charges | None = None,
    table_ledger: LedgerRequest | None = None,
    by: Callable[[Run], Model] | None = None,
) -> Training:
    """Return the training of a plan on the data that were asked for.

    ``charges`` : the caller's, to say what was charged if the run ends on the way.
    ``table_ledger`` : by default the schema's, or that of ``DPCORE_LEDGER``, if there is one.
    ``by`` : makes the model of the run where that is no single fit, but a search. Its seconds, and
    exact figures of generated rows, would tell of one try, and there are none.
    """
    require_held_out(plan, request.test_fraction)
    figures = figures_asked(request, plan.settings)
    table_ledger = table_ledger or LedgerRequest()
    started, utility_warning = time.perf_counter(), UtilityWarning(_tell, _note)
    with _rows_asked(plan, request) as (data, engine):
        rows, test, held_out = data.train, data.test, None
        if holds_out(plan.settings):
            held_out, test = test, None
        if test is not None:
            table_ledger.note_outside(rows.schema, "exact figures of test rows")
        told: dict[str, Any] = {"charges": charges, "held_out": held_out, "engine": engine}
        told |= {"utility_warning": utility_warning, "table_ledger": table_ledger}
        given = rows, data.why_not_private, (*data.parts, *foreign_figures(figures)), on_release
        run = Run(plan, *given, kept_fraction=data.kept_fraction, **told)
        model = fit_run(run) if by is None else by(run)
    diagnostics: dict[str, Any] = {}
    if test is not None:
        trained = None if engine is not None else encoded_rows(rows, model.schema)
        asked = trained, encoded_rows(test, model.schema)
        diagnostics = figures.exact_figures(plan.loss, model, *asked)
    training = finish(plan, model, rows, None if by else started, diagnostics)
    if by is None and engine is None and data.is_ours_and_generated and plan.loss.classification:
        made = exact_figures_if_there()
        accuracy = (
            None if made is None else made.exact_accuracy(model, encoded_rows(rows, model.schema))
        )
        training = replace(training, generated=accuracy)
    return replace(training, was_warned=utility_warning.failing, at_hand=engine is None)


@contextmanager
def _rows_asked(plan: Plan, request: DataRequest) -> Iterator[tuple[Any, Engine | None]]:
    """Lend the data that were asked for, and their engine where that reads the rows itself; those
    to report on are read by this process."""
    from dpcore.fitting.rows.loading import Data, load_data

    if engine_facts(plan.engine).reads_files:
        source, schema, parts = file_loader().source_of(plan, request)
        parts = (*parts, *foreign_loader())
        with opened_rows(plan, source, schema) as engine:
            rows: Any = engine.rows
            test = file_loader().tested(request, rows.schema)
            yield Data(rows, test, why_not_private=rows.schema.why_not_private, parts=parts), engine
        return
    data = load_data(request, plan.relation, plan.settings.threads, plan.settings.seed)
    if data.test is not None and data.train.schema.unbounded:
        rehearsed_rows(data.test, data.train.schema)
    yield data, None


def _tell(sentence: str) -> None:
    logging.getLogger("dpcore").info("dpcore: warning: %s", sentence)


def _note(sentence: str) -> None:
    logging.getLogger("dpcore").info("dpcore: %s", sentence)


def finish(
    plan: Plan,
    model: Model,
    dataset: RowFacts,
    started: float | None,
    diagnostics: Mapping[str, Any],
) -> Training:
    """Return the training, its model with the report attached. ``started`` : ``None``: untimed."""
    facts: dict[str, Any] = {
        "algo": plan.entry.name,
        "chosen_by": plan.chosen_by,
        "data": dataset.name,
        "n_features": model.coef.shape[-1],
    }
    if dataset.part is not None:
        facts["part"] = dataset.part.name
    if plan.relation.size_is_public:
        facts["n_train" if dataset.schema.unit is None else "units_train"] = dataset.n_units
    seconds = None if started is None else time.perf_counter() - started
    training = Training(model, facts, seconds, diagnostics, rows_dropped=dataset.rows_dropped)
    return replace(training, model=replace(model, report=training.report()))


def fit_dataset(plan: Plan, dataset: RowFacts, *given: Any, **others: Any) -> Model:
    """Return the model that the plan's optimizer fits to a data set: ``fit_run`` of a ``Run`` of
    these."""
    return fit_run(Run(plan, dataset, *given, **others))


def fit_run(run: Run, lines: bool = False) -> Model:
    """Return the model of a run. ``lines`` : whether numbers stay as its rows have them.

    Raises InvalidInputError, before anything is spent, if the parts do not fit each other;
    LedgerError or BudgetExceededError where a ledger cannot hold the run. What ends the fit after
    that has a note of what was charged.
    """
    ready = check_dataset(run.plan, run.dataset, run.kept_fraction)
    asked = ready.plan.optimizer, ready.problem, ready.plan.accountant
    if not lines and takes_curves(*asked) and (loader := loader_if_there()) is not None:
        model: Model = loader.with_curves(run, partial(fit_run, lines=True))
        return model
    run = replace(run, plan=ready.plan, charges=run.charges or Charges())
    charges = _charges_of(run)
    charges.bound = bound_of(ready.plan, run.dataset.schema.units, run.why_not_private)
    if run.engine is not None:
        require_one_fit(ready)
    begun = RunState.of(run, ready)
    steps = checked(steps_of(run.plan.settings, run.dataset.schema), begun.facts)
    if run.utility_warning is not None:
        run.utility_warning.look(ready.of_each, ready.problem)
    if optimizer_facts(run.plan.optimizer).answered_by:
        refuse_users(run.table_ledger, run.plan, run.dataset.schema)
        return _model_of_source(run, ready)
    ledger = charged_run(run.table_ledger, run.plan, run.dataset, run.why_not_private)
    with charges.told(), ledger as charged:
        return _model_of_rows(run, steps, begun, charged)


def _model_of_rows(
    run: Run, steps: tuple[CheckedStep, ...], begun: RunState, charged: Charged
) -> Model:
    """Return the model of rows that a door opens: the phases of the run, in order."""
    door = RunDoor(source_of_noise(run.plan), run.on_release, _charges_of(run), charged.log)
    trusted = (*_trusted(run), *foreign_parts_of(steps))
    known = run_before(steps, set_aside(steps, begun), door)
    plan, rows = known.facts.plan, known.rows.dataset
    released, solve = opened(known, door, secret_rows=_is_secret(run))
    door.charges.follow(lambda: charged_in(released))

    def found() -> Any:
        why = why_released(plan, released.ledger, released.parts_not_private)
        return found_in(released, why, trusted, rows.typed_by)

    def statement() -> Any:
        said = stated_of(steps, known), charged.reference
        return state(run, known.facts, released, trusted, *said)

    charged.found = found
    try:
        solution = solve()
    except TargetNotMetError as error:
        raise not_met(error, statement(), rows) from None
    released, known = run_after(steps, replace(known, solution=solution), released, door)
    told = summarise(released.ledger), statement(), known
    return make_model(plan, rows.schema, known.facts.problem.l2, known.solution, *told)


def _charges_of(run: Run) -> Charges:
    assert run.charges is not None
    return run.charges


def _trusted(run: Run) -> tuple[str, ...]:
    """Return the parts inside the trust boundary, beside those that a session sees."""
    return (part_of(run.plan.loss), *run.plan.targets, *run.parts, *parts_of_rows(run.dataset))


def _is_secret(run: Run) -> bool:
    return not are_ours_and_generated(run.dataset, run.parts)


def _model_of_source(run: Run, ready: Ready) -> Model:
    """Return the model of rows that a source of the optimizer's has: a run of the phase ``solve``
    alone."""
    plan, problem, dataset = ready.plan, ready.problem, run.dataset
    charges = _charges_of(run)
    with charges.told():
        source, opened_by = open_source(plan, dataset)  # type: ignore[arg-type]
        asked = (
            charges,
            (*_trusted(run), opened_by),
            run.why_not_private,
            dataset.typed_by,
            _is_secret(run),
        )
        solution, statement = fit_answered(plan, problem, source, *asked)
        if dataset.part is not None:
            statement = replace(statement, part=dataset.part.name)
        return make_model(plan, dataset.schema, problem.l2, solution, (), statement)


def source_of_noise(plan: Plan) -> NoiseSource:
    """Return the noise of a run: the system's, or repeatable where a seed was given."""
    return NoiseSource.of_seed(plan.settings.seed)
