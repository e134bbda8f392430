"""Entry points of the installed distributions, read once for the registries of all kinds."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["distribution_of", "installed_points"]

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
