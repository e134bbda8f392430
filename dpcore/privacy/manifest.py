"""The manifest: the distributions of this repository, with a SHA-256 of each of their files.

It is written into the core's wheel when that is built (``hatch_build.py`` imports this file), and
read from there. A checkout has none: it has the files themselves.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

__all__ = ["FILE", "UNKNOWN", "digests", "folders", "is_checkout", "manifest_of", "read"]

FILE = "manifest.json"
UNKNOWN = "unknown"
"""The version of a core without a manifest, which is no checkout either."""
_NAMED = {".py", ".pyi", ".toml", ".typed"}
"""Suffixes of the files of a package that have a digest."""
_CODE = {".py", ".pyc", ".pyd", ".so", ".dll", ".dylib"}
"""Suffixes of files that Python imports: an unknown file of these makes a package another one."""


def folders(root: Path) -> dict[str, Path]:
    """Return the package's folder of each distribution of a checkout: ``dpcore-NAME`` installs
    ``dpcore_NAME``."""
    found = {"dpcore": root / "dpcore"}
    for project in sorted((root / "plugins").glob("*/pyproject.toml")):
        package = f"dpcore_{project.parent.name.replace('-', '_')}"
        found[package.replace("_", "-")] = project.parent / package
    return found


def is_checkout(package: Path) -> bool:
    """Return whether the core runs from its repository, and has no manifest."""
    return not (package / FILE).exists() and (package.parent / "plugins").is_dir()


def digests(package: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a package, by its path within; of code that no source of
    ours is, too."""
    found = {}
    for path in sorted(package.rglob("*")):
        if path.suffix in _NAMED | _CODE and "__pycache__" not in path.parts:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            found[path.relative_to(package).as_posix()] = digest
    return found


def manifest_of(root: Path) -> dict[str, dict[str, Any]]:
    """Return the manifest of a checkout: by distribution its version, and its files' digests."""
    import tomllib  # of a build, and of a version that is to be named

    found = {}
    for name, package in folders(root).items():
        project = package.parent / "pyproject.toml"
        version = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"]
        found[name] = {"version": version, "files": digests(package)}
    return found


def read(package: Path) -> dict[str, dict[str, Any]]:
    """Return the manifest that was installed with the core; that of a core alone where none was."""
    try:
        text = (package / FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return {"dpcore": {"version": UNKNOWN, "files": digests(package)}}
    return dict(json.loads(text))
