"""Values that nobody else holds: exact copies of events, sensitivities and scales, and of the
numbers in them (``dpcore.exact.plain``).
"""

import copy
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from dpcore.errors import InvalidInputError
from dpcore.exact.plain import Asked, cached_by_copy, plain_number
from dpcore.privacy.first_party import found_by_name, is_ours, module_of
from dpcore.privacy.immutable import by_identity, fields_of
from dpcore.privacy.sensitivity import NeighboringRelation

__all__ = ["cached_by_value", "exact_copy", "plain", "plain_counts"]


@by_identity
def _is_ours(kind: Any) -> bool:
    return is_ours(module_of(kind)) and found_by_name(kind) is kind


@by_identity
def _names_of_ours(kind: Any) -> tuple[str, ...] | None:
    """Return the names of the fields of a dataclass of dpcore's; ``None`` of any other class."""
    is_one = dataclasses.is_dataclass(kind) and _is_ours(kind)
    return tuple(name for name, is_given in fields_of(kind).items() if is_given) if is_one else None


def plain(value: Any) -> Any:
    """Return a number, a text or a relation, or a copy of a tuple of such, or of an event or
    another dataclass of dpcore's that holds such alone.

    Raises InvalidInputError for anything else, and what a dataclass raises of what it holds.
    """
    kind: Any = type(value)
    if kind is NeighboringRelation or kind is float:
        return value
    if kind is tuple or (issubclass(kind, tuple) and _is_ours(kind)):
        return tuple.__new__(kind, map(plain, tuple.__iter__(value)))
    if (names := _names_of_ours(kind)) is not None:
        return kind(**{name: plain(getattr(value, name)) for name in names})
    return plain_number(value)


def exact_copy(value: Any) -> Any:
    """Return a copy of an event or a filter.

    Those of dpcore are copied as ``plain`` does, without ``copyreg``, where anyone registers a
    copy; those of others as their class does.

    Examples
    --------
    >>> from dpcore.plugin.parts import Account, PureAccountant
    >>> pure = PureAccountant.from_budget(1.0, 0)
    >>> Account.copied(pure) == pure, Account.copied(pure) is pure
    (True, False)
    """
    return plain(value) if _is_ours(type(value)) else copy.deepcopy(value)


def plain_counts(events: Mapping[Any, int]) -> dict[Any, int]:
    """Return how many of each event a schedule has, with exact copies of dpcore's own events.

    Those of others are left as they are, and are none of dpcore's.

    Raises InvalidInputError for a number of them that is not whole.

    Examples
    --------
    >>> from dpcore.plugin.parts import DpEvent, GaussianDpEvent
    >>> DpEvent.counted({GaussianDpEvent(2.0): 5})
    {GaussianDpEvent(noise_multiplier=2.0): 5}
    """
    counts: dict[Any, int] = {}
    for event, count in events.items():
        own = plain(event) if _is_ours(type(event)) else event
        if type(number := plain_number(count)) is not int:
            raise InvalidInputError(f"Expected a whole number of each event, and not {count!r}.")
        counts[own] = counts.get(own, 0) + number
    return counts


def cached_by_value(maxsize: int) -> Callable[[Asked], Asked]:
    """Return a decorator that caches a function of such values by copies of its arguments.

    Examples
    --------
    >>> from dpcore.plugin.parts import cached_by_value
    >>> @cached_by_value(maxsize=8)
    ... def inverse(x):
    ...     return 1 / x
    >>> inverse(4.0)
    0.25
    """
    return cached_by_copy(plain, maxsize)
