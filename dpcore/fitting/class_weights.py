"""Weights of the classes in a fit, public numbers by name or ``balanced``, and the bound of rows'.

A weight multiplies the loss of every row of its class (``dpcore.losses.class_weighted``). A class
that is not named has the weight 1, as in scikit-learn.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError, near_names
from dpcore.registry.tables.declarations import optimizer_facts

if TYPE_CHECKING:
    from dpcore.data.schema.label import Label
    from dpcore.fitting.planned import Plan
    from dpcore.protocols import Loss

__all__ = [
    "unweighted",
    "weights_by_name",
    "with_public_weights",
    "with_weights",
]


def with_public_weights(plan: Plan, label: Label) -> Plan:
    """Return the plan with the weights of its settings in its loss; of ``balanced`` ones the bound
    that they will have, in the place of each: what the run is checked with beforehand.

    Raises InvalidInputError for weights that do not fit the label, the loss or the algorithm.
    """
    given, largest = plan.settings.class_weight, plan.settings.largest_class_weight
    if given is not None and largest is not None:
        raise InvalidInputError("Expected public weights of classes or BalancedWeights, not both.")
    of_classes = given is not None or largest is not None
    if not of_classes and plan.settings.weight_bound is None:
        return plan
    stated = optimizer_facts(plan.optimizer)
    reasons = {
        "its users' rules say a loss by name alone": bool(stated.answered_by),
        "the authors' code has constants of its own": stated.as_published,
    }
    for reason, holds in reasons.items():
        if holds:
            what = "class_weight" if of_classes else "sample_weight"
            raise InvalidInputError(f"{plan.entry.name} takes no {what}: {reason}.")
    if not of_classes:
        return with_weights(plan, ())
    if label.is_real:
        raise InvalidInputError(
            f"Weights are of classes, and the label {label.name!r} is a real-valued target."
        )
    if largest is not None:
        return with_weights(plan, (largest,) * label.n_classes)
    weights = [1.0] * label.n_classes
    for name, weight in (given or {}).items():
        weights[_place_of(name, label)] = weight
    return with_weights(plan, tuple(weights))


def with_weights(plan: Plan, weights: tuple[float, ...]) -> Plan:
    """Return the plan with these weights of the classes, in their order (none for ``()``), and of
    rows where its settings have a bound of theirs, for those that its loss has, if it has some."""
    from dpcore.losses.class_weighted import ClassWeighted
    from dpcore.losses.sample_weighted import SampleWeighted

    loss: Any = unweighted(plan.loss)
    if weights:
        loss = ClassWeighted(loss, weights)
    if plan.settings.weight_bound is not None:
        loss = SampleWeighted(loss, plan.settings.weight_bound)
    return replace(plan, loss=loss)


def unweighted(loss: Loss) -> Loss:
    """Return the loss whose rows or classes were weighted; any other one as it is."""
    from dpcore.losses.class_weighted import ClassWeighted
    from dpcore.losses.sample_weighted import SampleWeighted

    if isinstance(loss, (ClassWeighted, SampleWeighted)):
        return unweighted(loss.loss)
    return loss


def weights_by_name(loss: Loss, label: Label) -> dict[str, float]:
    """Return the weight of each class, empty where a loss has none."""
    from dpcore.losses.class_weighted import ClassWeighted
    from dpcore.losses.sample_weighted import SampleWeighted

    loss = loss.loss if isinstance(loss, SampleWeighted) else loss
    weights = loss.weights if isinstance(loss, ClassWeighted) else ()
    return {str(name): weight for name, weight in zip(label.names, weights, strict=False)}


def _place_of(name: Any, label: Label) -> int:
    """Return the place of the class that a caller names: by its name, or any value of it."""
    value = name.item() if hasattr(name, "item") else name
    alike = {str(value), str(value).lower()} if isinstance(value, bool) else {str(value)}
    for place, values in enumerate(label.classes):
        known = {label.names[place], *values}
        if value in known or alike & {*map(_written, known)}:
            return place
    names = [str(known) for known in label.names]
    raise InvalidInputError(
        f"The label {label.name!r} has no class {value!r}.{near_names(str(value), names)}"
    )


def _written(value: Any) -> str:
    """Return a value as one writes it: a whole number without a point."""
    return f"{value:.15g}" if isinstance(value, float) else str(value)
