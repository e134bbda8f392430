"""Weights of the classes in a fit, public numbers by name or ``balanced``, and the bound of rows'.

A weight multiplies the loss of every row of its class (``dpcore.losses.class_weighted``). A class
that is not named has the weight 1, as in scikit-learn.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError, near_names
from dpcore.losses.facts import MOST_WEIGHT
from dpcore.registry.declarations import optimizer_facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.data.schema.label import Label
    from dpcore.fitting.plan import Plan
    from dpcore.protocols import Loss

__all__ = [
    "BALANCED",
    "checked_bound",
    "checked_weights",
    "parsed_weights",
    "unweighted",
    "weights_by_name",
    "with_public_weights",
    "with_weights",
]

BALANCED = "balanced"


LARGEST = 10.0
"""The most that a balanced weight may come to where nothing else is said."""


def parsed_weights(texts: Sequence[str] | None) -> str | dict[str, str] | None:
    """Return the weights of a command line: ``balanced``, or CLASS=NUMBER, several with commas
    between them or one by one."""
    if not texts:
        return None
    if [*texts] == [BALANCED]:
        return BALANCED
    pairs = [part.rpartition("=") for text in texts for part in text.split(",")]
    named = {name.strip(): weight for name, _, weight in pairs}
    if "" in named or len(named) < len(pairs):
        raise InvalidInputError(
            "Expected --class-weight balanced, or CLASS=NUMBER once for each class, as in "
            "--class-weight a=1,b=20."
        )
    return named


def checked_weights(given: Any, largest: Any) -> tuple[dict[Any, float] | str | None, float]:
    """Return weights as they are asked for, numbers as float, and the largest that ``balanced`` may
    come to; InvalidInputError for what are none."""
    if not (given is None or given == BALANCED or (isinstance(given, Mapping) and given)):
        raise InvalidInputError(
            f"Expected class_weight={given!r} to be 'balanced' or a weight by each class's name."
        )
    if not (_is_number(largest) and 1 <= largest <= MOST_WEIGHT):
        raise InvalidInputError(f"Expected largest_weight={largest!r} from 1 to 2^20.")
    if given != BALANCED and largest != LARGEST:
        raise InvalidInputError(
            f"Expected largest_weight={largest!r} beside class_weight='balanced' alone, whose "
            "weights it caps."
        )
    if not isinstance(given, Mapping):
        return given, float(largest)
    return {name: _checked_weight(name, weight) for name, weight in given.items()}, float(largest)


def checked_bound(given: Any) -> float | None:
    """Return the bound of weights of rows; InvalidInputError for what is none."""
    if given is None or (_is_number(given) and 1 / MOST_WEIGHT <= given <= MOST_WEIGHT):
        return None if given is None else float(given)
    raise InvalidInputError(f"Expected weight_bound={given!r} to be a number from 2^-20 to 2^20.")


def _checked_weight(name: Any, weight: Any) -> float:
    try:
        number = float(weight) if isinstance(weight, str) or _is_number(weight) else math.nan
    except ValueError:
        number = math.nan
    if not 1 / MOST_WEIGHT <= number <= MOST_WEIGHT:
        raise InvalidInputError(
            f"Expected the weight {weight!r} of the class {name!r} to be a number from 2^-20 to "
            "2^20."
        )
    return number


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def with_public_weights(plan: Plan, label: Label) -> Plan:
    """Return the plan with the weights of its settings in its loss; of ``balanced`` ones the bound
    that they will have, in the place of each: what the run is checked with beforehand.

    Raises InvalidInputError for weights that do not fit the label, the loss or the algorithm.
    """
    given: Any = plan.settings.class_weight
    if given is None and plan.settings.weight_bound is None:
        return plan
    stated = optimizer_facts(plan.optimizer)
    reasons = {
        "its users' rules say a loss by name alone": "user-pool" in stated.needs,
        "the authors' code has constants of its own": stated.as_published,
    }
    for reason, holds in reasons.items():
        if holds:
            what = "sample_weight" if given is None else "class_weight"
            raise InvalidInputError(f"{plan.entry.name} takes no {what}: {reason}.")
    if given is None:
        return with_weights(plan, ())
    if label.is_real:
        raise InvalidInputError(
            f"Weights are of classes, and the label {label.name!r} is a real-valued target."
        )
    if given == BALANCED:
        return with_weights(plan, (plan.settings.largest_weight,) * label.n_classes)
    weights = [1.0] * label.n_classes
    for name, weight in given.items():
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
