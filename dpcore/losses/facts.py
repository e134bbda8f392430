"""The one reader of the facts that a loss states of itself, by the table of ``dpcore.registry``.

Sensitivities rest on these facts, and none on the type of a loss: whoever's loss states a fact is
treated as the core's own, and the checks of a loss look at what can be checked cheaply.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING
from typing import TYPE_CHECKING

from dpcore.errors import InvalidInputError
from dpcore.privacy.immutable import by_identity, fault_of_unfrozen
from dpcore.registry.tables.facts import Shape, fault_of, near_name
from dpcore.registry.tables.losses import LossFacts

if TYPE_CHECKING:
    from dpcore.protocols import Loss

__all__ = ["loss_facts"]

_SHAPES = {
    field.name: (field.metadata["kind"], field.default)
    for field in dataclasses.fields(LossFacts)
    if isinstance(field.metadata["kind"], Shape)
}


def loss_facts(loss: Loss) -> LossFacts:
    """Return the facts that a loss states.

    Raises InvalidInputError, with the name that is meant, for a fact that is misspelt, missing or
    of another type.

    Examples
    --------
    >>> from dpcore.plugin.parts import Logistic
    >>> from dpcore.plugin.parts import loss_facts
    >>> loss_facts(Logistic()).lipschitz
    1.0
    """
    kind = type(loss)
    facts = LossFacts(**{name: getattr(loss, name) for name in _names_that_count(kind)})
    for name, (shape, default) in _SHAPES.items():
        # Of a property the class does not know what it gives.
        stated = getattr(facts, name)
        if stated is not default and not shape.holds(stated):
            raise InvalidInputError(f"The loss {kind.__name__} {shape.fault(name, stated)}")
    return facts


@by_identity
def _names_that_count(kind: type) -> tuple[str, ...]:
    """Return the facts to be read of a loss of this class: those it has to state, and its own."""
    if fault := fault_of_unfrozen(kind) or fault_of(LossFacts, kind):
        raise InvalidInputError(f"The loss {kind.__name__} {fault}")
    fields = dataclasses.fields(LossFacts)
    unstated = [field.name for field in fields if field.name not in vars(kind)]
    for name, value in vars(kind).items():
        # A fact of its own that a base states too is misspelt as easily.
        if type(value) is bool and (meant := near_name(name, unstated)):
            raise InvalidInputError(
                f"The loss {kind.__name__} states {name!r}, which nobody reads. "
                f"Did you mean {meant!r}?"
            )
    return tuple(f.name for f in fields if f.default is MISSING or f.name in vars(kind))
