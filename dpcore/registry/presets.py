"""An optimizer's presets, and what is wrong with them: a field that is no field would be dropped,
and the preset run under its name with another value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcore.errors import InvalidInputError, near_names
from dpcore.registry.parameters import convert_all, describe_parameters

__all__ = ["fault_of_presets", "presets_of"]

_OF_THE_ACCOUNTANT = ("accountant", "accountant_conversion")


def presets_of(optimizer: Any) -> Mapping[str, Mapping[str, Any]]:
    """Return the presets that an optimizer's class declares: by name, what each one sets, which are
    parameters, slots, ``accountant`` and ``accountant_conversion``."""
    return getattr(optimizer, "presets", {})


def fault_of_presets(optimizer: Any) -> str:
    """Return what is wrong with the presets of a class, as the end of a sentence; empty if nothing.

    ``optimizer`` : a dataclass whose slots are in order.
    """
    presets: Any = presets_of(optimizer)
    if not (isinstance(presets, Mapping) and all(isinstance(v, Mapping) for v in presets.values())):
        return "has presets that are not a dict of preset name to a dict of what it sets."
    faults = (
        _fault(optimizer, name, key, value)
        for name, values in presets.items()
        for key, value in values.items()
    )
    return next(filter(None, faults), "")


def _fault(optimizer: Any, preset: str, key: str, value: Any) -> str:
    """Return what is wrong with one thing that a preset sets; empty if nothing."""
    slots, parameters = optimizer.slots, [p.name for p in describe_parameters(optimizer)]
    known = (*parameters, *slots, *_OF_THE_ACCOUNTANT)
    sets = f"has a preset {preset!r} that sets {key!r}"
    if key not in known:
        return f"{sets}, which is neither a parameter nor a slot.{near_names(str(key), known)}"
    if key in slots and value not in slots[key]:
        return (
            f"{sets} to {value!r}, which that slot cannot hold.{near_names(str(value), slots[key])}"
        )
    if key in _OF_THE_ACCOUNTANT and not isinstance(value, str):
        return f"{sets} to {value!r}, which is no name."
    if key in parameters:
        try:
            convert_all(optimizer, {key: value})
        except InvalidInputError as error:
            return f"{sets} to what it cannot be. {error}"
    return ""
