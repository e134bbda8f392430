"""The versions of what a run was made with."""

import functools
import platform
from importlib import metadata

__all__ = ["running_versions"]


def running_versions(*distributions: str) -> dict[str, str]:
    """Return the versions of Python, dpcore, numba, numpy and the distributions named."""
    versions = {"python": platform.python_version()}
    for name in ("dpcore", "numba", "numpy", *distributions):
        try:
            versions[name] = _version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "unknown"
    return versions


_version = functools.cache(metadata.version)
"""The version of the code that is loaded stays; a name that is not installed is asked again."""
