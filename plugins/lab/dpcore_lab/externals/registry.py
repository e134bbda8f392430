"""The registry of external algorithms: their hook, and the facts that they state."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata

import pluggy

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation

__all__ = [
    "CLASSES",
    "GROUP",
    "NOT_OURS",
    "NUMBER",
    "External",
    "Externals",
    "hookimpl",
    "load_externals",
]

GROUP = "dpcore.externals"
_PROJECT = "dpcore_lab"
CLASSES, NUMBER = "classes", "number"
NOT_OURS = "not ours, guarantee not checked"
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_USUAL = NeighboringRelation.ADD_OR_REMOVE_ONE.value

hookspec = pluggy.HookspecMarker(_PROJECT)
hookimpl = pluggy.HookimplMarker(_PROJECT)
"""Marks a plugin's ``register_externals``."""


@dataclass(frozen=True)
class External:
    """An executable that fits and predicts in a process of its own.

    Parameters
    ----------
    name : in kebab case, no optimizer's.
    command : the executable and its first arguments; the folder of the exchange is the last.
    summary, reference : a line each.
    tasks : ``"classes"``, two of them, and ``"number"``, as far as it fits them.
    relation : the neighbouring relation under which it states its guarantee, whatever is asked.
    pure : whether it makes no use of delta.
    bounds_from_data : whether it takes bounds or categories from the rows.
    remedy : what to do where the executable is not there.
    distribution : which registered it.

    Raises InvalidInputError for facts of another form.

    Examples
    --------
    >>> from dpcore_lab.externals import External
    >>> External("mean-only", ("/opt/mean/fit",), "The mean label.", pure=True).marks
    ('not ours, guarantee not checked', 'pure')
    """

    name: str
    command: tuple[str, ...]
    summary: str
    reference: str = ""
    tasks: tuple[str, ...] = (CLASSES, NUMBER)
    relation: str = _USUAL
    pure: bool = False
    bounds_from_data: bool = False
    remedy: str = ""
    distribution: str = "unknown"

    def __post_init__(self) -> None:
        words = isinstance(self.command, tuple) and all(isinstance(w, str) for w in self.command)
        if not (isinstance(self.name, str) and _NAME.fullmatch(self.name)):
            raise InvalidInputError(f"Expected the external {self.name!r} in kebab case.")
        if not words or not self.command:
            raise InvalidInputError(f"Expected the command of {self.name} as a tuple of texts.")
        if not self.tasks or not {*self.tasks} <= {CLASSES, NUMBER}:
            raise InvalidInputError(f"Expected tasks of {self.name} among {CLASSES}, {NUMBER}.")
        if self.relation not in [relation.value for relation in NeighboringRelation]:
            raise InvalidInputError(f"Expected the relation of {self.name} by its name.")

    @property
    def marks(self) -> tuple[str, ...]:
        """The words that stand beside its name wherever its metrics are."""
        told = (
            (self.pure, "pure"),
            (self.relation != _USUAL, self.relation),
            (self.bounds_from_data, "bounds from the data"),
        )
        return NOT_OURS, *(mark for holds, mark in told if holds)


class _Hooks:
    @hookspec
    def register_externals(self, register: Callable[..., None]) -> None:
        """Register external algorithms: ``register(name, command, summary=..., ...)``, by the names
        of ``External``."""


@dataclass(frozen=True)
class Externals:
    """The external algorithms that are registered, by name, and why others are not."""

    found: dict[str, External]
    failures: tuple[str, ...] = ()

    def get(self, name: str) -> External:
        """Return an external by its name; InvalidInputError if there is none."""
        if name not in self.found:
            raise InvalidInputError(f"There is no external algorithm {name!r}.{self.hint()}")
        return self.found[name]

    def hint(self) -> str:
        """Return which plugins failed to register theirs, as sentences."""
        return "".join(f" {failure}" for failure in self.failures)


def load_externals(points: Iterable[metadata.EntryPoint] | None = None) -> Externals:
    """Return what the entry points of the group register, all installed ones by default.

    A plugin that fails is named among the failures, and the others work. A name that two claim
    belongs to neither.
    """
    found: dict[str, External] = {}
    failures: list[str] = []
    taken: set[str] = set()
    if points is None:
        points = metadata.entry_points(group=GROUP)
    for point in sorted(points, key=lambda point: point.name):
        owner = "unknown" if point.dist is None else point.dist.name
        try:
            entries = _entries_of(point, owner)
        except (Exception, SystemExit) as error:
            failures.append(f"{owner} registered no externals: {type(error).__name__}.")
            continue
        for entry in entries:
            if entry.name in found or entry.name in taken:
                other = found.pop(entry.name, entry).distribution
                taken.add(entry.name)
                failures.append(f"{other} and {owner} both register {entry.name!r}.")
            else:
                found[entry.name] = entry
    return Externals(found, tuple(failures))


def _entries_of(point: metadata.EntryPoint, owner: str) -> list[External]:
    entries: list[External] = []

    def register(name: str, command: Iterable[str], *, summary: str, **facts: object) -> None:
        words = tuple(command)
        entries.append(External(name, words, summary, **facts, distribution=owner))  # type: ignore[arg-type]

    manager = pluggy.PluginManager(_PROJECT)
    manager.add_hookspecs(_Hooks)
    manager.register(point.load(), point.name)
    manager.check_pending()
    manager.hook.register_externals(register=register)
    return entries
