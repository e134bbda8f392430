"""Parts inside the trust boundary: queries, mechanisms, and all that they hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from types import MethodType
from typing import Any

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.privacy.first_party import is_class, is_function, is_ours, part_of
from dpcore.privacy.immutable import (
    attributes,
    by_identity,
    fault_of_unfrozen,
    require_sealed,
    require_untouched,
)
from dpcore.privacy.statement import foreign_parts
from dpcore.protocols.problem import Problem

__all__ = ["NUMPY_SCALARS", "TrustedParts", "foreign_callables", "parts_within"]

# NumPy's own types of numbers: a subclass may do anything, whatever it calls its module.
NUMPY_SCALARS = frozenset(np.sctypeDict.values())
# Types of data, which do nothing. Of these alone, and of no subclass, is nothing named; nor of a
# class whose metaclass says that it equals one of them.
_PLAIN = frozenset(
    id(kind)
    for kind in (
        *NUMPY_SCALARS,
        *(type(None), bool, int, float, complex, str, bytes, Fraction, Decimal, np.dtype),
    )
)
_named = by_identity(part_of)
_SEVERAL = frozenset(map(id, (tuple, list, set, frozenset)))
_FACTS = ("n_features", "row_norm", "raw_norm_bound", "relation", "n", "rows_per_unit", "n_margins")
_MOST_PARTS = 10_000


class TrustedParts:
    """The parts that the sessions of a run let act on exact answers."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._problem: Problem | None = None
        self._foreign: set[str] = set()
        self._not_private: set[str] = set()
        self._limits: dict[str, int] = {}

    def _name(self, part: Any) -> None:
        # A class has the name that it was first found by. Functions come and go.
        name = (
            part_of(part) if is_function(part) else _named(part if is_class(part) else type(part))
        )
        self._names.add(name)
        if not is_ours(name.partition(":")[0]):
            self._foreign.add(name)

    def beside(self, problem: Problem | None, parts: Iterable[Any] = ()) -> TrustedParts:
        """Return the same record of parts, for questions that are held to other public facts.

        Parameters
        ----------
        problem : the public facts of the run. A query's own must not differ in what a sensitivity
            rests on: bounds of the rows, their width and public number, the classes of their
            labels, the relation. They are copied here, so that nobody else holds what queries are
            held to. ``None``: not checked.
        parts : those of a session itself.

        Raises InvalidInputError for a part of dpcore's that was altered.
        """
        # The sets of names and the limits are these; ``copyreg`` may have another copy made.
        vars(other := TrustedParts()).update(vars(self))
        other._problem = None if problem is None else replace(problem)
        for part in parts:
            require_untouched(part)
            other._name(part)
        return other

    @property
    def foreign(self) -> tuple[str, ...]:
        return tuple(sorted(self._foreign))

    @property
    def not_private(self) -> tuple[str, ...]:
        """``module:Class`` of every part noted whose class states ``private = False``, sorted."""
        return tuple(sorted(self._not_private))

    @property
    def names(self) -> tuple[str, ...]:
        """``module:Class`` of every part, sorted."""
        return tuple(sorted(self._names))

    @property
    def most_rows(self) -> int | None:
        return self._limits.get("most_rows")

    @property
    def rows_that_fit(self) -> int | None:
        return self._limits.get("rows_that_fit")

    def check(self, *wholes: Any) -> list[Any]:
        """Return these and all that they hold, for ``note``. They are named from now on: a
        dry run, too, hands them objects that others of the run use.

        Raises InvalidInputError for a part of dpcore's that was altered, a dataclass that is not
        frozen, public facts other than the run's, a ``most_rows`` or ``rows_that_fit`` that is no
        number of rows, or more parts than can be looked at.
        """
        given = [whole for whole in wholes if whole is not None]
        parts = [part for whole in given for part in parts_within(whole)]
        for part in parts:
            require_untouched(part)
            require_sealed(part)
            if fault := fault_of_unfrozen(type(part)):
                raise InvalidInputError(f"{part_of(part)} {fault}")
            self._require_facts(part)
            for name, most in _limits(part):
                if not (type(most) is int and most > 0):
                    raise InvalidInputError(f"Expected {name}={most!r} to be an int >= 1, or None.")
        for part in parts:
            self._name(part)
        return parts

    def note(self, parts: Iterable[Any], is_compared: bool = False) -> None:
        """Note that these act on exact answers from now on. ``is_compared`` : an answer of theirs
        is taken for a number, as by a test: where it wraps around it moves by more than is stated,
        so that the promise is for tables whose sums do not."""
        for part in parts:
            if getattr(type(part), "private", True) is False:
                self._not_private.add(part_of(part))
            for name, most in _limits(part):
                for known in (name, "most_rows") if is_compared else (name,):
                    self._limits[known] = min(most, self._limits.get(known, most))

    def _require_facts(self, part: Any) -> None:
        stated = getattr(part, "problem", None)
        if stated is not None and type(stated) is not Problem:
            raise InvalidInputError(f"Expected dpcore's own Problem, not {type(stated).__name__}.")
        if self._problem is None or not isinstance(part, Problem):
            return
        for name in _FACTS:
            stated, known = getattr(part, name), getattr(self._problem, name)
            if type(stated) is not type(known) or stated != known:
                raise InvalidInputError(
                    f"A query states {name}={stated!r}, and the run's is {known!r}: its "
                    "sensitivity would be another table's."
                )


