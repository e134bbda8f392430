"""Pages of names, each imported from its place when it is asked for.

A page is a module beside a stub file (``.pyi``), which says where each name is; type checkers and
editors read the same file.
"""

import ast
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpcore.errors import NOT_HERE, near_names
from dpcore.moved import object_at, place_of_name

__all__ = ["lazy_exports"]


def lazy_exports(module: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a module whose names are in the stub beside it."""
    places = functools.cache(lambda: _places(Path(file).with_suffix(".pyi")))

    def named(name: str) -> Any:
        if name == "__all__":
            return sorted(places())
        if NOT_HERE:
            raise ImportError(NOT_HERE)
        place = places().get(name) or place_of_name(module, name)
        if place is None:
            raise AttributeError(
                f"module {module!r} has no attribute {name!r}.{near_names(name, places())}"
            )
        return object_at(place, name)

    return named, lambda: sorted({*vars(sys.modules[module]), *places()})


def _places(stub: Path) -> dict[str, str]:
    """Return the module of each name that a stub imports."""
    return {
        alias.name: str(node.module)
        for node in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
