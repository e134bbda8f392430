"""Modules that moved to packages of their own: an import of the old name finds the new one.

The table is ``moved.toml``. A name is good for one version more, with a warning.
"""

import importlib.util
import sys
from functools import cache
from typing import Any

__all__ = [
    "INSTALL",
    "find_moved",
    "moved_name",
    "new_name",
    "object_at",
    "place_of_name",
    "renamed_method",
    "table_of",
    "where_to_get",
]


# How a package of this repository is installed: none is on a public index.
INSTALL = "pip install . plugins/* in a checkout of dpcore, or its wheel"


def find_moved() -> None:
    """Have imports of a module of the core that is not there look in the table."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())


@cache
def table_of(kind: str) -> dict[str, str]:
    """Return a table of ``moved.toml``."""
    import tomllib
    from pathlib import Path

    return dict(tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))[kind])


def where_to_get(kind: str, name: str) -> str:
    """Return a sentence that says which distribution of this repository registers a name, or an
    ``option`` such as ``--evaluate-share``. It is empty if none does, and for an option whose
    distribution is installed: another command has it."""
    owner = table_of("parts").get(f"{kind} {name}")
    if owner and kind == "option" and importlib.util.find_spec(owner.replace("-", "_")):
        return ""
    return f"It is in {owner}: {INSTALL}." if owner else ""


def place_of_name(page: str, name: str) -> str | None:
    """Return the module of a package that has a name of a page, or ``"module:Class.attribute"``:
    with a warning where the page gives it out for this version alone. ``None`` of others.

    Raises ModuleNotFoundError where its package is not installed.
    """
    whole = f"{page}.{name}"
    if (place := table_of("pages").get(whole)) is not None:
        _require(f"{whole} is in {place}", place)
    elif (place := table_of("names").get(whole)) is not None:
        where = place.replace(":", ".") if ":" in place else f"in {place}"
        _require(told := f"{whole} is {where} now", place)
        _warn(told, 4)
    return place


def moved_name(module: str, name: str) -> Any:
    """Return what a module had under a name, and a package has now, with a warning: for the
    ``__getattr__`` of the module, by which pickles of before find it."""
    if (place := place_of_name(module, name)) is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return object_at(place, name)


def renamed_method(old: str, new: str) -> Any:
    """Return a method of an old name, which calls that of the new one, with a warning."""

    def called(self: Any, *given: Any, **named: Any) -> Any:
        _warn(f"{old} is {new} now", 3)
        return getattr(self, new)(*given, **named)

    return called


def object_at(place: str, name: str) -> Any:
    """Return what ``place_of_name`` says where it is."""
    from pkgutil import resolve_name

    return resolve_name(place if ":" in place else f"{place}:{name}")


def _require(told: str, place: str) -> None:
    """Raise ModuleNotFoundError, with what to install, where a module's package is not there."""
    package = place.partition(":")[0].partition(".")[0]
    if importlib.util.find_spec(package) is None:
        raise ModuleNotFoundError(
            f"{told}, of {package.replace('_', '-')}: {INSTALL}", name=package
        )


def _warn(told: str, level: int) -> None:
    import warnings

    warnings.warn(
        f"{told}; the old name is good until the next version.", FutureWarning, stacklevel=level
    )


def new_name(old: str) -> str | None:
    """Return the new name of a module, ``None`` if it did not move."""
    modules, inside = table_of("modules"), ""
    while old and old not in modules:
        old, dot, last = old.rpartition(".")
        inside = f"{dot}{last}{inside}"
    return modules[old] + inside if old else None


def _new_name_within(name: str) -> str | None:
    """Return the new name of a module that is asked for within the new name of its package, as
    ``from package import module`` does; ``None`` of others."""
    parent, _, last = name.rpartition(".")
    modules = table_of("modules")
    olds = (f"{old}.{last}" for old, new in modules.items() if new == parent)
    return next((modules[old] for old in olds if old in modules), None)


class _Finder:
    """Finds modules under their old names. It is asked last until it found one, and then first too:
    a package's folder has its other modules too, which would be loaded a second time."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        """Return where a module is, as importlib asks it; ``None`` of what did not move."""
        if not name.startswith(("dpcore.", "dpcore_")):
            return None
        new = new_name(name) or (None if name[:7] == "dpcore." else _new_name_within(name))
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

        told = f"{spec.name} is {self._new} now"
        _require(told, self._new)
        module = import_module(self._new)
        _warn(told, 3)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: Any) -> None:
        """Put back the module's own spec, in whose place importlib had that of the old name."""
        module.__spec__ = self._spec
