"""The registry of plugins: what the installed distributions offer, by kind and name.

Registration is light: a plugin hands over names and ``"module:Attribute"`` strings, and a target is
imported when it is used. A plugin that cannot be loaded is recorded and the others work.
"""

import functools
import importlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import metadata
from typing import Any

import pluggy

from dpcore.errors import InvalidInputError, RegistryError, near_names, visible
from dpcore.moved import table_of, where_to_get
from dpcore.privacy.first_party import DISTRIBUTIONS
from dpcore.registry import hookspecs
from dpcore.registry.commands import fault_of_command
from dpcore.registry.entries import Failure, Registration, claimed_twice, clash_failure, one_line
from dpcore.registry.installed import (
    GROUP,
    distribution_of,
    installed_points,
    plugin_of,
    stated_kinds,
)
from dpcore.registry.kinds import KINDS, checked_data, hook_of, plural

__all__ = [
    "GROUP",
    "KINDS",
    "Registration",
    "Failure",
    "Registry",
    "core_registry",
    "load_registry",
    "plural",
]

_TRACE = "DPCORE_TRACE_PLUGINS"
_BUILTINS = "dpcore.registry.builtins"
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_TARGET = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


class Registry:
    """All that was registered, by kind and name.

    A name that two registrations claim belongs to neither: using it is an error that names both
    distributions, and it is listed among the failures.
    """

    def __init__(self, entries: Iterable[Registration], failures: Iterable[Failure] = ()) -> None:
        claims: dict[tuple[str, str], list[Registration]] = {}
        for entry in entries:
            claims.setdefault((entry.kind, entry.name), []).append(entry)
        self._entries = {key: claim[0] for key, claim in claims.items() if len(claim) == 1}
        self._taken = {key: claim for key, claim in claims.items() if len(claim) > 1}
        self._alone = claimed_twice(self._entries.values())
        self._sound: dict[Registration, Any] = {}
        self._failed = tuple(failures)
        clashes = map(clash_failure, self._taken.values())
        self.failures = (*self._failed, *clashes, *self._alone.values())

    def entries(self, kind: str) -> tuple[Registration, ...]:
        """Return the usable entries of one kind, sorted by name."""
        return tuple(self._entries[key] for key in sorted(self._entries) if key[0] == kind)

    def in_order(self, kind: str) -> tuple[Registration, ...]:
        """Return the usable entries of one kind in the order in which they were registered."""
        return tuple(entry for key, entry in self._entries.items() if key[0] == kind)

    def names(self, kind: str) -> tuple[str, ...]:
        return tuple(entry.name for entry in self.entries(kind))

    def claimant(self, kind: str, key: str, value: str) -> Registration | None:
        """Return the entry of a kind whose data have a value under a key, such as a suffix, or
        ``None``; RegistryError where two have it."""
        if (kind, key, value) in self._alone:
            raise RegistryError(self._alone[kind, key, value].reason)
        return next((e for e in self.entries(kind) if value in e.data[key]), None)

    def find(self, name: str) -> tuple[Registration, ...]:
        """Return the entries of every kind under one name; RegistryError if there is none."""
        for kind in KINDS:
            self._refuse_taken(kind, name)
        found = tuple(self._entries[kind, name] for kind in KINDS if (kind, name) in self._entries)
        if not found:
            self._refuse_failed(name)
            known = [key[1] for key in sorted(self._entries)]
            hint = f"{self.failed_hint()}{near_names(name, known, 'dpcore list')}"
            where = next(filter(None, (where_to_get(kind, name) for kind in KINDS)), "")
            hint = f" {where}" if where else hint
            raise RegistryError(f"Nothing is registered as {name!r}.{hint}")
        return found

    def get(self, kind: str, name: str) -> Registration:
        """Return the entry of a kind; RegistryError, with near names, if none."""
        self._refuse_taken(kind, name)
        try:
            return self._entries[kind, name]
        except KeyError:
            self._refuse_failed(name)
            near = near_names(name, self.names(kind), f"dpcore list {plural(kind)}")
            where = where_to_get(kind, name)
            hint = f" {where}" if where else near
            raise RegistryError(f"There is no {kind} {name!r}.{self.failed_hint()}{hint}") from None

    def load(self, kind: str, name: str) -> Any:
        """Return the registered object, importing it now.

        Raises RegistryError if that fails, or, naming what is missing or wrong, if it is not what
        its kind must be (``dpcore.registry.tables.optimizer_spec``).
        """
        entry = self.get(kind, name)
        whose = f"The {kind} {name!r} of {entry.distribution} {entry.version} cannot be"
        module, _, attribute = entry.target.partition(":")
        try:
            target = getattr(importlib.import_module(module), attribute)
            if self._sound.get(entry) is target:  # It was looked at before.
                return target
            fault = self.fault_of(kind, target)
        except (Exception, SystemExit) as error:
            raise RegistryError(f"{whose} loaded from {entry.target}: {one_line(error)}") from error
        if fault:
            raise RegistryError(f"{whose} used: {entry.target} {fault}")
        self._sound[entry] = target
        return target

    def _refuse_taken(self, kind: str, name: str) -> None:
        if (kind, name) in self._taken:
            raise RegistryError(clash_failure(self._taken[kind, name]).reason)

    def _refuse_failed(self, name: str) -> None:
        for failure in self.failures:
            if failure.name == name:
                raise RegistryError(
                    f"The plugin {name!r} of {failure.owners} failed to load: {failure.reason}"
                )

    @staticmethod
    def fault_of(kind: str, target: Any) -> str:
        """Return why a target cannot be of its kind, as the end of a sentence; empty if it can."""
        if kind == "command":  # The start of the command line waits for no table of parts.
            return fault_of_command(target)
        from dpcore.registry.tables.optimizer_spec import fault_of_part

        return fault_of_part(kind, target)

    @staticmethod
    def facts_of(kind: str, part: Any) -> Any:
        """Return the facts that a part of a kind, or its class, states, each an attribute with a
        default where it states nothing (``dpcore.registry.tables``)."""
        from dpcore.registry.tables.class_metadata import read
        from dpcore.registry.tables.optimizer_spec import TABLES

        return read(TABLES[kind], part)

    def failed_hint(self) -> str:
        """Return which plugins failed to load, and why: any of them may offer an unknown name."""
        return "".join(
            f" {failed.owners} failed to load: {failed.reason.removesuffix('.')}."
            for failed in self._failed
        )

    @staticmethod
    def of(points: Iterable[metadata.EntryPoint]) -> "Registry":
        """Return the registry of the given entry points, in the order of their names."""
        entries: list[Registration] = []
        failures: list[Failure] = []
        manager = _manager()
        for point in sorted(points, key=lambda p: (p.name, distribution_of(p))):
            try:
                found = _entries_of(point, manager)
            except (Exception, SystemExit) as error:
                manager = _manager()  # without what a part of the plugin left there
                failures.append(Failure(point.name, *distribution_of(point), one_line(error)))
                _trace(point, f"failed: {failures[-1].reason}")
            else:
                entries.extend(found)
                for entry in found:
                    _trace(point, f"{hook_of(entry.kind)}: {entry.name} = {entry.target}")
        return Registry(entries, failures)

    @staticmethod
    def in_turn(kind: str) -> "Iterator[Registry]":
        """Yield the core's registry, that of packages of ours which say that they register the
        kind, and that of all plugins: each is imported if it is come to."""
        yield core_registry()
        yield _own_registry(kind)
        yield load_registry(kind)

    @staticmethod
    def has(kind: str, name: str) -> bool:
        """Return whether a name of a kind is there; plugins are imported where it may be theirs."""
        return _NAME.fullmatch(name) is not None and any(
            name in registry.names(kind) for registry in Registry.in_turn(kind)
        )


