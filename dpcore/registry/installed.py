"""Entry points of the installed distributions, read once for the registries of all kinds."""

import functools
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Any
from weakref import WeakKeyDictionary

from dpcore.registry.kinds import KINDS, plural

__all__ = [
    "GROUP",
    "distribution_of",
    "group_of",
    "installed_points",
    "plugin_of",
    "stated_kinds",
]

GROUP = "dpcore"

_OWNERS: WeakKeyDictionary[metadata.Distribution, tuple[str, str]] = WeakKeyDictionary()


def installed_points() -> metadata.EntryPoints:
    """Return the entry points of all distributions on Python's path in dpcore's groups."""
    points: metadata.EntryPoints = _read_once(metadata.entry_points, tuple(sys.path))
    return points


@functools.lru_cache(maxsize=1)
def _read_once(read: Callable[..., Any], path: tuple[str, ...]) -> Any:
    """Return those of dpcore's groups, kept for the registries of all kinds while the path is the
    same."""
    points = read()
    ours = [group for group in points.groups if group.partition(".")[0] == "dpcore"]
    return metadata.EntryPoints(p for group in ours for p in points.select(group=group))


def distribution_of(point: metadata.EntryPoint) -> tuple[str, str]:
    """Return name and version of a plugin's distribution: a start asks hundreds of times."""
    owner = point.dist
    if owner is None:
        return "unknown", "unknown"
    if owner not in _OWNERS:
        headers = owner.metadata
        _OWNERS[owner] = headers["Name"], headers["Version"]
    return _OWNERS[owner]


def group_of(kind: str) -> str:
    """Return the group of entry points in which a plugin says that it registers a kind."""
    return f"{GROUP}.{plural(kind).replace('-', '_')}"


def stated_kinds() -> dict[tuple[str, ...], list[str]]:
    """Return the kinds of each plugin that says which it registers; others may register any."""
    stated: dict[tuple[str, ...], list[str]] = {}
    for kind in KINDS:
        for point in installed_points().select(group=group_of(kind)):
            stated.setdefault(plugin_of(point), []).append(kind)
    return stated


def plugin_of(point: metadata.EntryPoint) -> tuple[str, ...]:
    """Return what tells a plugin from all others: its distribution, and its name there."""
    return (*distribution_of(point), point.name)
