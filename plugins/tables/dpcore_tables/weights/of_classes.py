"""Weights of the classes in a fit, public numbers by name or ``balanced``, and the bound of rows'.

A weight multiplies the loss of every row of its class (``class_weighted.py``). A class
that is not named has the weight 1, as in scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError, near_names
from dpcore.plugin.parts import optimizer_facts
from dpcore_tables.weights.class_weighted import ClassWeighted
from dpcore_tables.weights.sample_weighted import SampleWeighted

if TYPE_CHECKING:
    from dpcore.plugin import Loss
    from dpcore.plugin.columns import Label
    from dpcore.plugin.commands import Plan

__all__ = [
    "unweighted",
    "weights_by_name",
    "weighted",
    "weights_asked",
]


def weights_asked(plan: Plan, label: Label) -> tuple[float, ...]:
    """Return the weights of classes that a plan is checked with, ``()`` for none. They are those of
    its settings, and for ``balanced`` ones the bound that they will have.

    Raises InvalidInputError for weights that do not fit the label, the loss or the algorithm.
    """
    given, largest = plan.settings.class_weight, plan.settings.largest_class_weight
    if given is not None and largest is not None:
        raise InvalidInputError("Expected public weights of classes or BalancedWeights, not both.")
    of_classes = given is not None or largest is not None
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
        return ()
    if label.is_real:
        raise InvalidInputError(
            f"Weights are of classes, and the label {label.name!r} is a real-valued target."
        )
    if largest is not None:
        return (largest,) * label.n_classes
    weights = [1.0] * label.n_classes
    for name, weight in (given or {}).items():
        weights[_place_of(name, label)] = weight
    return tuple(weights)


def weighted(loss: Loss, weights: tuple[float, ...], bound: float | None) -> Loss:
    """Return the loss with these weights of the classes, in their order, in place of those that it
    has: none for ``()``. Rows have weights up to a bound, if there is one."""
    found: Any = unweighted(loss)
    if weights:
        found = ClassWeighted(found, weights)
    if bound is not None:
        found = SampleWeighted(found, bound)
    weighed: Loss = found
    return weighed


def unweighted(loss: Loss) -> Loss:
    """Return the loss whose rows or classes were weighted; any other one as it is."""
    if isinstance(loss, (ClassWeighted, SampleWeighted)):
        return unweighted(loss.loss)
    return loss


def weights_by_name(loss: Loss, label: Label) -> dict[str, float]:
    """Return the weight of each class, empty where a loss has none."""
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
