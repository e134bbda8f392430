"""One-vs-rest: a fit of two classes for every class against the rest, within one budget.

For K classes there are K fits, whose margins are the model's. The label of class k against the rest
is a function of the row alone: tables that differ in a row, or a unit, differ in the same one with
that label, so each fit has its guarantee under the same relation and its theorem as it is. Each has
an equal part of the budget, fixed before the first (``dpcore.accountants.equal_parts``). Bounds of
columns are released once, before; all else that a fit releases, counts and moments too, it releases
from its own part, K times in all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.accountants.equal_parts import equal_part
from dpcore.errors import DpcoreError, InvalidInputError, TargetNotMetError
from dpcore.fitting.planning.fixed_schedule import with_planned_accountant
from dpcore.model.details import LONGEST_TEXT, bounded
from dpcore.model.model import Model
from dpcore.protocols.problem import Problem, Solution
from dpcore.registry.tables.optimizer_spec import accountant_facts, optimizer_facts

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.data.dataset import Dataset
    from dpcore.data.schema.label import Label
    from dpcore.fitting.planning.planned import Plan

__all__ = ["fits_of", "planned_parts", "solve_each"]


def fits_of(plan: Plan, label: Label) -> int:
    """Return how many fits a run makes: one, or, one-vs-rest, one for each of three classes and
    more.

    Raises InvalidInputError where one-vs-rest is asked for and has no meaning.
    """
    if plan.settings.multiclass is None:
        return 1
    if label.is_real:
        raise InvalidInputError(
            "--multiclass ovr (multiclass='ovr') is of classes, and the label is a number."
        )
    if optimizer_facts(plan.optimizer).answered_by:
        raise InvalidInputError(
            f"{plan.entry.name} asks users, whose budgets are their own: --multiclass ovr "
            "(multiclass='ovr') shares one budget among fits of rows in one place."
        )
    settings = plan.settings
    if label.n_margins > 1 and settings.targets.get("target_accuracy") is not None:
        raise InvalidInputError(
            "A target accuracy under --multiclass ovr (multiclass='ovr') would be of each class "
            "against the rest, which a rare class meets by never being said. Take --loss softmax "
            "(loss='softmax'), whose target is of the classes themselves, or a target risk."
        )
    weights = settings.class_weight, settings.largest_class_weight, settings.weight_bound
    if any(weight is not None for weight in weights):
        raise InvalidInputError(
            "--multiclass ovr (multiclass='ovr') takes no weights of classes or rows: its fits are "
            "of one class against the rest. Leave the weights out, or take --loss softmax "
            "(loss='softmax'), which has both."
        )
    return label.n_margins


def planned_parts(plan: Plan, problem: Problem, fits: int) -> tuple[Plan, Plan]:
    """Return the plan of the run and that of each fit, accountants planned for their releases: the
    same, where there is one fit.

    A filter that can be split is planned for the releases of all fits, then split; any other is
    planned for one fit within its part of epsilon and delta.
    """
    if fits == 1:
        planned = with_planned_accountant(plan, problem)
        return planned, planned
    if accountant_facts(plan.accountant).splits:
        whole = with_planned_accountant(plan, problem, fits)
        return whole, replace(whole, accountant=equal_part(whole.accountant, fits))
    one = replace(plan, accountant=equal_part(plan.accountant, fits))
    one = with_planned_accountant(one, problem)
    return replace(plan, targets=one.targets), one


def solve_each(
    plan: Plan, dataset: Dataset, n_features: int, solve: Callable[[Dataset], Solution]
) -> Solution:
    """Return the solution whose rows are those of ``solve``, asked class by class.

    What ends a fit early says which it was.
    """
    names = dataset.schema.label.names
    found = []
    for k, name in enumerate(names):
        try:
            solution = solve(dataset.against_the_rest(k))
            w = Model.check_coefficients(solution.w, (n_features,), plan.entry.name)
        except TargetNotMetError as error:
            raise TargetNotMetError(f"{_which(names, k)}: {error}", error.report) from None
        except DpcoreError as error:
            error.add_note(f"({_which(names, k)}.)")
            raise
        found.append((str(name), replace(solution, w=w)))
    return _joined(found)


def _which(names: tuple[Any, ...], k: int) -> str:
    return f"Class {names[k]!r} against the rest, fit {k + 1} of {len(names)}"


def _joined(found: list[tuple[str, Solution]]) -> Solution:
    """Return the solutions of all classes as one, with the details of each class by name."""
    statuses = list(dict.fromkeys(solution.status for _, solution in found))
    told = (f"{name}: {solution.status}" for name, solution in found)
    words = statuses[0] if len(statuses) == 1 else "; ".join(told)
    details = bounded({"of_classes": {name: solution.details for name, solution in found}})
    warnings = ((name, solution.details.get("warning")) for name, solution in found)
    for name, warning in warnings:
        if isinstance(warning, str):
            said = f"class {name!r} against the rest: {warning}"[:LONGEST_TEXT]
            details.setdefault("warning", said)
    return Solution(
        w=np.array([solution.w for _, solution in found]),
        status=f"{len(found)} fits, one for each class against the rest: {words}"[:LONGEST_TEXT],
        details=details,
    )
