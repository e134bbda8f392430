"""What runs inside the trust boundary: queries, mechanisms, and all that they hold."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError
from dpcore.problem import Problem
from dpcore.statement import part_of

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["TrustedParts", "parts_within"]

_BASE = {"numpy", "scipy", "numba", *sys.stdlib_module_names}
"""Whose objects are not named: what everything here is built on."""
_FUNCTIONS = (FunctionType, BuiltinFunctionType, type)
_FACTS = ("n_features", "row_norm", "raw_norm_bound", "relation", "n")


class TrustedParts:
    """The parts that a session let act on exact answers.

    Parameters
    ----------
    parts : those of the session itself.
    problem : the public facts of the run. A query's own must not differ in what a sensitivity rests
        on: bounds of the rows, their width and public number, the relation. ``None``: not checked.
    """

    def __init__(self, parts: Iterable[Any], problem: Problem | None) -> None:
        self._names: set[str] = set()
        self._problem = problem
        self._most_rows: int | None = None
        self._names.update(part_of(part) for part in parts)

    @property
    def names(self) -> tuple[str, ...]:
        """``module:Class`` of every part, sorted."""
        return tuple(sorted(self._names))

    @property
    def most_rows(self) -> int | None:
        return self._most_rows

    def check(self, *wholes: Any) -> list[Any]:
        """Return these and all that they hold, for ``note``.

        Raises InvalidInputError for public facts other than the run's.
        """
        parts = [part for whole in wholes for part in parts_within(whole)]
        for part in parts:
            self._require_facts(part)
        return parts

    def note(self, parts: Iterable[Any]) -> None:
        """Note that these act on exact answers from now on."""
        for part in parts:
            self._names.add(part_of(part))
            if (most := getattr(part, "most_rows", None)) is not None:
                self._most_rows = min(int(most), self._most_rows or int(most))

    def _require_facts(self, part: Any) -> None:
        if self._problem is None or not isinstance(part, Problem):
            return
        for name in _FACTS:
            stated, known = getattr(part, name), getattr(self._problem, name)
            if stated != known:
                raise InvalidInputError(
                    f"A query states {name}={stated!r}, and the run's is {known!r}: its "
                    "sensitivity would be another table's."
                )


def parts_within(whole: Any) -> Iterator[Any]:
    """Yield an object and all that it holds, at any depth, but for numbers, text, arrays and other
    objects of the standard library, NumPy, SciPy and numba.

    Of a part that is not from this project, which answers for itself, only ``loss`` and ``query``
    are looked into.
    """
    seen: set[int] = set()
    waiting = [whole]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, partial):
            waiting += [part.func, part.args, part.keywords]
        elif isinstance(part, MethodType):
            waiting += [part.__self__, part.__func__]
        elif type(part) in (tuple, list, set, frozenset):
            waiting += part
        elif type(part) is dict:
            waiting += [*part, *part.values()]
        elif _root(part) not in _BASE:
            yield part
            waiting += _held(part)


def _root(part: Any) -> str:
    module = part.__module__ if isinstance(part, _FUNCTIONS) else type(part).__module__
    return str(module).split(".")[0]


def _held(part: Any) -> list[Any]:
    if isinstance(part, _FUNCTIONS):
        return []
    if not _root(part).startswith("dpcore"):
        return [getattr(part, "loss", None), getattr(part, "query", None)]
    slots = [
        name
        for cls in type(part).__mro__
        for name in (cls.__dict__.get("__slots__") or ())
        if hasattr(part, name)
    ]
    return [*getattr(part, "__dict__", {}).values(), *(getattr(part, name) for name in slots)]
