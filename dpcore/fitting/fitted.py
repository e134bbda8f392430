"""The model of a solution: its coefficients with all that is said about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.fitting.planning.engines import engine_name
from dpcore.fitting.planning.losses import loss_parameters
from dpcore.fitting.reporting import plain
from dpcore.fitting.steps.weights import told_loss
from dpcore.model.model import Model, check_coefficients
from dpcore.privacy.versions import running_versions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.planning.planned import Plan
    from dpcore.fitting.run_state import RunState
    from dpcore.privacy.statement import PrivacyStatement
    from dpcore.protocols.problem import Solution

__all__ = ["make_model"]


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
    figures: Mapping[str, Any] = {} if known is None else known.figures
    return Model(
        w=check_coefficients(solution.w, schema.w_shape, plan.entry.name),
        schema=schema.anew(),
        loss=plan.settings.loss,
        multiclass=plan.settings.multiclass if statement.fits > 1 else None,
        loss_parameters=plain(loss_parameters(loss)),
        weight_bound=plan.settings.weight_bound,
        class_weights=class_weights,
        l2=l2,
        algo=_algorithm(plan),
        privacy=statement.to_dict(),
        ledger=ledger,
        evaluation=figures.get("evaluation"),
        intervals=figures.get("intervals"),
        sections={} if known is None else known.sections,
        status=str(solution.status),
        details=plain(solution.details),
        versions=running_versions(plan.entry.distribution),
    )


def _algorithm(plan: Plan) -> dict[str, Any]:
    """Return what a model keeps of its algorithm."""
    return {
        "name": plan.entry.name,
        "chosen_by": plan.chosen_by,
        "distribution": plan.entry.distribution,
        "version": plan.entry.version,
        "reference": plan.entry.reference,
        "preset": plan.settings.preset,
        "parameters": plain(plan.parameters()),
        "slots": None if plan.settings.as_published else plan.use,
        "engine": engine_name(plan.settings.engine),
    }
