"""Parts that act on rows, kept as they were defined: nothing of theirs is set from outside."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from enum import Enum
from operator import index, is_
from types import FunctionType, MemberDescriptorType
from typing import TYPE_CHECKING, Any, TypeVar

from dpcore.errors import InvalidInputError
from dpcore.exact.plain import plain_number
from dpcore.privacy.first_party import found_by_name, is_class, is_ours, module_of, name_of

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "Copies",
    "attributes",
    "constant",
    "fault_of_unfrozen",
    "fields_of",
    "by_identity",
    "private_copy",
    "require_sealed",
    "require_untouched",
    "sealed",
]

Part = TypeVar("Part", bound=type)
Value = TypeVar("Value")

# Every sealed class by its id, with its attributes when it was defined, and their names in order.
_DEFINED: dict[int, tuple[type, dict[str, Any], tuple[str, ...]]] = {}
_ABSENT = object()


def sealed(cls: Part) -> Part:
    """Return a frozen dataclass with slots, none of whose attributes can be set from outside.

    Sensitivities rest on a part's methods and constants as much as on its fields, so none of them
    can be set on an object of the class; a subclass from elsewhere may keep attributes of its own.
    A class that is altered itself is refused by the session (``require_untouched``).

    Raises TypeError for a class under another module's name than where it is sealed.
    """
    if sys._getframe(1).f_globals.get("__name__") != cls.__module__:
        raise TypeError(f"{cls.__name__} is sealed elsewhere than in its module {cls.__module__}.")
    cls.__setattr__ = _set  # type: ignore[assignment]
    cls.__delattr__ = _delete  # type: ignore[assignment]
    _DEFINED[id(cls)] = cls, dict(vars(cls)), tuple(vars(cls))
    return cls


def by_identity(function: Callable[[Any], Value]) -> Callable[[Any], Value]:
    """Return a function that is worked out once for each object or class: for that very one, and
    for none that says, itself or by a metaclass, that it equals it."""
    known: dict[int, tuple[Any, Value]] = {}  # It too: its id is then no other one's.

    def found(thing: Any) -> Value:
        if (kept := known.get(id(thing))) is None:
            kept = known[id(thing)] = thing, function(thing)
        return kept[1]

    return found


@by_identity
def _slots(kind: Any) -> tuple[tuple[str, Any], ...]:
    """Return name and descriptor of every slot of a class and its bases."""
    held = [item for cls in kind.__mro__ for item in vars(cls).items()]
    return tuple((name, slot) for name, slot in held if type(slot) is MemberDescriptorType)


def _set(self: Any, name: str, value: Any) -> None:
    _require_free(self, name)
    object.__setattr__(self, name, value)


def _delete(self: Any, name: str) -> None:
    _require_free(self, name)
    object.__delattr__(self, name)


def _require_free(part: Any, name: str) -> None:
    kind = type(part)
    sealed_ones = [cls for cls in kind.__mro__ if id(cls) in _DEFINED]
    if id(kind) in _DEFINED or any(name in vars(cls) for cls in sealed_ones):
        raise dataclasses.FrozenInstanceError(
            f"{kind.__name__}.{name} is not to be set: what is claimed of the answers rests on it. "
            "Build another one, or write a class of your own, which the statement then names."
        )


# Originals, which have to be kept for their ids to be theirs, and their copies.
Copies = dict[int, tuple[Any, Any]]


def private_copy(part: Any, copies: Copies | None = None) -> Any:
    """Return a copy of a sealed part, and of every sealed part that it holds, which nobody else
    holds: what is found of it stays true until it has answered. Any other part is left as it is.

    Each copy is made as such parts are made, of fields as their classes state them (``_as_stated``)
    and arrays that nobody can write to. ``copies`` : those that there are already, and more
    afterwards; what has a copy there is that copy.

    Raises TypeError or ValueError for a field that cannot be what its class states.
    """
    kind: Any = type(part)
    if id(kind) in _LEAVES:
        return part
    copies = {} if copies is None else copies
    if (known := copies.get(id(part))) is not None:
        return known[1]
    if id(kind) in _DEFINED:
        if (makers := _makers_of(kind)) is None:
            return part
        copy = kind(
            **{
                name: make(
                    held
                    if id(type(held := getattr(part, name))) in _LEAVES
                    else private_copy(held, copies)
                )
                for name, make in makers
            }
        )
    elif kind is dict:
        copy = {key: private_copy(value, copies) for key, value in part.items()}
    elif id(kind) in _CONTAINERS:
        copy = kind([private_copy(item, copies) for item in part])
    else:
        import numpy as np  # As in ``constant``.

        if kind is np.ndarray:
            return constant(part, part.dtype)
        return plain_number(part) if issubclass(kind, float | int) else part
    copies[id(part)] = (part, copy)
    return copy


_CONTAINERS = frozenset(map(id, (tuple, list, dict)))
_LEAVES = frozenset(map(id, (type(None), bool, int, float, str)))
# By annotation, what makes a plain number of a value.
_NUMBERS: dict[str, Callable[[Any], Any]] = {"bool": bool, "int": index, "float": float}


def _as_stated(stated: str) -> Callable[[Any], Any]:
    """Return what makes of the value of a field what its annotation has it, where that is a bool,
    an int, a float, or a tuple of such: of a flag that is -1.25 truth and value would be two
    answers, and the bound that is charged another question's than what is answered."""
    kind, _, within = stated.removesuffix(" | None").removesuffix("]").partition("[")
    if not (kind in _NUMBERS or stated.startswith("tuple[")):
        return lambda value: value
    each = _as_stated(within.removesuffix(", ...")) if within else _NUMBERS[kind]
    make = (lambda values: tuple(map(each, values))) if within else each
    return (lambda v: None if v is None else make(v)) if stated.endswith(" | None") else make


