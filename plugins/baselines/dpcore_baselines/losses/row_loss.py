"""Losses that are made of two functions of one row: anyone gives them, the core runs them."""

from __future__ import annotations

import dataclasses
from types import MemberDescriptorType
from typing import Any, ClassVar

import numpy as np

from dpcore.errors import KernelError
from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import coefficient, constant, sealed

__all__ = ["RowLoss", "is_by_rows"]

_CODE = ("value", "dvalue", "precise_dvalue", "line_totals", "__getattribute__")
"""The names of code for rows: with some of its own, a class could keep something between rows."""
_FUNCTIONS = ("value_of_row", "slope_of_row")
_PLAIN = (type(None), bool, int, float, np.float64)
_NO_NUMBER = object()


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

    __slots__ = ()

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
                setattr(cls, name, coefficient(function))
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
    """Return the fields of a loss, float64, as it has them now: losses that are equal may have
    others, where a field does not count in a comparison.

    They are read where the object holds them, and are plain numbers: another object could be
    another number each time that it is asked, and so count the blocks. Raises KernelError, before
    anything is charged, for others.
    """
    fields = dataclasses.fields(loss) if dataclasses.is_dataclass(loss) else ()
    values = [_held(loss, field.name) for field in fields]
    if not _has_plain_numbers(loss):
        names = ", ".join(field.name for field in fields)
        raise KernelError(
            f"Expected {names} of {type(loss).__name__} to be plain numbers or None: they are the "
            "parameters of the functions of a row."
        )
    return constant(np.array([value or 0.0 for value in values], dtype=np.float64))


def _has_plain_numbers(loss: Any) -> bool:
    fields = dataclasses.fields(loss) if dataclasses.is_dataclass(loss) else ()
    return all(type(_held(loss, field.name)) in _PLAIN for field in fields)


def _held(loss: Any, name: str) -> Any:
    """Return the value that an object holds under a name, in its dictionary or a slot of its class
    or a base, whatever code the class has for it."""
    slot = next((vars(cls)[name] for cls in type(loss).__mro__ if name in vars(cls)), None)
    own = getattr(loss, "__dict__", {})
    if isinstance(slot, MemberDescriptorType):
        return slot.__get__(loss)
    return own.get(name, _NO_NUMBER)


def is_by_rows(loss: Any) -> bool:
    """Return whether a loss's values and slopes are functions of one row by construction: it is of
    a class made of ``RowLoss``, which has no code of its own that runs on rows.

    Examples
    --------
    >>> from dpcore.losses.logistic import Logistic
    >>> from dpcore_baselines.losses.row_loss import is_by_rows
    >>> is_by_rows(Logistic())
    False
    """
    kind = type(loss)
    is_alone = type(kind) is type and kind.__bases__ == (RowLoss,)
    shadowed = {*_CODE, *_FUNCTIONS} & {*getattr(loss, "__dict__", ())}
    return is_alone and _has_two_functions(kind) and not shadowed and _has_plain_numbers(loss)


def _has_two_functions(cls: type) -> bool:
    """Return whether a class has two functions of a row, and no other code for rows."""
    own = vars(cls)
    kinds = {type(own.get(name)) for name in _FUNCTIONS}
    others = [name for name in _CODE if name in own and own[name] is not RowLoss.dvalue]
    return kinds == {_ROW_FUNCTION} and not others


def _zero(z: float, y: float, parameters: Any) -> float:
    return 0.0


_ROW_FUNCTION = type(coefficient(_zero))
