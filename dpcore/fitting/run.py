"""One fit, shared by the command line and ``dpcore.fit``: data in, model and statement out.

Everything that can be refused is refused before the session starts, so before any budget is spent.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpcore.bounds.waiting import encoded_rows, rehearsed_rows
from dpcore.data.files import parts_of_rows
from dpcore.errors import TargetNotMetError
from dpcore.fitting.balanced import BalancedWeights
from dpcore.fitting.class_weights import BALANCED
from dpcore.fitting.diagnostics import accuracy_figures, diagnose
from dpcore.fitting.doors import OnRelease, opened
from dpcore.fitting.engines import opened_rows, require_one_fit, source_of
from dpcore.fitting.evaluated import Evaluation, require_held_out
from dpcore.fitting.fitted import make_model
from dpcore.fitting.foresight import Foresight
from dpcore.fitting.inferred import Intervals
from dpcore.fitting.loading import are_ours_and_generated, rows_to_test_on, schema_reasons
from dpcore.fitting.private_bounds import PrivateBounds
from dpcore.fitting.public_facts import check_dataset
from dpcore.fitting.reporting import bound_of, charged_in, not_met, state, summarise, why_released
from dpcore.fitting.run_steps import Door, checked
from dpcore.fitting.steps import RunView
from dpcore.fitting.table_ledger import (
    LedgerRequest,
    charged_run,
    found_in,
    note_outside,
    refuse_users,
)
from dpcore.fitting.training import Training
from dpcore.fitting.users import fit_users, open_pool
from dpcore.noise.source import SeededNoise, SystemNoise
from dpcore.privacy.statement import part_of
from dpcore.registry.declarations import engine_facts
from dpcore.session.charges import Charges

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcore.data.blocks.table import Table
    from dpcore.data.dataset import Dataset
    from dpcore.data.files import RowFacts
    from dpcore.fitting.loading import DataRequest
    from dpcore.fitting.plan import Plan
    from dpcore.fitting.public_facts import Ready
    from dpcore.fitting.steps import RunStep
    from dpcore.model.model import Model
    from dpcore.noise.source import NoiseSource
    from dpcore.protocols import Engine

__all__ = ["fit_dataset", "train"]


def train(
    plan: Plan,
    request: DataRequest,
    on_release: OnRelease = None,
    charges: Charges | None = None,
    table_ledger: LedgerRequest | None = None,
) -> Training:
    """Return the training of a plan on the data that were asked for.

    ``charges`` : the caller's, to say what was charged if the run ends on the way.
    ``table_ledger`` : by default the schema's, or that of ``DPCORE_LEDGER``, if there is one.
    """
    from dpcore.fitting.loading import load_data

    require_held_out(plan, request.test_fraction)
    if engine_facts(plan.engine).reads_files:
        return train_elsewhere(plan, request, on_release, charges, table_ledger)
    started, settings = time.perf_counter(), plan.settings
    data = load_data(request, plan.relation, settings.threads, settings.seed)
    if data.test is not None and data.train.schema.unbounded:
        rehearsed_rows(data.test, data.train.schema)
    foresight, table_ledger = Foresight(_tell, _note), table_ledger or LedgerRequest()
    held_out, test = (data.test, None) if settings.evaluates else (None, data.test)
    if test is not None:
        note_outside(table_ledger, data.train.schema, "exact figures of test rows")
    model = fit_dataset(
        plan,
        data.train,
        data.why_not_private,
        data.parts,
        on_release,
        data.kept_fraction,
        charges=charges,
        foresight=foresight,
        table_ledger=table_ledger,
        held_out=held_out,
    )
    diagnostics: dict[str, Any] = {}
    if test is not None:
        parts = (encoded_rows(rows, model.schema) for rows in (data.train, test))
        diagnostics = diagnose(plan.loss, model, *parts)
    training = finish(plan, model, data.train, started, diagnostics)
    if data.is_ours_and_generated and plan.loss.classification:
        figures = accuracy_figures(model, model.margins(data.train.X), data.train.y)
        training = replace(training, generated=figures)
    return replace(training, foretold=foresight.failing)


def train_elsewhere(
    plan: Plan,
    request: DataRequest,
    on_release: OnRelease,
    charges: Charges | None,
    table_ledger: LedgerRequest | None,
) -> Training:
    """Return the training of a plan on rows that its engine reads; rows to report on are read by
    this process."""
    started, foresight = time.perf_counter(), Foresight(_tell, _note)
    source, schema, parts = source_of(plan, request)
    with opened_rows(plan, source, schema) as engine:
        rows, ledger = engine.rows, table_ledger or LedgerRequest()
        reasons, test = schema_reasons(rows.schema), rows_to_test_on(request, rows.schema)
        if test is not None:
            note_outside(ledger, rows.schema, "exact figures of test rows")
        told: dict[str, Any] = {"charges": charges, "foresight": foresight, "table_ledger": ledger}
        model = fit_dataset(plan, rows, reasons, parts, on_release, engine=engine, **told)
    diagnostics = {} if test is None else diagnose(plan.loss, model, None, test)
    training = finish(plan, model, rows, started, diagnostics)
    return replace(training, foretold=foresight.failing, at_hand=False)


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


def fit_dataset(
    plan: Plan,
    dataset: RowFacts,
    why_not_private: tuple[str, ...] = (),
    parts: tuple[str, ...] = (),
    on_release: OnRelease = None,
    kept_fraction: float = 1.0,
    table: Table | None = None,
    charges: Charges | None = None,
    foresight: Foresight | None = None,
    engine: Engine | None = None,
    table_ledger: LedgerRequest | None = None,
    held_out: Dataset | None = None,
) -> Model:
    """Return the model that the plan's optimizer fits to a data set.

    ``parts`` : readers that ran on raw rows, as ``"module:Class"``. ``kept_fraction`` : the public
    part of the rows that this is, by which the schema's n0 shrinks. ``table`` : the data set's
    ``table()``, where the caller has it already. ``charges`` : the caller's, to follow.
    ``foresight`` : tells the outlook, where the caller wants it told. ``engine`` : open over the
    rows already; of rows elsewhere. ``table_ledger`` : charged the whole budget before anything is
    asked; ``None``: no ledger, whatever the schema names. ``held_out`` : rows for the evaluation
    that the plan asks for.
    Raises InvalidInputError, before anything is spent, if the parts do not fit each other;
    LedgerError or BudgetExceededError where a ledger cannot hold the run. What ends the fit after
    that has a note of what was charged.
    """
    ready = check_dataset(plan, dataset, kept_fraction)
    plan, charges = ready.plan, charges or Charges()
    charges.bound = bound_of(plan, dataset.schema.units, why_not_private)
    secret = not are_ours_and_generated(dataset, parts)
    if engine is not None:
        require_one_fit(ready)
    view = RunView(ready, dataset, table, engine)
    steps = checked(steps_of(plan, dataset, held_out), plan.settings.also, view)
    trusted = (part_of(plan.loss), *plan.targets, *parts, *steps.parts, *parts_of_rows(dataset))
    if foresight is not None:
        foresight.look(ready.of_each, ready.problem)
    if "user-pool" in plan.optimizer.needs:
        refuse_users(table_ledger, plan, dataset.schema)
        return _model_of_users(ready, dataset, charges, trusted, why_not_private, secret)
    run = charged_run(table_ledger, plan, dataset, why_not_private)
    with charges.told(), run as charged:
        door = Door(source_of_noise(plan), on_release, charges, charged.log)
        steps, view, accountant = steps.before(view, steps.set_aside(view), door)
        plan, problem, dataset = view.ready.plan, view.ready.problem, view.dataset
        released, solve = opened(view, accountant, door, secret_rows=secret)
        charges.follow(lambda: charged_in(released))
        charged.found = lambda: found_in(
            released, why_released(plan, released), trusted, dataset.typed_by
        )
        others = why_not_private, trusted, dataset, steps.stated, ready.fits, charged.reference
        try:
            solution = solve()
        except TargetNotMetError as error:
            statement = state(plan, problem, released, *others)
            raise not_met(error, statement, dataset) from None
        released, figures = steps.after(replace(view, solution=solution), released, door)
        known = summarise(released), state(plan, problem, released, *others), figures
        return make_model(plan, dataset.schema, problem.l2, solution, *known)


def _model_of_users(
    ready: Ready,
    dataset: Any,
    charges: Charges,
    trusted: tuple[str, ...],
    why_not_private: tuple[str, ...],
    secret: bool,
) -> Model:
    """Return the model of rows that stay with users, who have a budget each."""
    plan, problem = ready.plan, ready.problem
    with charges.told():
        pool, typed_by = open_pool(plan, dataset), dataset.typed_by
        solution, statement = fit_users(
            plan, problem, pool, charges, trusted, why_not_private, typed_by, secret
        )
        if dataset.part is not None:
            statement = replace(statement, part=dataset.part.name)
        return make_model(plan, dataset.schema, problem.l2, solution, (), statement)


def steps_of(plan: Plan, dataset: RowFacts, held_out: Dataset | None) -> Iterator[RunStep]:
    """Yield the steps that the settings and the schema of a run ask for, in their order."""
    settings = plan.settings
    if dataset.schema.unbounded:
        yield PrivateBounds()
    if settings.class_weight == BALANCED:
        yield BalancedWeights()
    if settings.evaluates and held_out is not None:
        yield Evaluation(held_out, settings.evaluate_share, settings.evaluate_epsilon)
    if settings.intervals_share is not None:
        yield Intervals(settings.intervals_share)


def source_of_noise(plan: Plan) -> NoiseSource:
    """Return the noise of a run: the system's, or repeatable where a seed was given."""
    return SystemNoise() if plan.settings.seed is None else SeededNoise(plan.settings.seed)