@by_identity
def _makers_of(kind: Any) -> tuple[tuple[str, Callable[[Any], Any]], ...] | None:
    """Return the names of the fields that a dataclass is made from, each with ``_as_stated``;
    ``None`` of another class."""
    made = [(name, _as_stated(stated)) for name, stated in fields_of(kind).items() if stated]
    return tuple(made) if dataclasses.is_dataclass(kind) else None


@by_identity
def fields_of(kind: Any) -> dict[str, str]:
    """Return the names of a dataclass's fields, its class variables not among them, each with its
    annotation as text, or "" where the class is not made from it; of another class none."""
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    stated = [each.type.__name__ if type(each.type) is type else str(each.type) for each in fields]
    return {each.name: of if each.init else "" for each, of in zip(fields, stated, strict=True)}


def constant(values: Any, dtype: Any = "float64") -> np.ndarray:
    """Return a copy of an array that nobody can write to or make writeable.

    Examples
    --------
    >>> from dpcore.plugin.parts import constant
    >>> constant([1, 2])[0] = 5
    Traceback (most recent call last):
        ...
    ValueError: assignment destination is read-only
    """
    import numpy as np  # Here: the relations are sealed too, and a list of names needs no arrays.

    array = np.asarray(values, dtype=dtype)
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)


def fault_of_unfrozen(kind: type) -> str:
    """Return what is wrong with a dataclass whose fields anyone can set, as the end of a sentence;
    empty for any other class."""
    stated = getattr(kind, "__dataclass_params__", None)
    if stated is None or stated.frozen:
        return ""
    return (
        "is a dataclass that is not frozen, so that what is checked of its fields could change "
        "after the check. Write @dataclass(frozen=True)."
    )


def attributes(part: Any) -> list[tuple[str, Any]]:
    """Return name and value of all that an object holds: the slots of its class and of every base,
    whatever they are called, then its instance dictionary."""
    held = []
    for name, slot in _slots(type(part)):
        try:
            held.append((name, slot.__get__(part)))
        except AttributeError:  # It was never filled.
            continue
    return [*held, *getattr(part, "__dict__", {}).items()]


def require_untouched(part: Any) -> None:
    """Raise InvalidInputError for a part of dpcore's that is not as dpcore has defined it: a class
    with another attribute, an object that shadows its class or holds something to be called."""
    own = part if is_class(part) else type(part)
    for cls in own.__mro__:
        if id(cls) in _DEFINED:
            _require_defined(cls)
    if id(own) in _DEFINED or is_ours(module_of(own)):
        _require_its_own(own)
        _require_plain_state(part, own)
    elif type(part) is FunctionType and is_ours(module_of(part)):
        _require_plain_state(part, own)


def require_sealed(part: Any) -> None:
    """Raise InvalidInputError for what bears the name of a module of dpcore's and is none of its
    sealed classes, nor the function of that name: nothing else of dpcore's acts on rows."""
    named = part if is_class(part) or type(part) is FunctionType else type(part)
    if id(named) in _DEFINED or not is_ours(module_of(named)):
        return
    if not (type(named) is FunctionType and found_by_name(named) is named):
        raise InvalidInputError(
            f"{module_of(named)}:{name_of(named)} is not dpcore's own. Let it bear the name of "
            "its own module, which the statement then names."
        )


def _require_defined(cls: type) -> None:
    (_, known, names), now = _DEFINED[id(cls)], vars(cls)
    # Value by value, and by what each is: one may say that it equals another.
    if tuple(now) == names and all(map(is_, now.values(), known.values())):
        return
    for name in {*known, *now}:
        # Python itself fills in annotations when they are first asked for.
        if name.startswith("__annot"):
            continue
        if now.get(name, _ABSENT) is not known.get(name, _ABSENT):
            raise InvalidInputError(
                f"{cls.__module__}:{cls.__qualname__} was altered: its {name!r} is not what the "
                "class was defined with. Leave it as it is, and write a class of your own, which "
                "the statement then names."
            )


def _require_its_own(cls: type) -> None:
    if found_by_name(cls) is not cls:
        raise InvalidInputError(
            f"A class calls itself {module_of(cls)}:{name_of(cls)}, and dpcore has another "
            "under that name or none. Let it bear the name of its own module, which the statement "
            "then names."
        )


def _require_plain_state(part: Any, own: Any) -> None:
    held = getattr(part, "__dict__", None)
    if not held or is_class(part) or issubclass(own, Enum):
        return
    fields = fields_of(own)
    for name, value in held.items():
        shadows = name not in fields and any(name in vars(cls) for cls in own.__mro__)
        if shadows or callable(value):
            raise InvalidInputError(
                f"An object of dpcore's, {own.__module__}:{own.__qualname__}, was given a {name!r} "
                "of its own. Leave it as it was made, and write a class of your own, which the "
                "statement then names."
            )
