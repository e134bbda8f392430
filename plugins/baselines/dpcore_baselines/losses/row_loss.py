"""Losses that are made of two functions of one row: anyone gives them, the core runs them."""

from __future__ import annotations

import dataclasses
import weakref
from contextlib import suppress
from types import GetSetDescriptorType, MemberDescriptorType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from dpcore.errors import KernelError
from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import RowFunction, constant, sealed

__all__ = ["RowLoss", "is_by_rows"]

_CODE = (
    *("value", "dvalue", "precise_dvalue", "line_totals", "__getattribute__"),
    *("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__new__"),
    *("__getnewargs__", "__getnewargs_ex__", "__copy__", "__deepcopy__"),
)
"""The names of code for rows: with some of its own, a class could keep something between rows, or
be another loss in each process that has some of them."""
_OF_DATACLASSES = ("_dataclass_getstate", "_dataclass_setstate")
"""Names of what a frozen dataclass with slots is given, which copies its fields."""
_FUNCTIONS = ("value_of_row", "slope_of_row")
_PLAIN = frozenset(map(id, (type(None), bool, int, float, np.float64)))
_NO_NUMBER = object()
_FIELDS = "__dataclass_fields__"
_BASES, _ATTRIBUTES = vars(type)["__mro__"], vars(type)["__dict__"]


