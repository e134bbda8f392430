"""The packages that all processes of a fit have in the same version, since sums depend on them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import metadata

from dpcore.plugin.engines import DISTRIBUTIONS, EngineError

__all__ = ["PACKAGES", "own_versions", "require_versions"]

PACKAGES = ("dpcore", "dpcore-dask", "numba", "numpy", "pyarrow")
"""Of every process, beside the plugins."""


def own_versions() -> dict[str, str]:
    """Return the versions in this process: of the packages, and of every plugin.

    A question is sent by the name of its class, and its sensitivity is stated here: by the class of
    another version a row might count for more. A part whose distribution is no plugin is its
    owner's to keep the same.
    """
    offered = metadata.entry_points(group="dpcore")
    plugins = {plugin.dist.name for plugin in offered if plugin.dist and plugin.dist.name}
    return _versions_of((*PACKAGES, *sorted(plugins.difference(PACKAGES))))


def require_versions(
    asked: Mapping[str, str], found: Mapping[str, str] | None = None, where: str = "A worker"
) -> None:
    """Raise EngineError unless the versions found, this process's by default, are those asked.

    A plugin of others may be missing: what it has cannot be asked there, and is named as not ours.
    One of this repository's may not: the statement takes its parts for ours, and found by way of a
    path, without an installation, they would have no version.
    """
    found = _versions_of(asked) if found is None else found
    for name, version in asked.items():
        may_be_missing = name not in PACKAGES and name not in DISTRIBUTIONS
        if found.get(name) != version and not (may_be_missing and name not in found):
            raise EngineError(
                f"{where} has {name} {found.get(name, 'not installed')}, and this process "
                f"{version}: install the same on both."
            )


def _versions_of(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of those of these distributions that are installed."""
    found = {}
    for name in names:
        with suppress(metadata.PackageNotFoundError):
            found[name] = _version(name)
    return found


_version = functools.cache(metadata.version)
"""Asked for every partition; the version of the code that is loaded stays."""