def _limits(part: Any) -> list[tuple[str, Any]]:
    """Return the numbers of rows that a part states, for ``dpcore.protocols.Query``."""
    return [
        (name, most)
        for name in ("most_rows", "rows_that_fit")
        if (most := getattr(part, name, None)) is not None
    ]


def parts_within(whole: Any) -> Iterator[Any]:
    """Yield an object and all that it holds, at any depth, but for plain data and arrays of it.

    Of a part that is not of this repository, which answers for itself, only ``loss`` and ``query``
    are looked into.

    Raises InvalidInputError for more than 10,000 of them.
    """
    seen: dict[int, Any] = {}  # The objects too: a number of one that is gone may come again.
    waiting = [whole]
    while waiting:
        part = waiting.pop()
        if (_is_plain(part) and part is not whole) or id(part) in seen:
            continue
        seen[id(part)] = part
        if len(seen) > _MOST_PARTS:
            raise InvalidInputError(
                f"A {type(whole).__name__} holds more than {_MOST_PARTS:,} parts: too many to name."
            )
        if type(part) is MethodType:
            waiting += [part.__self__, part.__func__]
        elif id(type(part)) in _SEVERAL:
            waiting += part
        elif type(part) is dict:
            waiting += [*part, *part.values()]
        else:
            yield part
            waiting += _held(part)


def foreign_callables(*handed: Any) -> tuple[str, ...]:
    """Return the ``"module:Class"`` names, sorted, of what is not from dpcore among the functions
    and objects that a run was handed to call: they see its rows, or a session over them.

    Of a bound method that is the function and what it is bound to; of a partial call the function,
    and what of its arguments can be called. One that says that it is of a module of ours, a lambda
    there too, is named with a ``?`` unless the module has it under its own name (``part_of``).
    """
    found, waiting = set(), [*handed]
    while waiting:
        part = waiting.pop()
        if type(part) is MethodType:
            waiting += [part.__func__, part.__self__]
        elif type(part) is partial:
            waiting += [part.func, *filter(callable, (*part.args, *part.keywords.values()))]
        elif not _is_plain(part):
            found.add(part_of(part))
    return foreign_parts(found)


def _is_plain(part: Any) -> bool:
    return id(type(part)) in _PLAIN or (type(part) is np.ndarray and not part.dtype.hasobject)


def _held(part: Any) -> list[Any]:
    if is_class(part) or is_function(part):
        return []
    if issubclass(type(part), partial):
        return [part.func, part.args, part.keywords]
    if not is_ours(_named(type(part)).partition(":")[0]):
        return [getattr(part, name, None) for name in ("loss", "query", "problem")]
    # Its own class, which an enumeration's members hold, is looked at with it.
    return [
        value
        for _, value in attributes(part)
        if id(type(value)) not in _PLAIN and value is not type(part)
    ]
