"""One fit, shared by the command line and ``dpcore.fit``: data in, model and statement out.

Everything that can be refused is refused before the session starts, so before any budget is spent.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.data.blocks.row_norms import describe_scaling
from dpcore.errors import InvalidInputError, TargetNotMetError
from dpcore.fitting.diagnostics import accuracy_figures, diagnose
from dpcore.fitting.fixed_schedule import fixed_schedule, with_planned_accountant
from dpcore.fitting.loading import are_ours_and_generated
from dpcore.fitting.reporting import charged_in, not_met, plain, state, summarise
from dpcore.fitting.users import fit_users, open_pool
from dpcore.model.model import Model, check_coefficients
from dpcore.noise.source import SeededNoise, SystemNoise
from dpcore.privacy.statement import PrivacyStatement, part_of, running_versions
from dpcore.protocols.problem import Problem, check_fits, check_label
from dpcore.registry.contract import run_optimizer
from dpcore.session.charges import Charges
from dpcore.session.session import PrivacySession

if TYPE_CHECKING:
    from dpcore.data.blocks.table import Table
    from dpcore.data.dataset import Dataset
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.loading import DataRequest
    from dpcore.fitting.plan import Plan
    from dpcore.privacy.sensitivity import NeighboringRelation
    from dpcore.protocols.problem import Solution

__all__ = [
    "Training",
    "check_dataset",
    "check_drop",
    "check_public",
    "fit_dataset",
    "make_model",
    "train",
    "with_default_l2",
]

OnRelease = Callable[[PrivacySession], None] | None


@dataclass(frozen=True)
class Training:
    """What a run made.

    Parameters
    ----------
    facts : public facts for the report: algo, data, n_features, and n_train under replace-one only.
    seconds : of the whole run; printed, in no file.
    diagnostics : figures computed without privacy; empty unless a test was asked for.
    generated : ``accuracy_figures`` of the rows trained on, where those are generated, no secret.
    rows_dropped : whether those that do not satisfy the schema were left out.
    """

    model: Model
    facts: Mapping[str, Any]
    seconds: float
    diagnostics: Mapping[str, Any]
    generated: Mapping[str, Any] | None = None
    rows_dropped: bool = False

    def report(self) -> dict[str, Any]:
        """Return what ``dpcore train --json`` prints."""
        model, privacy = self.model, self.model.privacy
        pair = ("epsilon", "delta", "ex_post_epsilon")
        statement = (*pair, "neighboring_relation", "accountant", "conversion")
        counted = ("budget", "spent", "unit", "releases")
        report = {
            **self.facts,
            "scaling": describe_scaling(model.schema),
            "loss": model.loss,
            "l2": model.l2,
            **{key: privacy[key] for key in (*statement, *counted)},
            "status": model.status,
            "details": dict(model.details),
            "private": privacy["private"],
            "why_not_private": privacy["why_not_private"],
            "sentence": privacy["sentence"],
            **({"users": privacy["users"]} if "users" in privacy else {}),
            "parts_not_from_dpcore": privacy["parts_not_from_dpcore"],
            "seconds": round(self.seconds, 3),
            "coef_norm": float(np.linalg.norm(model.coef)),
        }
        return {**report, "diagnostics": dict(self.diagnostics)} if self.diagnostics else report


def train(
    plan: Plan,
    request: DataRequest,
    on_release: OnRelease = None,
    charges: Charges | None = None,
) -> Training:
    """Return the training of a plan on the data that were asked for.

    ``charges`` : the caller's, to say what was charged if the run ends on the way.
    """
    from dpcore.fitting.loading import load_data

    started = time.perf_counter()
    settings = plan.settings
    data = load_data(request, plan.relation, settings.threads, settings.seed)
    model = fit_dataset(
        plan,
        data.train,
        data.why_not_private,
        data.parts,
        on_release,
        data.kept_fraction,
        charges=charges,
    )
    diagnostics: dict[str, Any] = {}
    if data.test is not None:
        diagnostics = diagnose(plan.loss, model, data.train, data.test)
    training = finish(plan, model, data.train, started, diagnostics)
    if data.is_ours_and_generated and plan.loss.classification:
        figures = accuracy_figures(model, model.margins(data.train.X), data.train.y)
        training = replace(training, generated=figures)
    return training


def finish(
    plan: Plan,
    model: Model,
    dataset: Dataset,
    started: float,
    diagnostics: Mapping[str, Any],
) -> Training:
    """Return the training, its model with the report attached."""
    facts: dict[str, Any] = {
        "algo": plan.entry.name,
        "chosen_by": plan.chosen_by,
        "data": dataset.name,
        "n_features": len(model.feature_names),
    }
    if plan.relation.size_is_public:
        facts["n_train"] = int(dataset.X.shape[0])
    seconds = time.perf_counter() - started
    training = Training(model, facts, seconds, diagnostics, rows_dropped=dataset.rows_dropped)
    return replace(training, model=replace(model, report=training.report()))


def fit_dataset(
    plan: Plan,
    dataset: Dataset,
    why_not_private: tuple[str, ...] = (),
    parts: tuple[str, ...] = (),
    on_release: OnRelease = None,
    kept_fraction: float = 1.0,
    table: Table | None = None,
    charges: Charges | None = None,
) -> Model:
    """Return the model that the plan's optimizer fits to a data set.

    ``parts`` : readers that ran on raw rows, as ``"module:Class"``. ``kept_fraction`` : the public
    part of the rows that this is, by which the schema's n0 shrinks. ``table`` : the data set's
    ``table()``, where the caller has it already. ``charges`` : the caller's, to follow.
    Raises InvalidInputError, before anything is spent, if the parts do not fit each other. What
    ends the fit after that has a note of what was charged.
    """
    problem = check_dataset(plan, dataset, kept_fraction)
    charges = charges or Charges()
    trusted = (part_of(plan.loss), *plan.targets, *parts)
    secret = not are_ours_and_generated(dataset, parts)
    if "user-pool" in plan.optimizer.needs:
        with charges.told():
            pool, typed_by = open_pool(plan, dataset), dataset.typed_by
            solution, statement = fit_users(
                plan, problem, pool, charges, trusted, why_not_private, typed_by, secret
            )
            return make_model(plan, dataset.schema, problem.l2, solution, (), statement)
    plan = with_planned_accountant(plan, problem)
    table = table or dataset.table()
    noise = SystemNoise() if plan.settings.seed is None else SeededNoise(plan.settings.seed)
    engine: Any = plan.engine
    session = PrivacySession(
        engine(table, threads=plan.settings.threads),
        plan.accountant,
        plan.relation,
        noise,
        on_release=on_release,
        schedule=fixed_schedule(plan, problem),
        problem=problem,
    )
    charges.follow(lambda: charged_in(session))
    typed_by = dataset.typed_by
    with charges.told():
        try:
            solution = run_optimizer(
                plan.optimizer, plan.entry, problem, session, secret_rows=secret
            )
        except TargetNotMetError as error:
            statement = state(plan, problem, session, why_not_private, trusted, typed_by)
            raise not_met(error, statement, dataset) from None
        statement = state(plan, problem, session, why_not_private, trusted, typed_by)
        return make_model(plan, dataset.schema, problem.l2, solution, summarise(session), statement)


def check_dataset(plan: Plan, dataset: Dataset, kept_fraction: float = 1.0) -> Problem:
    """Return a fit's public facts; InvalidInputError if plan and data do not fit each other."""
    check_drop(plan.relation, dataset)
    return check_public(plan, dataset.schema, int(dataset.X.shape[0]), kept_fraction)


