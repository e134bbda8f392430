"""The packages that all processes of a fit have in the same version, those of dpcore and plugins
from the same source, since sums depend on them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import metadata

from dpcore.errors import EngineError
from dpcore.plugin.parts import PrivacyStatement
from dpcore_dask.source_digest import plugins_of_others, source_digest

__all__ = ["PACKAGES", "own_versions", "require_versions", "version_of"]

PACKAGES = ("dpcore", "dpcore-dask", "numba", "numpy", "pyarrow")
"""Of every process, beside the plugins."""


def own_versions() -> dict[str, str]:
    """Return the versions in this process: of the packages, and of every plugin, with the digest
    of its source.

    A question is sent by the name of its class, and its sensitivity is stated here: by the class of
    another version a row might count for more. A part whose distribution is no plugin is its
    owner's to keep the same.
    """
    plugins = PrivacyStatement.DISTRIBUTIONS.keys() | plugins_of_others().keys()
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
        may_be_missing = name not in PACKAGES and name not in PrivacyStatement.DISTRIBUTIONS
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
            found[name] = version_of(name)
    return found


@functools.cache
def version_of(name: str) -> str:
    """Return the version of a distribution in this process, and of code of dpcore or of a plugin
    the digest of its source: an edited checkout has the version of before. Asked for every
    partition, it is what it was at first, as the code is that is loaded.

    Raises PackageNotFoundError where it is not installed.
    """
    version, digest = metadata.version(name), source_digest(name)
    return f"{version} (source {digest})" if digest else version
