"""Whether the parts of a fit are made for each other: what an optimizer needs, and what it gets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpcore.errors import InvalidInputError, RegistryError
from dpcore.registry.tables.losses import LossFacts
from dpcore.registry.tables.optimizer_spec import OptimizerFacts, optimizer_facts

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.data.schema.schema import Schema
    from dpcore.protocols import Accountant, Loss
    from dpcore.protocols.optimizer import Optimizer
    from dpcore.protocols.problem import Problem

__all__ = ["check_fits", "check_label"]

_AGAINST_THE_REST = "or --multiclass ovr (multiclass='ovr'): a fit of each class against the rest"


def check_label(loss: Loss, schema: Schema, *, one_against_rest: bool = False) -> None:
    """Raise InvalidInputError for a loss that is of another kind than the label.
    ``one_against_rest`` : a label of classes is asked for as two, whatever their number."""
    facts, n_classes = LossFacts.of(loss), schema.label.n_classes
    if one_against_rest and facts.multiclass:
        raise InvalidInputError(
            "--multiclass ovr (multiclass='ovr') makes a fit of two classes for each, and the loss "
            f"{loss.name} takes all of them in one: leave one of the two away, or use --loss "
            "logistic, huber-svm or hinge-svm (loss=)."
        )
    n_classes = min(n_classes, 2) if one_against_rest else n_classes
    if (facts.classification, facts.multiclass) == (n_classes > 0, n_classes > 2):
        if facts.log_link and schema.label.lower != 0:
            raise InvalidInputError(
                f"The loss {loss.name} is for counts and amounts from 0 on: expected lower = 0 of "
                f"the label {schema.label.name!r}, a public bound, found "
                f"{'none' if schema.label.lower is None else f'{schema.label.lower:g}'}."
            )
        return
    kinds = {0: "a real-valued target", 2: "two classes"}
    fitting = {0: "ridge or quantile", 2: "logistic, huber-svm or hinge-svm"}
    raise InvalidInputError(
        f"The loss {loss.name} does not fit a label with "
        f"{kinds.get(n_classes, f'{n_classes} classes')}; use --loss "
        f"{fitting.get(n_classes, 'softmax')} (loss=)"
        f"{f', {_AGAINST_THE_REST}' * (facts.classification and n_classes > 2)}"
        + ", or a label with bounds in place of classes"
        * (n_classes > 0 and not facts.classification)
        + "."
    )


def check_fits(optimizer: Optimizer, problem: Problem, accountant: Accountant) -> None:
    """Raise InvalidInputError, naming both parties, if a declared need is not met."""
    stated = optimizer_facts(optimizer)
    name = stated.name or type(optimizer).__name__
    relation = problem.relation.value
    _check_kind(name, stated, problem)
    unmet, advice = _unmet(problem, accountant), _advice(problem, accountant, stated.accountant)
    adaptive = () if "fixed-schedule" in stated.needs else ("adaptive-accountant",)
    for need in (*stated.needs, *adaptive):
        if need != "fixed-schedule" and unmet[need]:
            lacking = {each for each in unmet if unmet[each]}
            ending = _instead(relation, lacking) if need == "strong-convexity" else ""
            raise InvalidInputError(f"{name} needs {advice[need]}{ending}.")


def _check_kind(name: str, stated: OptimizerFacts, problem: Problem) -> None:
    """Refuse a relation, a number of classes or a unit that an algorithm is not for."""
    relation = problem.relation.value
    if relation not in stated.relations:
        raise InvalidInputError(
            f"{name} has no guarantee under {relation}; it has one under: "
            f"{', '.join(stated.relations)} (--relation, relation=)."
            f"{stated.other_relations and f' {stated.other_relations}'}"
        )
    if problem.n_margins > 1 and not stated.multiclass:
        ending = f"; {_AGAINST_THE_REST} within one budget"
        raise InvalidInputError(
            f"{name} is for two classes, and the label has {problem.n_margins}"
            f"{_for_classes(relation)}{'' if stated.answered_by else ending}."
        )
    if problem.rows_per_unit is not None and not stated.for_units:
        raise InvalidInputError(
            f"{name} has a guarantee for one row, and this run's is for units of several rows (the "
            f"schema's unit){_for_units(relation)}."
        )


def _unmet(problem: Problem, accountant: Accountant) -> dict[str, bool]:
    """Return whether each need is not met."""
    facts = LossFacts.of(problem.loss)
    return {
        "classification": not facts.classification,
        "lipschitz-loss": not math.isfinite(facts.lipschitz),
        "smooth-loss": not math.isfinite(facts.smoothness),
        "convex-loss": not facts.convex,
        "squared-loss": not facts.quadratic,
        "strong-convexity": not problem.l2 > 0,
        "public-size": problem.n_public is None,
        "adaptive-accountant": not accountant.fully_adaptive,
    }


def _advice(problem: Problem, accountant: Accountant, own: str | None) -> dict[str, str]:
    """Return what each need that is not met asks for. ``own`` : the algorithm's accountant."""
    loss, relation = problem.loss, problem.relation.value
    facts = LossFacts.of(loss)
    squares = f"squared loss, --loss ridge (loss='ridge'), and cannot take {loss.name}"
    if facts.largest_weight != 1.0:
        squares = "squared loss of rows without weights"
    smooth = "use huber-svm or logistic" if facts.classification else "set loss.half_width"
    return {
        "classification": f"a classification loss, and {loss.name} is for real-valued targets",
        "lipschitz-loss": f"a Lipschitz loss, and {loss.name} has no bound on its slope",
        "smooth-loss": f"a smooth loss, and {loss.name} has a kink; {smooth}",
        "convex-loss": f"a convex loss, and {loss.name} does not declare convex = True",
        "squared-loss": squares,
        "strong-convexity": "strong convexity; pass --l2 (l2=) greater than 0",
        "public-size": (
            f"a public number of rows, which is private under {relation}: give the schema a number "
            "(dataset.rows; in Python n0=), about how many there are"
        ),
        "adaptive-accountant": f"a fully adaptive filter, and {accountant.name} is none; its own "
        f"is {own}",
    }


def _instead(relation: str, unmet: set[str]) -> str:
    """Return the end of a sentence: which installed algorithms of a session do without l2."""
    able = _installed(relation, lambda facts: not (facts.answered_by or {*unmet} & {*facts.needs}))
    return f", or choose an algorithm that does without: {', '.join(able)}" if able else ""


def _for_classes(relation: str) -> str:
    """Return the end of a sentence: which installed algorithms take several classes."""
    able = _installed(relation, lambda facts: facts.multiclass)
    return f"; these take several: {', '.join(able)}" if able else ""


def _for_units(relation: str) -> str:
    """Return the end of a sentence: which installed algorithms run over units of several rows."""
    able = _installed(relation, lambda facts: facts.for_units)
    return f"; these run over units: {', '.join(able)}" if able else ""


def _installed(relation: str, fits: Callable[[OptimizerFacts], bool]) -> list[str]:
    """Return the names of the installed algorithms that fit, under the relation."""
    from dpcore.registry.catalogue import load_registry

    registry, able = load_registry(), []
    for entry in registry.entries("optimizer"):
        try:
            facts = optimizer_facts(registry.load("optimizer", entry.name))
        except RegistryError:
            continue
        if relation in facts.relations and facts.private and fits(facts):
            able.append(entry.name)
    return able