@functools.cache
def load_registry(kind: str | None = None) -> Registry:
    """Return the registry of the running process, read once.

    ``kind`` : what will be asked of it; no plugin is imported that says that it registers others
    alone, by an entry point in the group of theirs, such as ``dpcore.optimizers``.

    Examples
    --------
    >>> from dpcore.plugin.parts import load_registry
    >>> load_registry().names("accountant")[:3]
    ('advanced-composition', 'basic', 'best')
    """
    points = installed_points().select(group=GROUP)
    stated = stated_kinds() if kind else {}
    return Registry.of(p for p in points if kind in stated.get(plugin_of(p), (kind,)))


@functools.cache
def core_registry() -> Registry:
    """Return the registry of the core's own parts, for which the module of no plugin is imported.

    That a plugin claims one of their names is seen by ``load_registry`` alone.
    """
    try:
        points = metadata.distribution("dpcore").entry_points.select(group=GROUP)
    except metadata.PackageNotFoundError:
        points = metadata.EntryPoints()
    return Registry.of(point for point in points if point.module == _BUILTINS)


@functools.cache
def _own_registry(kind: str) -> Registry:
    stated = stated_kinds()
    points = installed_points().select(group=GROUP)
    ours = (point for point in points if distribution_of(point)[0] in DISTRIBUTIONS)
    return Registry.of(point for point in ours if kind in stated.get(plugin_of(point), ()))


