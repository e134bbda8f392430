"""Parameters of an optimizer or a loss: what there is to set, and values from text or Python.

Presets are checked by them: what is no field would be dropped, and the preset run under its name
with another value.
"""

import dataclasses
import math
import numbers
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dpcore.errors import InvalidInputError, near_names
from dpcore.privacy.immutable import by_identity
from dpcore.registry.slots import Slot

__all__ = [
    "Parameter",
    "check_ranges",
    "convert",
    "convert_all",
    "describe_parameters",
    "fault_of_presets",
    "option",
]

_NOT_SET_BY_NAME = ("use", "as_published")
_BOOLS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_EXPECTED = {bool: "true or false", int: "a whole number", float: "a finite number", str: "text"}


Range = tuple[float, float] | tuple[float, float, str]
"""Least and largest value, and ``"[)"``, ``"(]"`` or ``"()"`` where an end is not in it."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter. ``default`` is ``None`` where it is chosen from public facts, by the formula
    ``rule`` if the field states one; ``range`` is empty if it states none."""

    name: str
    type: str
    default: Any
    unit: str
    help: str
    rule: str = ""
    range: str = ""


def option(
    default: Any, help: str, unit: str = "", rule: str = "", range: Range | None = None
) -> Any:
    """Return a field with what ``dpcore info`` shows of it. ``rule`` : the formula from public
    facts that a default of ``None`` is. ``range`` : what ``check_ranges`` holds it to.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from dpcore.plugin import option
    >>> @dataclass(frozen=True)
    ... class MyOptimizer:
    ...     steps: int = option(20, "Steps of descent.")
    >>> MyOptimizer().steps
    20
    """
    shown = {"help": help, "unit": unit, "rule": rule, "range": range}
    return dataclasses.field(default=default, metadata=shown)


def check_ranges(part: Any) -> None:
    """Raise InvalidInputError for a field that is neither ``None`` nor within its range.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from dpcore.plugin import check_ranges, option
    >>> @dataclass(frozen=True)
    ... class MyOptimizer:
    ...     steps: int = option(20, "Steps of descent.", range=(1, 100))
    >>> check_ranges(MyOptimizer(steps=0))
    Traceback (most recent call last):
        ...
    dpcore.errors.InvalidInputError: steps=0 is out of range: expected a value in [1, 100].
    """
    for field in _fields(type(part)):
        stated, value = field.metadata.get("range"), getattr(part, field.name)
        if stated is not None and value is not None and not _is_within(stated, value):
            raise InvalidInputError(
                f"{field.name}={value!r} is out of range: expected a value in {_shown(stated)}."
            )


def _is_within(stated: Range, value: Any) -> bool:
    low, high, before, after = _parts_of(stated)
    above_low = low < value if before == "(" else low <= value
    return bool(above_low and (value < high if after == ")" else value <= high))


def _shown(stated: Range) -> str:
    low, high, before, after = _parts_of(stated)
    return f"{before}{low:g}, {high:g}{after}"


def _parts_of(stated: Range) -> tuple[float, float, str, str]:
    """Return the ends and the brackets of a range."""
    brackets = stated[2] if len(stated) == 3 else "[]"
    return stated[0], stated[1], brackets[0], brackets[1]


def describe_parameters(part: type) -> tuple[Parameter, ...]:
    """Return the parameters that ``--set`` accepts, in the order of the fields."""
    annotations = _annotations(part)
    return tuple(
        Parameter(
            field.name,
            _type_text(annotations[field.name]),
            None if field.default is dataclasses.MISSING else field.default,
            str(field.metadata.get("unit", "")),
            str(field.metadata.get("help", "")),
            str(field.metadata.get("rule", "")),
            _shown(field.metadata["range"]) if field.metadata.get("range") else "",
        )
        for field in _fields(part)
    )


