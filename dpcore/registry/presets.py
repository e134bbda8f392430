"""The check of an optimizer's presets: what is no field would be dropped, and the preset run under
its name with another value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcore.errors import InvalidInputError, near_names
from dpcore.registry.parameters import convert_all, describe_parameters
from dpcore.registry.slots import Slot

__all__ = ["fault_of_presets"]

_OF_THE_ACCOUNTANT = ("accountant", "accountant_conversion")


def fault_of_presets(
    optimizer: type, presets: Mapping[str, Mapping[str, Any]], slots: Mapping[str, Slot]
) -> str:
    """Return what is wrong with the presets of a class, as the end of a sentence; empty if nothing.

    ``presets``, ``slots`` : what the class, a dataclass, states.
    """
    faults = (
        _fault(optimizer, slots, name, key, value)
        for name, values in presets.items()
        for key, value in values.items()
    )
    return next(filter(None, faults), "")


def _fault(optimizer: type, slots: Mapping[str, Slot], preset: str, key: str, value: Any) -> str:
    """Return what is wrong with one thing that a preset sets; empty if nothing."""
    parameters = [parameter.name for parameter in describe_parameters(optimizer)]
    known = (*parameters, *slots, *_OF_THE_ACCOUNTANT)
    sets = f"has a preset {preset!r} that sets {key!r}"
    if key not in known:
        return f"{sets}, which is neither a parameter nor a slot.{near_names(str(key), known)}"
    if key in slots and slots[key].closed and value not in slots[key].names:
        near = near_names(str(value), slots[key].names)
        return f"{sets} to {value!r}, which that slot cannot hold.{near}"
    if key in (*slots, *_OF_THE_ACCOUNTANT) and not isinstance(value, str):
        return f"{sets} to {value!r}, which is no name."
    if key in parameters:
        try:
            convert_all(optimizer, {key: value})
        except InvalidInputError as error:
            return f"{sets} to what it cannot be. {error}"
    return ""