def _trace(point: metadata.EntryPoint, said: str) -> None:
    """Say on standard error what a plugin did, where ``DPCORE_TRACE_PLUGINS`` is set."""
    if os.environ.get(_TRACE):
        whose = " ".join(distribution_of(point))
        print(visible(f"dpcore: {point.name} ({whose}) {said}"), file=sys.stderr)


def _manager() -> pluggy.PluginManager:
    """Return a manager that knows the hooks, and no plugin."""
    manager = pluggy.PluginManager("dpcore")
    manager.add_hookspecs(hookspecs)
    return manager


def _entries_of(point: metadata.EntryPoint, manager: pluggy.PluginManager) -> list[Registration]:
    """Return what one plugin registers: all of it, or an exception. The manager has no other."""
    manager.register(plugin := point.load(), point.name)
    hooks = [hook_of(kind) for kind in KINDS]
    for name in vars(manager.hook):
        if name.startswith("register_") and name not in hooks:
            told = table_of("hooks").get(name)
            hint = near_names(name, hooks) if told is None else f" {told}"
            raise InvalidInputError(f"There is no hook {name!r}.{hint}")
    manager.check_pending()
    entries: list[Registration] = []
    for kind, hook in zip(KINDS, hooks, strict=True):
        getattr(manager.hook, hook)(register=_register_of(entries, kind, point))
    if not entries:
        raise InvalidInputError("It registers nothing: no hook implementation was found.")
    manager.unregister(plugin)
    return entries


def _register_of(
    entries: list[Registration], kind: str, point: metadata.EntryPoint
) -> Callable[..., None]:
    """Return what a hook of a kind is handed. Python's own messages name it as authors know it."""

    def register(
        name: str, target: str, *, summary: str = "", reference: str = "", **others: Any
    ) -> None:
        data = checked_data(kind, name, others)
        if not _NAME.fullmatch(name):
            raise InvalidInputError(f"Expected the name {name!r} in kebab case.")
        if not _TARGET.fullmatch(target):
            raise InvalidInputError(
                f"Expected the target {target!r} as 'package.module:Attribute'."
            )
        if not summary or not summary.isprintable():
            raise InvalidInputError(f"register({name!r}, ...) needs summary=..., one line of text.")
        whose = str.__str__(name), str.__str__(target), summary, reference, *distribution_of(point)
        entries.append(Registration(kind, *whose, data, point.module))

    register.__qualname__ = "register"
    return register