@sealed
class RowLoss:
    """Base of the losses that are two functions of one row, of its margin z and label y: the loss,
    and its slope in z. A class is given them as it is made::

        class Flat(RowLoss, value=flat, slope=flat_slope): ...

    The core compiles both, from a small grammar (``docs/row-functions.md``): a row's loss and slope
    depend on that row and the parameters alone, whoever wrote them. What is not finite is clipped
    or left out by the queries, as of any loss. It remains a claim of the class's author that the
    slope is the derivative of the loss, and all that the class states: ``lipschitz``,
    ``smoothness``, ``convex`` and the other facts. ``check_loss`` looks for faults in them, and the
    privacy statement names the class.

    Parameters
    ----------
    value, slope : of the class: functions ``(z, y, parameters)`` that return a number, as of
        ``coefficient``; ``parameters`` are the fields of the class, if it is a dataclass, in their
        order: numbers, and 0 in the place of ``None``.

    Raises InvalidInputError, with the line, for what a function of a row cannot do, and for a class
    that has code of its own for rows.

    Examples
    --------
    >>> import math
    >>> import numpy as np
    >>> from dpcore_baselines.losses.row_loss import RowLoss
    >>> def ramp(z, y, parameters):
    ...     return max(0.0, 1.0 - y * z)
    >>> def ramp_slope(z, y, parameters):
    ...     return -y if y * z < 1.0 else 0.0
    >>> class Ramp(RowLoss, value=ramp, slope=ramp_slope):
    ...     name = "ramp"
    ...     classification = True
    ...     convex = True
    ...     lipschitz = 1.0
    ...     smoothness = math.inf
    >>> out = np.empty(2)
    >>> Ramp().value(np.array([0.5, 2.0]), np.array([1.0, 1.0]), out)
    >>> out
    array([0.5, 0. ])
    """

    __slots__ = ("__weakref__",)

    value_of_row: ClassVar[Any] = None
    slope_of_row: ClassVar[Any] = None
    thread_safe: ClassVar[bool] = True

    def __init_subclass__(cls, value: Any = None, slope: Any = None) -> None:
        if RowLoss not in cls.__bases__:  # of such a class, which may do anything: no claim is made
            return
        if cls.__bases__ != (RowLoss,):
            raise InvalidInputError(f"Expected {cls.__name__} to be made of RowLoss alone.")
        # A class that is made again, with slots, has what it was made with.
        for name, function in zip(_FUNCTIONS, (value, slope), strict=True):
            if function is not None:
                setattr(cls, name, RowFunction.coefficient(function))
        cls.thread_safe = True  # a base's word does not count
        if not _has_two_functions(cls):
            raise InvalidInputError(
                f"Expected {cls.__name__}(RowLoss, value=..., slope=...), two functions of a row, "
                f"and no {', '.join(_CODE[:4])} of its own."
            )

    def value(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        self.value_of_row.fill(z, y, _parameters(self), out)

    def dvalue(self, z: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        self.slope_of_row.fill(z, y, _parameters(self), out)


def _parameters(loss: Any) -> np.ndarray:
    """Return the fields of a loss, float64, as it had them when they were first asked for: by
    ``is_by_rows``, by the question of no rows before a charge, or by the first block. What code of
    the class does to them between two blocks changes nothing. Losses that are equal may have
    others, where a field does not count in a comparison.

    They are read where the object holds them, and are plain numbers: another object could be
    another number each time that it is asked, and so count the blocks. Raises KernelError, before
    anything is charged, for others, and for a class with code where Python holds fields.
    """
    key = id(loss)
    known = _READ.get(key)
    if known is not None and known[0]() is loss:
        return known[1]
    held = _held(loss)
    if not all(id(type(value)) in _PLAIN for value in held.values()):
        raise KernelError(
            f"Expected {', '.join(held)} of {type(loss).__name__} to be plain numbers or None: "
            "they are the parameters of the functions of a row."
        )
    read = constant(np.array([value or 0.0 for value in held.values()], dtype=np.float64))
    # Threads that ask at the same time all take what the first of them has put there.
    return _READ.setdefault(key, (weakref.ref(loss, lambda _: _READ.pop(key, None)), read))[1]


_READ: dict[int, tuple[weakref.ref[Any], np.ndarray]] = {}
"""The parameters of losses by their ids, as long as there are these losses."""


def _held(loss: Any) -> dict[str, Any]:
    """Return what an object holds under the names of its fields, in its dictionary or a slot of its
    class or a base; no code of the class is asked."""
    classes = _classes(loss)
    stated: Any = next((own[_FIELDS] for _, own in classes if _FIELDS in own), {})
    is_plain = type(stated) is dict and all(
        type(name) is str and type(each) is dataclasses.Field and type(each.name) is str
        for name, each in stated.items()
    )
    if not is_plain or any("__class__" in own for _, own in classes):
        raise _not_as_made(loss)
    dictionary, plain = _dictionary(loss), SimpleNamespace(**{_FIELDS: stated})
    names = [each.name for each in dataclasses.fields(plain)]  # type: ignore[arg-type]
    return {name: _value(loss, name, dictionary) for name in names}


def _value(loss: Any, name: str, dictionary: dict[str, Any]) -> Any:
    slot = next((own[name] for _, own in _classes(loss) if name in own), None)
    if type(slot) is MemberDescriptorType:
        with suppress(AttributeError):  # It was never filled.
            return slot.__get__(loss)
        return _NO_NUMBER
    return dictionary.get(name, _NO_NUMBER)


def _dictionary(loss: Any) -> dict[str, Any]:
    """Return the dictionary in which Python holds an object's attributes; KernelError where its
    class shows another one."""
    found = [(cls, own["__dict__"]) for cls, own in _classes(loss) if "__dict__" in own]
    for cls, shown in found:
        is_usual = type(shown) is GetSetDescriptorType and shown.__objclass__ is cls
        if not (is_usual and shown.__name__ == "__dict__"):
            raise _not_as_made(loss)
    held: dict[str, Any] = found[0][1].__get__(loss) if found else {}
    return held


def _classes(loss: Any) -> list[tuple[type, Any]]:
    """Return an object's class and its bases, but for ``object``, with their attributes; no code
    of a metaclass is asked."""
    bases = _BASES.__get__(type(loss))
    return [(cls, _ATTRIBUTES.__get__(cls)) for cls in bases if cls is not object]


def _not_as_made(loss: Any) -> KernelError:
    return KernelError(
        f"Expected {type(loss).__name__} to leave __class__, __dict__ and {_FIELDS} as Python "
        "makes them: the parameters of the functions of a row are read there."
    )


def is_by_rows(loss: Any) -> bool:
    """Return whether a loss's values and slopes are functions of one row by construction: it is of
    a class made of ``RowLoss``, which has no code of its own that runs on rows.

    Examples
    --------
    >>> from dpcore.plugin.parts import Logistic
    >>> from dpcore_baselines.losses.row_loss import is_by_rows
    >>> is_by_rows(Logistic())
    False
    """
    kind = type(loss)
    if type(kind) is not type or kind.__bases__ != (RowLoss,) or not _has_two_functions(kind):
        return False
    with suppress(KernelError):
        _parameters(loss)  # From now on they are these.
        return not {*_CODE, *_FUNCTIONS} & {*_dictionary(loss)}
    return False


def _has_two_functions(cls: type) -> bool:
    """Return whether a class has two functions of a row, and no other code for rows."""
    own = vars(cls)
    kinds = {type(own.get(name)) for name in _FUNCTIONS}
    usual = [RowLoss.dvalue, *(getattr(dataclasses, name) for name in _OF_DATACLASSES)]
    others = [name for name in _CODE if not any(own.get(name) is one for one in (None, *usual))]
    return kinds == {_ROW_FUNCTION} and not others


def _zero(z: float, y: float, parameters: Any) -> float:
    return 0.0


_ROW_FUNCTION = type(RowFunction.coefficient(_zero))
