"""The packages that all processes of a fit have in the same version, since sums depend on them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata

from dpcore.plugin.engines import EngineError

__all__ = ["PACKAGES", "own_versions", "require_versions"]

PACKAGES = ("dpcore", "dpcore-dask", "numba", "numpy", "pyarrow")


def own_versions() -> dict[str, str]:
    """Return the versions in this process."""
    return {name: metadata.version(name) for name in PACKAGES}


def require_versions(
    asked: Mapping[str, str], found: Mapping[str, str] | None = None, where: str = "A worker"
) -> None:
    """Raise EngineError unless the versions found, this process's by default, are those asked."""
    found = own_versions() if found is None else found
    for name, version in asked.items():
        if found.get(name) != version:
            raise EngineError(
                f"{where} has {name} {found.get(name, 'not installed')}, and this process "
                f"{version}: install the same on both."
            )
