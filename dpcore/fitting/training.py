"""The model of a solution, with all that is said about it; and the outcome of a fit."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.data.schema.features.scaling import describe_scaling
from dpcore.fitting.request.settings import Settings
from dpcore.fitting.steps.weights import told_loss
from dpcore.model.details import plain
from dpcore.model.model import Model
from dpcore.privacy.statement import WHERE_GIVEN, PrivacyStatement
from dpcore.registry.tables.losses import LossFacts

if TYPE_CHECKING:
    from dpcore.data.files import RowFacts
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.planning.planned import Plan
    from dpcore.fitting.request.ledger_request import LedgerRequest
    from dpcore.fitting.run_state import RunState
    from dpcore.protocols.problem import Solution

__all__ = ["Training", "finish", "make_model"]

_WHERE_GIVEN = ("rho", "mu", *WHERE_GIVEN)


@dataclass(frozen=True, slots=True)
class Training:
    """The outcome of a run.

    Parameters
    ----------
    facts : public facts for the report: algo, data, n_features, and under replace-one only n_train,
        the number of rows, or units_train.
    seconds : of the whole run; printed, in no file; ``None`` where they would tell too much.
    diagnostics : metrics computed without privacy; empty unless a test was asked for.
    generated : ``accuracy_metrics`` of the rows trained on, where those are generated, no secret.
    rows_dropped : whether those that do not satisfy the schema were left out.
    was_warned : whether it was said beforehand that the model would be no better than a constant.
    at_hand : whether this process has the rows, so that a test can hold some out.
    charged_to : the request for the ledger that the run was charged to, or listed in.
    given : parameters of the algorithm and the loss that were set, each as ``KEY=VALUE``.
    """

    model: Model
    facts: Mapping[str, Any]
    seconds: float | None
    diagnostics: Mapping[str, Any]
    generated: Mapping[str, Any] | None = None
    rows_dropped: bool = False
    was_warned: bool = False
    at_hand: bool = True
    charged_to: LedgerRequest | None = None
    given: tuple[str, ...] = ()

    def warnings(self) -> list[str]:
        """Return what to be careful of, and was not said beforehand."""
        return self.model.warnings(was_warned=self.was_warned)

    def report(self) -> dict[str, Any]:
        """Return what ``dpcore train --json`` prints."""
        model, privacy = self.model, self.model.privacy
        pair = ("epsilon", "delta", "ex_post_epsilon")
        statement = (*pair, "neighboring_relation", "accountant", "conversion")
        counted = ("budget", "spent", "unit", "releases")
        bounds = {name: list(pair) for name, pair in model.released_bounds.items()}
        report = {
            **self.facts,
            "scaling": describe_scaling(model.schema),
            "loss": model.loss,
            "loss_parameters": dict(model.loss_parameters),
            "multiclass": model.multiclass,
            **({} if model.weight_bound is None else {"weight_bound": model.weight_bound}),
            **({"class_weights": dict(model.class_weights)} if model.class_weights else {}),
            "l2": model.l2,
            **{key: privacy[key] for key in (*statement, *counted)},
            "status": model.status,
            "details": dict(model.details),
            "private": privacy["private"],
            "why_not_private": privacy["why_not_private"],
            "sentence": privacy["sentence"],
            **{key: privacy[key] for key in _WHERE_GIVEN if key in privacy},
            **({"released_bounds": bounds} if bounds else {}),
            **({"private_evaluation": dict(model.evaluation)} if model.evaluation else {}),
            **({"intervals": dict(model.intervals)} if model.intervals else {}),
            **({"sections": dict(model.sections)} if model.sections else {}),
            "parts_not_from_dpcore": privacy["parts_not_from_dpcore"],
            **({} if self.seconds is None else {"seconds": round(self.seconds, 3)}),
            "coef_norm": float(np.linalg.norm(model.coef)),
        }
        return {**report, "diagnostics": dict(self.diagnostics)} if self.diagnostics else report


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
    training = Training(
        model,
        facts,
        seconds,
        diagnostics,
        rows_dropped=dataset.rows_dropped,
        given=tuple(f"{name}={value}" for name, value in plan.settings.params.items()),
    )
    return replace(training, model=replace(model, report=training.report()))


def make_model(
    plan: Plan,
    schema: Schema,
    l2: float,
    solution: Solution,
    ledger: tuple[dict[str, Any], ...],
    statement: PrivacyStatement,
    known: RunState | None = None,
) -> Model:
    """Return a solution with all that is said about it; OptimizerError if it is none.

    ``known`` : the run, with the sections of its steps.
    """
    loss, class_weights = told_loss(plan, schema.label)
    metrics: Mapping[str, Any] = {} if known is None else known.step_data
    return Model(
        w=Model.check_coefficients(solution.w, schema.w_shape, plan.entry.name),
        schema=schema.anew(),
        loss=plan.settings.loss,
        multiclass=plan.settings.multiclass if statement.fits > 1 else None,
        loss_parameters=plain(Settings.loss_parameters(loss)),
        log_link=LossFacts.of(loss).log_link,
        weight_bound=plan.settings.weight_bound,
        class_weights=class_weights,
        l2=l2,
        algo={
            "name": plan.entry.name,
            "chosen_by": plan.chosen_by,
            "distribution": plan.entry.distribution,
            "version": plan.entry.version,
            "reference": plan.entry.reference,
            "preset": plan.settings.preset,
            "parameters": plan.parameters(),
            "slots": None if plan.settings.as_published else plan.use,
            "engine": plan.settings.engine.partition(":")[0],
        },
        privacy=statement.to_dict(),
        ledger=ledger,
        evaluation=metrics.get("evaluation"),
        intervals=metrics.get("intervals"),
        sections={} if known is None else known.sections,
        status=str(solution.status),
        details=plain(solution.details),
        versions=Model.running_versions(plan.entry.distribution),
    )
