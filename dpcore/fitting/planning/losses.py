"""The loss of a fit: a registered name, and parameters of its own (``--set loss.NAME=VALUE``)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpcore.errors import DpcoreError, InvalidInputError
from dpcore.registry.parameters import convert_all, describe_parameters

if TYPE_CHECKING:
    from dpcore.protocols import Loss
    from dpcore.registry.catalogue import Registry

__all__ = [
    "OF_LOSS",
    "has_parameters",
    "make_loss",
    "names_of_loss",
]


OF_LOSS = "loss"
"""The first word of a loss's parameter, before the dot."""


def has_parameters(kind: Any) -> bool:
    """Return whether the class of a loss can have parameters: a plugin's may be a plain class."""
    return dataclasses.is_dataclass(kind)


def names_of_loss(name: str, registry: Registry) -> list[str]:
    """Return the parameters of a loss as they are set: with its word before the dot."""
    kind: Any = registry.load("loss", name)
    stated = describe_parameters(kind) if has_parameters(kind) else ()
    return [f"{OF_LOSS}.{parameter.name}" for parameter in stated]


def make_loss(name: str, params: Mapping[str, Any], registry: Registry) -> Loss:
    """Return the loss of a name with these parameters: text is parsed, Python values are checked.

    Raises RegistryError for an unknown name, InvalidInputError for a parameter that the loss does
    not have or take.
    """
    kind: Any = registry.load("loss", name)
    if not params:
        loss: Loss = kind()
        return loss
    if not has_parameters(kind):
        raise InvalidInputError(f"The loss {name} has no parameters.")
    values = convert_all(kind, params, f"The loss {name}")
    try:
        loss = kind(**values)
    except DpcoreError:
        raise
    except Exception as error:
        raise InvalidInputError(f"The loss {name} refuses its parameters: {error}") from error
    return loss
