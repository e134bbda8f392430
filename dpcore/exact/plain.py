"""Exact copies of numbers, and caches that find by them.

A number of a class of somebody's own may equal one number and be another to an accountant, and an
object that was altered may come to equal another: under ``==`` and a hash a cache would find the
value of the one for the other.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, wraps
from typing import Any, TypeVar

from dpcore.errors import InvalidInputError

__all__ = ["REGISTERED_BY_OTHERS", "cached_by_number", "cached_by_copy", "plain_number"]

REGISTERED_BY_OTHERS: set[str] = set()
"""``"module:name"`` of what others than numba had registered when a kernel of this process was
compiled (``dpcore.exact.compiler``)."""

Asked = TypeVar("Asked", bound=Callable[..., Any])
_EXACT = frozenset(map(id, (type(None), bool, int, float, str)))


def plain_number(value: Any) -> Any:
    """Return a number or a text, or a copy of a tuple of them; a float or an int of another class
    as what it is to Python itself.

    Raises InvalidInputError for anything else.
    """
    kind: Any = type(value)
    if id(kind) in _EXACT:
        return value
    for exact in (float, int):
        if issubclass(kind, exact):
            return exact.__pos__(value)
    if kind is tuple:
        return tuple(map(plain_number, value))
    if kind is not Fraction:
        raise InvalidInputError(f"Expected numbers of Python's own, and no {kind.__name__}.")
    return Fraction(*map(plain_number, value.as_integer_ratio()))


def cached_by_copy(copy: Callable[[Any], Any], maxsize: int) -> Callable[[Asked], Asked]:
    """Return a decorator that keeps the results of a function, as ``lru_cache`` does: what it is
    called with, and found by, is the ``copy`` of each argument. What it returns is what is kept:
    a fraction, whose numerator may be set, is copied by what hands it out."""

    def of(function: Any) -> Any:
        kept = lru_cache(maxsize)(function)

        @wraps(function)
        def asked(*given: Any, **named: Any) -> Any:
            return kept(*map(copy, given), **{name: copy(v) for name, v in named.items()})

        vars(asked).update(cache_info=kept.cache_info, cache_clear=kept.cache_clear)
        return asked

    return of


def cached_by_number(maxsize: int) -> Callable[[Asked], Asked]:
    """Return a decorator as of ``cached_by_copy``, for a function of numbers and texts."""
    return cached_by_copy(plain_number, maxsize)
