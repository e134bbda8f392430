"""Digests of the source that a distribution of dpcore, or of a plugin, is imported from."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from dpcore.plugin.parts import PrivacyStatement

__all__ = ["plugins_of_others", "source_digest"]

_GROUP = "dpcore"
_LETTERS = 16


def plugins_of_others() -> dict[str, set[str]]:
    """Return the packages, or modules, of each distribution with an entry point for dpcore that is
    none of this repository."""
    found: dict[str, set[str]] = {}
    for point in metadata.entry_points(group=_GROUP):
        if point.dist and point.dist.name and point.dist.name not in PrivacyStatement.DISTRIBUTIONS:
            found.setdefault(point.dist.name, set()).add(point.module.partition(".")[0])
    return found


@functools.cache
def source_digest(distribution: str) -> str:
    """Return the start of a SHA-256 of the names and contents of a distribution's Python files, as
    they are at the first call. It is of a distribution of this repository or of a plugin; empty for
    another, and for files within an archive.

    Nothing is imported. What is compiled, as for a processor, is not looked at.
    """
    own = PrivacyStatement.DISTRIBUTIONS.get(distribution)
    packages = {own} if own else plugins_of_others().get(distribution, set())
    whole, n_files = hashlib.sha256(), 0
    for name, path in (found for package in sorted(packages) for found in _files(package)):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        whole.update(f"{name}\0{content}\0".encode())
        n_files += 1
    return whole.hexdigest()[:_LETTERS] if n_files else ""


def _files(package: str) -> Iterator[tuple[str, Path]]:
    """Yield name and place of each Python file of a package, or of a module."""
    spec = find_spec(package)
    if spec is None:
        return
    for folder in map(Path, spec.submodule_search_locations or ()):
        for path in sorted(folder.rglob("*.py")):
            yield path.relative_to(folder.parent).as_posix(), path
    if spec.submodule_search_locations is None and spec.origin and Path(spec.origin).is_file():
        yield f"{package}.py", Path(spec.origin)