def convert_all(
    part: type,
    params: Mapping[str, Any],
    registered: str | None = None,
    elsewhere: Iterable[str] = (),
) -> dict[str, Any]:
    """Return the parameters with the fields' types: text is parsed, Python values are checked.

    ``registered`` : the name that a user knows the part by; ``None`` for that of its class.
    ``elsewhere`` : parameters of other parts, as ``part.name``: a user may have meant such a one.

    Raises InvalidInputError for an unknown name (with near names) or a value of another type.
    """
    known = [field.name for field in _fields(part)]
    annotations = _annotations(part)
    converted = {}
    for key, value in params.items():
        name = key.replace("-", "_")
        if name not in known:
            meant = [dotted for dotted in elsewhere if dotted.rpartition(".")[2] == name]
            hint = f" Did you mean {meant[0]}?" if meant else near_names(name, known)
            raise InvalidInputError(
                f"{registered or part.__name__} has no parameter {key!r}.{hint}"
            )
        converted[name] = convert(name, annotations[name], value)
    return converted


def convert(name: str, annotation: Any, value: Any) -> Any:
    """Return ``value`` as the annotated type; InvalidInputError if it is none of it."""
    choices = _alternatives(annotation)
    is_none = value is None or (isinstance(value, str) and value.lower() in ("none", "auto"))
    if is_none and types.NoneType in choices:
        return None
    for choice in choices:
        converted = _as_type(choice, value)
        if converted is not None:
            return converted
    expected = " or ".join(_type_text(choice) for choice in choices if choice is not types.NoneType)
    raise InvalidInputError(f"Expected {name}={value!r} to be {expected}.")


def _as_type(kind: Any, value: Any) -> Any:
    """Return ``value`` as ``kind``, or ``None`` if it is not one."""
    if typing.get_origin(kind) is typing.Literal:
        return next((a for a in typing.get_args(kind) if value in (a, str(a))), None)
    if kind is bool:
        return _BOOLS.get(value.lower()) if isinstance(value, str) else _exactly(bool, value)
    if kind is int:
        return _number(int, numbers.Integral, value)
    if kind is float:
        number = _number(float, numbers.Real, value)
        return number if number is not None and math.isfinite(number) else None
    return _exactly(str, value) if kind is str else None


def _number(kind: type, abstract: type, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (str, abstract)):
        return None
    try:
        return kind(value)
    except (ValueError, OverflowError):
        return None


def _exactly(kind: type, value: Any) -> Any:
    return value if isinstance(value, kind) else None


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return typing.get_args(annotation)
    return (annotation,)


def _fields(part: type) -> tuple[dataclasses.Field[Any], ...]:
    if not dataclasses.is_dataclass(part):
        raise InvalidInputError(f"{part.__name__} is not a dataclass of its parameters.")
    return tuple(f for f in dataclasses.fields(part) if f.init and f.name not in _NOT_SET_BY_NAME)


@by_identity
def _annotations(part: type) -> dict[str, Any]:
    """Return the fields' types; a name that cannot be resolved leaves its text."""
    try:
        return typing.get_type_hints(part)
    except (NameError, TypeError):
        return {field.name: field.type for field in _fields(part)}


def _type_text(annotation: Any) -> str:
    if typing.get_origin(annotation) is typing.Literal:
        return " or ".join(map(str, typing.get_args(annotation)))
    choices = _alternatives(annotation)
    if len(choices) > 1:
        return " or ".join(_type_text(choice) for choice in choices)
    if annotation is types.NoneType:
        return "none"
    return _EXPECTED.get(annotation, getattr(annotation, "__name__", str(annotation)))


_OF_THE_ACCOUNTANT = ("accountant", "accountant_conversion")


def fault_of_presets(
    optimizer: type, presets: Mapping[str, Mapping[str, Any]], slots: Mapping[str, Slot]
) -> str:
    """Return what is wrong with the presets of a class, as the end of a sentence; empty if nothing.

    ``presets``, ``slots`` : what the class, a dataclass, states.
    """
    faults = (
        _fault_of_key(optimizer, slots, name, key, value)
        for name, values in presets.items()
        for key, value in values.items()
    )
    return next(filter(None, faults), "")


def _fault_of_key(
    optimizer: type, slots: Mapping[str, Slot], preset: str, key: str, value: Any
) -> str:
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
