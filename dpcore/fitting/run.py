"""One fit, shared by the command line and ``dpcore.fit``: data in, model and statement out.

Everything that can be refused is refused before the session starts, so before any budget is spent.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcore.data.files import RowFacts, parts_of_rows
from dpcore.data.loader import loader_if_there
from dpcore.errors import InvalidInputError, TargetNotMetError
from dpcore.fitting.answered import fit_answered, fit_source, open_source
from dpcore.fitting.planning.engines import require_one_fit, rows_asked
from dpcore.fitting.planning.optimizer_queries import takes_curves
from dpcore.fitting.planning.public_facts import check_dataset
from dpcore.fitting.planning.utility_warning import UtilityWarning
from dpcore.fitting.reporting import delta_of, not_met, state, summarise, why_released
from dpcore.fitting.request.ledger_request import LedgerRequest
from dpcore.fitting.rows.loading import are_ours_and_generated
from dpcore.fitting.rows.run_rows import RunRows
from dpcore.fitting.rows.unbounded import encoded_rows
from dpcore.fitting.run_ledger import Charged, found_in, refuse_users, reserved
from dpcore.fitting.run_sessions import opened
from dpcore.fitting.run_state import RunSessions, RunState
from dpcore.fitting.steps.checked import checked, steps_of
from dpcore.fitting.steps.held_out_rows import (
    exact_metrics_if_there,
    foreign_metrics,
    holds_out,
    metrics_asked,
    require_held_out,
)
from dpcore.fitting.steps.run import RunSteps
from dpcore.fitting.steps.views import PublicFacts
from dpcore.fitting.training import Training, finish, make_model
from dpcore.noise.source import NoiseSource
from dpcore.privacy.first_party import part_of
from dpcore.privacy.statement import foreign_parts
from dpcore.privacy.unit_of_privacy import protected
from dpcore.registry.tables.optimizer_spec import optimizer_facts
from dpcore.session.charges import Bound, Charges
from dpcore.session.trust_boundary import foreign_callables

if TYPE_CHECKING:
    from dpcore.data.blocks.table import Table
    from dpcore.data.dataset import Dataset
    from dpcore.fitting.planning.planned import Plan
    from dpcore.fitting.planning.ready import Ready
    from dpcore.fitting.request.run_request import DataRequest
    from dpcore.model.model import Model
    from dpcore.protocols import Engine
    from dpcore.session.ledger import ChargeLog, LedgerEntry
    from dpcore.session.sequential_sessions import OnRelease

__all__ = ["Run"]


@dataclass(frozen=True, eq=False)
class Run:
    """One fit of a plan to rows: ``Run(plan, dataset).model()``.

    Parameters
    ----------
    dataset : the rows that are trained on, or, of an engine that reads them itself, their facts.
    why_not_private : reasons that void the guarantee, as clauses.
    parts : readers that ran on raw rows, as ``"module:Class"``.
    on_release : is called after each release.
    kept_fraction : the public part of the rows that these are, by which the schema's n0 shrinks.
    table : the data set's ``table()``, where the caller has it already.
    charges : what was charged, to follow; the caller may have its own.
    utility_warning : tells the expected utility, where the caller wants it told.
    engine : open over the rows already; of rows elsewhere.
    table_ledger : charged the whole budget beforehand; usually the schema's, or that of
        ``DPCORE_LEDGER``; ``None``: none, whatever the schema names.
    held_out : rows for the evaluation that the plan asks for.
    """

    plan: Plan
    dataset: RowFacts
    why_not_private: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    on_release: OnRelease = None
    kept_fraction: float = 1.0
    table: Table | None = None
    charges: Charges = field(default_factory=Charges)
    utility_warning: UtilityWarning | None = None
    engine: Engine | None = None
    table_ledger: LedgerRequest | None = field(default_factory=LedgerRequest)
    held_out: Dataset | None = None

    model_of = staticmethod(make_model)
    answered = staticmethod(fit_source)

    def ready(self) -> Ready:
        """Return the plan as it fits the rows, with the public facts of both; InvalidInputError if
        they do not fit each other."""
        return check_dataset(self.plan, self.dataset, self.kept_fraction)

    def begun(self, ready: Ready) -> RunState:
        """Return the run before its first step."""
        rows = RunRows(self.dataset, self.held_out, self.table, self.engine)
        held_out = rows.facts_of_held_out(size_is_public=ready.plan.relation.size_is_public)
        facts = PublicFacts(ready, self.dataset.schema, held_out)
        return RunState(facts, rows, ready.plan.accountant)

    def steps(self, begun: RunState) -> RunSteps:
        """Return the steps that it asks for; InvalidInputError where one does not fit it."""
        return RunSteps(
            checked(steps_of(begun.facts.plan.settings, begun.facts.schema), begun.facts)
        )

    def sessions(self, noise: NoiseSource, log: ChargeLog[LedgerEntry]) -> RunSessions:
        """Return what all of its sessions share, which write their charges to ``log``."""
        return RunSessions(noise, self.on_release, self.charges, log)

    def costs_at_most(self, epsilon: float, delta: float) -> None:
        """Note the most that it costs, for whoever is told what ended it."""
        self.charges.bound = Bound(
            epsilon,
            delta,
            self.plan.relation.value,
            protected(self.dataset.schema.units),
            not (self.plan.why_not_private() or self.why_not_private),
        )

    def charged(self, name: str, whole: Any) -> AbstractContextManager[Charged]:
        """Return its charges, a ``whole`` budget reserved for it by ``name`` if there is a ledger.

        A run without a guarantee is noted there as such and charged nothing, which no budget could
        hold. Raises InvalidInputError, LedgerError or BudgetExceededError, with nothing charged.
        """
        rows, relation = self.dataset, self.plan.relation
        reasons = (*self.plan.why_not_private(), *self.why_not_private)
        n = rows.n_units if relation.size_is_public else None
        run = name, whole, relation
        place = reserved(self.table_ledger, run, rows.schema, n, reasons, rows.part)
        self.charges.listed.append((self.table_ledger, place.reference))
        return place.closing()

    def made(self, by: Callable[[Run], Model]) -> Model:
        """Return the model that is made ``by`` what is handed this run, which then has that among
        its parts where it is not from dpcore.

        Raises InvalidInputError for a model whose statement does not name all of these, or that was
        not charged to the run's ledger: what would be said of it is not known.
        """
        run = replace(self, parts=(*self.parts, *foreign_callables(by)))
        with self.charges.told():
            model = by(run)
            privacy, asked = model.privacy, self.table_ledger
            has_ledger = asked is not None and asked.of(self.dataset.schema) is not None
            listed = not has_ledger or (asked, privacy.get("ledger")) in self.charges.listed
            if not (listed and {*foreign_parts(run.parts)} <= {*privacy["parts_not_from_dpcore"]}):
                raise InvalidInputError(_NOT_OF_THE_RUN)
        return model

    def model(self, lines: bool = False) -> Model:
        """Return the model. ``lines`` : whether numbers stay as its rows have them.

        Raises InvalidInputError, before anything is spent, if the parts do not fit each other;
        LedgerError or BudgetExceededError where a ledger cannot hold the run. What ends the fit
        after that has a note of what was charged.
        """
        ready = self.ready()
        asked = ready.plan.optimizer, ready.problem, ready.plan.accountant
        if not lines and takes_curves(*asked) and (loader := loader_if_there()) is not None:
            model: Model = loader.with_curves(self, partial(Run.model, lines=True))
            return model
        run = replace(self, plan=ready.plan)
        run.costs_at_most(run.plan.accountant.epsilon, delta_of(run.plan.accountant))
        if run.engine is not None:
            require_one_fit(ready)
        begun = run.begun(ready)
        steps = run.steps(begun)
        if run.utility_warning is not None:
            run.utility_warning.look(ready.of_each, ready.problem)
        if optimizer_facts(run.plan.optimizer).answered_by:
            refuse_users(run.table_ledger, run.plan, run.dataset.schema)
            return _model_of_source(run, ready)
        name, whole = run.plan.entry.name, run.plan.accountant
        with run.charges.told(), run.charged(name, whole) as charged:
            return _model_of_rows(run, steps, begun, charged)

    @staticmethod
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
        ``table_ledger`` : where the request has none; by default the schema's, or that of
        ``DPCORE_LEDGER``, if there is one.
        ``by`` : makes the model of the run where that is no single fit, but a search. Its seconds,
        and exact metrics of generated rows, would tell of one try, and there are none.
        """
        require_held_out(plan, request.test_fraction)
        metrics = metrics_asked(request, plan.settings)
        table_ledger = request.table_ledger or table_ledger or LedgerRequest()
        started, log = time.perf_counter(), logging.getLogger("dpcore").info
        warns = UtilityWarning(partial(log, "dpcore: warning: %s"), partial(log, "dpcore: %s"))
        with rows_asked(plan, request) as (data, engine):
            rows, test, held_out = data.train, data.test, None
            if holds_out(plan.settings):
                held_out, test = test, None
            if test is not None:
                table_ledger.note_outside(rows.schema, "exact metrics of test rows")
            told: dict[str, Any] = {"engine": engine, "utility_warning": warns}
            told |= {"table_ledger": table_ledger, "held_out": held_out}
            parts = (*data.parts, *foreign_metrics(metrics), *request.asked_by)
            given = rows, data.why_not_private, parts, on_release, data.kept_fraction, None
            model = Run(plan, *given, charges or Charges(), **told).made(by or Run.model)
        diagnostics: dict[str, Any] = {}
        if test is not None:
            trained = None if engine is not None else encoded_rows(rows, model.schema)
            asked = trained, encoded_rows(test, model.schema)
            diagnostics = metrics.exact_metrics(plan.loss, model, *asked)
        training = finish(plan, model, rows, None if by else started, diagnostics)
        secret = by or engine or not are_ours_and_generated(data.train, data.parts)
        if not secret and plan.loss.classification:
            if (made := exact_metrics_if_there()) is not None:
                accuracy = made.exact_accuracy(model, encoded_rows(rows, model.schema))
                training = replace(training, generated=accuracy)
        told = {"was_warned": warns.failing, "charged_to": table_ledger}
        return replace(training, at_hand=engine is None, **told)


