"""The public facts of a fit, and the refusal of what does not fit together: before any budget."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpcore.accountants.equal_parts import equal_part
from dpcore.errors import InvalidInputError
from dpcore.fitting.ovr import fits_of, planned_parts
from dpcore.fitting.planning.compatibility import check_fits, check_label
from dpcore.fitting.planning.memory import require_memory
from dpcore.fitting.planning.optimizer_queries import default_l2
from dpcore.fitting.planning.ready import Ready
from dpcore.fitting.request.settings import Settings
from dpcore.fitting.steps.facts import Phase, step_facts
from dpcore.fitting.steps.weights import with_public_weights
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.protocols.problem import Problem
from dpcore.registry.tables.losses import LossFacts
from dpcore.registry.tables.optimizer_spec import optimizer_facts

if TYPE_CHECKING:
    from dpcore.data.files import RowFacts
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.planning.planned import Plan

__all__ = ["Ready", "check_dataset", "check_public", "with_default_l2"]


def check_dataset(plan: Plan, dataset: RowFacts, kept_fraction: float = 1.0) -> Ready:
    """Return the fit of a plan to a data set; InvalidInputError if they do not fit each other."""
    plan.relation.require_all(dataset.rows_dropped)
    if dataset.part is not None:
        if plan.relation is not NeighboringRelation.ADD_OR_REMOVE_ONE:
            raise InvalidInputError(
                f"Expected add-or-remove-one for {dataset.part.name}: how many rows a part has is "
                "private."
            )
        kept_fraction /= dataset.part.of  # The only public guess at its part of the rows.
    if (dataset.weights is None) != (plan.settings.weight_bound is None):
        raise InvalidInputError("Expected weights of rows beside weight_bound, and only there.")
    return check_public(plan, dataset.schema, dataset.n_units, kept_fraction)


def check_public(plan: Plan, schema: Schema, n_units: int, kept_fraction: float = 1.0) -> Ready:
    """Return the fit of a plan to so many units, rows where the schema has none; InvalidInputError
    if they do not fit each other."""
    fits = fits_of(plan, schema.label)
    plan = with_public_weights(plan, schema.label)
    if _is_shared(plan, schema, fits):
        plan = plan.with_shared_accountant()
    problem = _problem(plan, schema, n_units, kept_fraction, fits)
    check_fits(plan.optimizer, problem, plan.accountant)
    planned, of_each = planned_parts(plan, problem, fits)
    check_fits(planned.optimizer, problem, of_each.accountant)
    require_memory(planned.optimizer, problem)
    return Ready(planned, problem, of_each, fits)


def _problem(plan: Plan, schema: Schema, n_units: int, kept_fraction: float, fits: int) -> Problem:
    """Return the public facts of a fit; InvalidInputError where loss or size does not fit."""
    check_label(plan.loss, schema, one_against_rest=plan.settings.multiclass == Settings.OVR)
    units = schema.units
    if plan.relation.size_is_public and n_units < 2:
        things = "rows" if units is None else "units"
        raise InvalidInputError(
            f"Under {plan.relation.value} a table needs at least 2 {things}, and this one has "
            f"{n_units}."
        )
    # Units are replaced by others with more rows or fewer: their number alone is public.
    n = n_units if plan.relation.size_is_public and units is None else None
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
        rows_per_unit=None if units is None else units.rows_per_unit,
        n_margins=schema.label.n_classes if LossFacts.of(plan.loss).multiclass else 1,
        numbers=schema.number_features,
        curves=schema.curve_features,
        one_vs_rest=fits > 1,
        **capacity,
    )
    of_each = plan if fits == 1 else replace(plan, accountant=equal_part(plan.accountant, fits))
    return with_default_l2(problem, of_each)


def with_default_l2(problem: Problem, plan: Plan) -> Problem:
    """Return the problem with the l2 that the optimizer takes where the plan leaves it open: a
    function of public facts and the budget, ``default_l2(problem, accountant)``."""
    stated = optimizer_facts(plan.optimizer)
    # A relation that it does not hold is refused by check_fits.
    if plan.settings.l2 is not None or plan.relation.value not in stated.relations:
        return problem
    l2 = default_l2(plan.optimizer, problem, plan.accountant)
    return problem if l2 is None else replace(problem, l2=l2)


def _is_shared(plan: Plan, schema: Schema, fits: int) -> bool:
    """Return whether several releases or fits share the budget of a run, from public facts alone:
    bounds, counts of classes, an evaluation, intervals, steps of plugins. A filter for a fixed
    schedule alone has no part to leave to them."""
    steps = (step_facts(step) for step in plan.settings.also)
    return (
        any(step.phase is not Phase.SCHEMA for step in steps) or bool(schema.unbounded) or fits > 1
    )
