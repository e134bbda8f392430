"""Weights of classes and of rows in a fit: a package has them, beside the step ``balanced``."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError, RegistryError
from dpcore.registry.step_class import step_class

if TYPE_CHECKING:
    from dpcore.data.schema.label import Label
    from dpcore.protocols import Loss

__all__ = [
    "BALANCED",
    "checked_weights",
    "require_bound",
    "told_loss",
    "weighing",
    "with_public_weights",
    "with_weights_of_rows",
]

BALANCED = "balanced"
"""The step, and the word by which an option asks for it."""


def checked_weights(class_weight: Any, bound: Any) -> tuple[Any, float | None]:
    """Return public weights of classes and the bound of rows' as they are asked for, as float."""
    if class_weight is None and bound is None:
        return None, None
    return weighing().checked_weights(class_weight), weighing().checked_bound(bound)


def require_bound(X: Any, sample_weight: Any, weight_bound: Any) -> None:
    """Refuse weights of rows without their public bound, and the other way round."""
    if not (sample_weight is None and weight_bound is None):
        weighing().require_bound(X, sample_weight, weight_bound)
        if sample_weight is None or weight_bound is None:  # The run would not be one of weights.
            raise InvalidInputError("Expected sample_weight and weight_bound, each with the other.")


def with_weights_of_rows(dataset: Any, X: Any, sample_weight: Any, bound: float | None) -> Any:
    """Return the data set, which was made of ``X``, with the weights of its rows, if there are
    any."""
    if sample_weight is None or bound is None:
        return dataset
    return weighing().with_sample_weight(dataset, X, sample_weight, bound)


def with_public_weights(plan: Any, label: Label) -> Any:
    """Return the plan with the weights of its settings in its loss; of ``balanced`` ones the bound
    that they will have, in the place of each: what the run is checked with beforehand.

    Raises InvalidInputError for weights that do not fit the label, the loss or the algorithm.
    """
    if not plan.settings.are_weighted:
        return plan
    return plan.with_weights(weighing().weights_asked(plan, label))


def told_loss(plan: Any, label: Label) -> tuple[Loss, dict[str, float]]:
    """Return the loss of a plan without weights, and the weight of each class by name, empty where
    classes have none."""
    from dpcore.registry.tables.losses import LossFacts

    facts = LossFacts.of(plan.loss)
    if facts.weighs_rows or facts.largest_weight != 1.0:
        with suppress(RegistryError):  # A loss of somebody's own may weigh by itself.
            return weighing().unweighted(plan.loss), weighing().weights_by_name(plan.loss, label)
    return plan.loss, {}


def weighing() -> Any:
    """Return the module of weights that the step's class gives; RegistryError, with what to
    install, where there is none."""
    return step_class(BALANCED, "weights", told="No package weighs classes and rows.").weights()