def check_public(plan: Plan, schema: Schema, n_rows: int, kept_fraction: float = 1.0) -> Problem:
    """Return the public facts of a fit to so many rows; InvalidInputError if they do not fit."""
    problem = _problem(plan, schema, n_rows, kept_fraction)
    check_fits(plan.optimizer, problem, plan.accountant)
    check_fits(plan.optimizer, problem, with_planned_accountant(plan, problem).accountant)
    return problem


def check_drop(relation: NeighboringRelation, dataset: Dataset) -> None:
    """Refuse rows that are left of more where their number is public: of two tables that differ in
    one row, one may have lost it, and a public number of rows would tell."""
    if dataset.rows_dropped and relation.size_is_public:
        raise InvalidInputError(
            f"The rows were read with bad_rows='drop', and the number of rows is public under "
            f"{relation.value}. Refuse bad rows (convert a store again with --bad-rows "
            "refuse), or take add-or-remove-one."
        )


def _problem(plan: Plan, schema: Schema, n_rows: int, kept_fraction: float) -> Problem:
    """Return the public facts; InvalidInputError where the loss or the size does not fit."""
    check_label(plan.loss, schema)
    n = n_rows if plan.relation.size_is_public else None
    if n is not None and n < 2:
        raise InvalidInputError(
            f"Under {plan.relation.value} a table needs at least 2 rows, and this one has {n}."
        )
    capacity = {"capacity": schema.capacity} if schema.capacity else {}
    problem = Problem(
        loss=plan.loss,
        l2=plan.settings.l2 or 0.0,
        n_features=schema.n_features,
        row_norm=min(schema.row_norm, schema.raw_norm_bound),
        raw_norm_bound=schema.raw_norm_bound,
        relation=plan.relation,
        n=n,
        n0=None if schema.rows is None else max(1, round(schema.rows * kept_fraction)),
        intercept=schema.intercept,
        **capacity,
    )
    return with_default_l2(problem, plan)


def with_default_l2(problem: Problem, plan: Plan) -> Problem:
    """Return the problem with the l2 that the optimizer takes where the plan leaves it open: a
    function of public facts and the budget, ``default_l2(problem, accountant)``."""
    optimizer: Any = plan.optimizer
    if plan.settings.l2 is not None or not hasattr(optimizer, "default_l2"):
        return problem
    if plan.relation.value not in optimizer.relations:
        return problem  # what check_fits refuses
    return replace(problem, l2=optimizer.default_l2(problem, plan.accountant))


def make_model(
    plan: Plan,
    schema: Schema,
    l2: float,
    solution: Solution,
    ledger: tuple[dict[str, Any], ...],
    statement: PrivacyStatement,
) -> Model:
    """Return a solution with all that is said about it; OptimizerError if it is none."""
    algo = {
        "name": plan.entry.name,
        "chosen_by": plan.chosen_by,
        "distribution": plan.entry.distribution,
        "version": plan.entry.version,
        "reference": plan.entry.reference,
        "preset": plan.settings.preset,
        "parameters": plain(plan.parameters()),
        "slots": None if plan.settings.as_published else plan.use,
        "engine": plan.settings.engine,
    }
    return Model(
        w=check_coefficients(solution.w, schema.n_features, plan.entry.name),
        schema=schema,
        loss=plan.settings.loss,
        l2=l2,
        algo=algo,
        privacy=statement.to_dict(),
        ledger=ledger,
        status=str(solution.status),
        details=plain(solution.details),
        versions=running_versions(plan.entry.distribution),
    )
