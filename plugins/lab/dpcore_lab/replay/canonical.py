"""One form for what a run asked and what it told, in which nothing is left out."""

from __future__ import annotations

import inspect
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from dpcore.plugin.parts import PrivacyStatement

__all__ = ["attributes", "canonical"]

_NAMED = (type, FunctionType, BuiltinFunctionType)
_BARE: dict[type, tuple[str, Callable[[Any], Any]]] = {
    kind: (PrivacyStatement.part_of(kind), form)
    for kind, form in (
        (str, str.__str__),
        (int, int.__repr__),
        (bool, int.__repr__),
        (float, struct.Struct("<d").pack),
        (type(None), repr),
    )
}
"""Types of nearly all that is held, by name, and their form. Their objects hold nothing else."""
_OWN = [vars(type)[name].__get__ for name in ("__module__", "__qualname__")]
_KNOWN: dict[tuple[int, str, str], tuple[type, str]] = {}
"""The names of classes by which they were looked for, and the classes: so an id is no other
one's."""
_SLOTS: dict[int, tuple[type, list[tuple[str, Any]]]] = {}
"""Classes by their ids, likewise, each with its slots and those of its bases."""
_EMPTY = object()


def attributes(part: Any) -> list[tuple[str, Any]]:
    """Return name and value of every slot that is filled, of whichever base, and of every entry of
    the instance dictionary.

    The core has its own reader of them, for what it copies and names: a check that asked that one
    would leave out what it leaves out.
    """
    kind = type(part)
    if (known := _SLOTS.get(id(kind))) is None:
        members = [member for cls in kind.__mro__ for member in vars(cls).items()]
        slots = [(name, slot) for name, slot in members if inspect.ismemberdescriptor(slot)]
        known = _SLOTS[id(kind)] = kind, slots
    filled = [(name, _value_in(slot, part)) for name, slot in known[1]]
    return [
        *((name, value) for name, value in filled if value is not _EMPTY),
        *getattr(part, "__dict__", {}).items(),
    ]


def _value_in(slot: Any, part: Any) -> Any:
    try:
        return slot.__get__(part)
    except AttributeError:
        return _EMPTY


def canonical(value: Any) -> tuple[Any, ...]:
    """Return nested tuples of names, texts and bytes that are equal only for equal values.

    Each begins with the type. A number is its bytes (so -0.0 is not 0.0, and a NaN keeps its
    payload), an array its dtype, shape and bytes in C order, a container its items in their order,
    a set its items sorted, any other object all that it holds (slots and instance dictionary). A
    class or a function is its name, whatever was compiled or remembered for it.
    """
    return _canonical(value, ())


def _name(kind: type) -> str:
    """Return ``part_of`` a class, which is looked for once as long as the class is called so."""
    module, name = (get(kind) for get in _OWN)
    if type(module) is not str or type(name) is not str:
        return PrivacyStatement.part_of(kind)
    if (known := _KNOWN.get((id(kind), module, name))) is None:
        known = _KNOWN[id(kind), module, name] = kind, PrivacyStatement.part_of(kind)
    return known[1]


def _canonical(value: Any, above: tuple[int, ...]) -> tuple[Any, ...]:
    if bare := _BARE.get(type(value)):
        name, form = bare
        return (name, form(value))
    kind = _name(type(value))
    if id(value) in above:
        return (kind, "what holds this")
    if isinstance(value, _NAMED):
        return (kind, PrivacyStatement.part_of(value))
    if isinstance(value, ModuleType):
        return (kind, value.__name__)
    within = (*above, id(value))
    if isinstance(value, MethodType):
        return (kind, PrivacyStatement.part_of(value.__func__), _canonical(value.__self__, within))
    if callable(value) and isinstance(getattr(value, "__wrapped__", None), FunctionType):
        return (kind, PrivacyStatement.part_of(value.__wrapped__))
    held = (_canonical(item, within) for item in attributes(value))
    return (kind, *_plain(value, within), *held)


def _plain(value: Any, within: tuple[int, ...]) -> tuple[Any, ...]:
    """Return what an object is beside its attributes."""
    if isinstance(value, (np.ndarray, np.generic)):
        items = np.asarray(value)
        form = (str(items.dtype), str(items.shape))
        if items.dtype.hasobject:
            return (*form, *(_canonical(item, within) for item in items.ravel().tolist()))
        return (*form, items.tobytes())
    if isinstance(value, float):
        return (struct.pack("<d", value),)
    if isinstance(value, complex):
        return (struct.pack("<dd", value.real, value.imag),)
    if isinstance(value, int):
        return (int.__repr__(value),)
    if isinstance(value, str):
        return (str.__str__(value),)
    if isinstance(value, (bytes, bytearray)):
        return (bytes(value),)
    if isinstance(value, Mapping):
        return tuple(_canonical(item, within) for pair in value.items() for item in pair)
    if isinstance(value, (list, tuple)):
        return tuple(_canonical(item, within) for item in value)
    if isinstance(value, (set, frozenset)):
        return tuple(sorted((_canonical(item, within) for item in value), key=repr))
    return (repr(value),) if isinstance(value, (Decimal, np.dtype, range)) else ()