_NOT_OF_THE_RUN = (
    "The model was not charged to the ledger of the run, or its statement does not name all parts "
    "of the run: it is not handed out. Make it by run.model(), or within run.charged(name, whole) "
    "and with run.parts among the statement's."
)


def _model_of_rows(run: Run, steps: RunSteps, begun: RunState, charged: Charged) -> Model:
    """Return the model of rows that a session asks: the phases of the run, in order."""
    sessions = run.sessions(NoiseSource.of_seed(run.plan.settings.seed), charged.log)
    trusted = (*_trusted(run), *steps.foreign_parts)
    known = steps.before(steps.set_aside(begun), sessions)
    plan, rows = known.facts.plan, known.rows.dataset
    released, solve = opened(known, sessions, are_ours_and_generated(run.dataset, run.parts))
    sessions.follow(released)

    def found() -> Any:
        why = why_released(plan, released.ledger, released.parts_not_private)
        return found_in(released, why, trusted, rows.typed_by)

    def statement() -> Any:
        said = steps.stated(known), charged.reference
        return state(run.dataset, run.why_not_private, known.facts, released, trusted, *said)

    charged.found = found
    try:
        solution = solve()
    except TargetNotMetError as error:
        raise not_met(error, statement(), rows) from None
    released, known = steps.after(replace(known, solution=solution), released, sessions)
    told = summarise(released.ledger), statement(), known
    return make_model(plan, rows.schema, known.facts.problem.l2, known.solution, *told)


def _trusted(run: Run) -> tuple[str, ...]:
    """Return the parts inside the trust boundary, beside those that a session sees."""
    named = (*run.parts, *foreign_callables(run.on_release), *parts_of_rows(run.dataset))
    return (part_of(run.plan.loss), *run.plan.targets, *named)


def _model_of_source(run: Run, ready: Ready) -> Model:
    """Return the model of rows that a source of the optimizer's has: a run of the phase ``solve``
    alone."""
    plan, problem, dataset = ready.plan, ready.problem, run.dataset
    with run.charges.told():
        source, opened_by = open_source(plan, dataset)  # type: ignore[arg-type]
        asked = (
            run.charges,
            (*_trusted(run), opened_by),
            run.why_not_private,
            dataset.typed_by,
            not are_ours_and_generated(dataset, run.parts),
        )
        solution, statement = fit_answered(plan, problem, source, *asked)
        if dataset.part is not None:
            statement = replace(statement, part=dataset.part.name)
        return make_model(plan, dataset.schema, problem.l2, solution, (), statement)
