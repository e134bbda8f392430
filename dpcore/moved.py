"""Modules that moved to packages of their own: an import of the old name finds the new one.

The table is ``moved.toml``. A name is good for one version more, with a warning.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

__all__ = [
    "find_moved",
    "new_name",
    "new_name_of_fact",
    "owner_of_option",
    "place_of_name",
    "successor_of_hook",
    "where_to_get",
]


def find_moved() -> None:
    """Have imports of a module of the core that is not there look in the table."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())


@cache
def _table(kind: str) -> dict[str, str]:
    import tomllib
    from pathlib import Path

    text = Path(__file__).with_suffix(".toml").read_text("utf-8")
    table: dict[str, str] = tomllib.loads(text)[kind]
    return table


def where_to_get(kind: str, name: str) -> str:
    """Return which distribution of this repository registers a name, or an ``option`` such as
    ``--evaluate-share``, as a sentence; empty if none does."""
    owner = _table("parts").get(f"{kind} {name}")
    return f"It is in {owner}: pip install {owner}." if owner else ""


def owner_of_option(name: str) -> str | None:
    """Return which distribution of this repository has the algorithms that take an option, where
    one alone has; ``None`` of other options."""
    return _table("options").get(name)


def successor_of_hook(name: str) -> str:
    """Return what a hook that is gone has in its place, as a sentence; empty for any other name."""
    told = _table("hooks").get(name)
    return f" {told}" if told else ""


def new_name_of_fact(name: str) -> str | None:
    """Return the name that a fact of a part's class has now; ``None`` if it kept its own."""
    return _table("facts").get(name)


def place_of_name(page: str, name: str) -> str | None:
    """Return the module of a package that has a name of a page: with a warning where the page gives
    it out for this version alone. ``None`` of others.

    Raises ModuleNotFoundError where its package is not installed.
    """
    whole = f"{page}.{name}"
    stays = whole in _table("pages")
    place = _table("pages").get(whole) or _table("names").get(whole)
    if place is not None:
        from importlib.util import find_spec

        told, package = f"{whole} is in {place}{'' if stays else ' now'}", place.partition(".")[0]
        if find_spec(package) is None:
            raise ModuleNotFoundError(_missing(told, package), name=package)
        if not stays:
            _warn(told, 4)
    return place


def _missing(told: str, package: str) -> str:
    return f"{told}: pip install {package.replace('_', '-')}"


def _warn(told: str, level: int) -> None:
    import warnings

    warnings.warn(
        f"{told}; the old name is good until the next version.", FutureWarning, stacklevel=level
    )


def new_name(old: str) -> str | None:
    """Return the new name of a module, ``None`` if it did not move."""
    package, inside = old, ""
    while package:
        if package in _table("modules"):
            return _table("modules")[package] + inside
        package, dot, last = package.rpartition(".")
        inside = f"{dot}{last}{inside}"
    return None


def _new_name_within(name: str) -> str | None:
    """Return the new name of a module that is asked for within the new name of its package, as
    ``from package import module`` does; ``None`` of others."""
    parent, _, last = name.rpartition(".")
    modules = _table("modules")
    olds = (f"{old}.{last}" for old, new in modules.items() if new == parent)
    return next((modules[old] for old in olds if old in modules), None)


class _Finder:
    """Finds modules under their old names. It is asked last until it found one, and then first too:
    a package's folder has its other modules too, which would be loaded a second time."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        """Return where a module is, as importlib asks it; ``None`` of what did not move."""
        if not name.startswith(("dpcore.", "dpcore_")):
            return None
        new = new_name(name) if name.startswith("dpcore.") else _new_name_within(name)
        if new is None:
            return None
        from importlib.machinery import ModuleSpec

        loader: Any = _Loader(new)
        if sys.meta_path[0] is not self:
            # It stays last too: another thread that asks each in turn would miss one.
            sys.meta_path.insert(0, self)
        return ModuleSpec(name, loader)


class _Loader:
    """Loads a module by its new name, and gives it out as it is."""

    def __init__(self, new: str) -> None:
        self._new = new
        self._spec: Any = None

    def create_module(self, spec: Any) -> Any:
        """Return the module of the new name, with a warning.

        Raises ModuleNotFoundError where its package is not installed.
        """
        from importlib import import_module

        package = self._new.partition(".")[0]
        told = f"{spec.name} is {self._new} now"
        missing = None
        try:
            module = import_module(self._new)
        except ModuleNotFoundError as error:
            if error.name != package:
                raise
            missing = _missing(told, package)
        if missing is not None:
            raise ModuleNotFoundError(missing, name=spec.name)
        _warn(told, 3)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: Any) -> None:
        """Put back the module's own spec, in whose place importlib had that of the old name."""
        module.__spec__ = self._spec
