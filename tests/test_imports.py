"""Imports go downwards, room by room, and no file is imported by what it imports."""

import ast
import functools
import os
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from statements import statements_of

ROOT = Path(__file__).parents[1]
PACKAGES = {"dpcore": ROOT / "dpcore", **{p.name: p for p in ROOT.glob("plugins/*/dpcore_*")}}

MOST_FILES_IN_CIRCLES: dict[str, int] = {}
"""Files that import each other in a circle, by room. It may only become less."""
MOST_UPWARD_IMPORTS: dict[tuple[str, str], int] = {}
"""Imports of a higher room, each counted once a file. It may only become less."""


DESIGN = (ROOT / "docs" / "design.md").read_text()
DRAWING = runpy.run_path(str(ROOT / "docs" / "draw_packages.py"))


def rooms_in_order():
    """Return the rooms, the lowest first, as the page on design lists them."""
    return re.findall(r"\w+", DRAWING["listed"](DESIGN, "Rooms"))


def modules_of(name, folder):
    """Return the files of a package by the full names of their modules."""
    found = {}
    for path in folder.rglob("*.py"):
        parts = path.relative_to(folder).with_suffix("").parts
        found[".".join([name, *(part for part in parts if part != "__init__")])] = path
    return found


def imported(tree, module, is_package):
    """Yield the names that a module imports, wherever in it: in functions and for types too."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in statements_of(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def module_within(name, modules):
    """Return the module that a name is or is in, ``None`` for one of another package."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name or None


@functools.cache
def names_of(package):
    """Return the names that each module of a package imports."""
    return {
        module: [*imported(ast.parse(path.read_text()), module, path.name == "__init__.py")]
        for module, path in modules_of(package, PACKAGES[package]).items()
    }


def graph_of(package):
    """Return the modules of a package that each module of it imports."""
    found = names_of(package)
    return {
        module: {module_within(name, found) for name in names} - {module, None}
        for module, names in found.items()
    }


def in_circles(graph):
    """Return the modules that can be reached from themselves."""

    def reached(start):
        seen, waiting = set(), [start]
        while waiting:
            for each in graph[waiting.pop()] - seen:
                seen.add(each)
                waiting.append(each)
        return seen

    return {module for module in graph if module in reached(module)}


def room_of(module):
    """Return the room of a module of the core; of the package itself ``dpcore``."""
    room = module.split(".")[1] if "." in module else "dpcore"
    return "cli" if room == "__main__" else room


def upward(graph, rooms):
    """Return the imports of a room from a lower one, as pairs of modules."""
    rank = {room: at for at, room in enumerate(rooms)}
    return [
        (module, other)
        for module, others in graph.items()
        for other in sorted(others)
        if rank[room_of(module)] < rank[room_of(other)]
    ]


def counted(names):
    return {name: names.count(name) for name in names}


def more_than(found, most):
    return {name: count for name, count in found.items() if count > most.get(name, 0)}


def test_every_room_has_its_place():
    rooms = {room_of(module) for module in graph_of("dpcore")}
    assert sorted(rooms_in_order()) == sorted(rooms)


def test_no_files_import_each_other_in_a_circle():
    circles = [module for package in PACKAGES for module in sorted(in_circles(graph_of(package)))]
    found = counted([re.match(r"dpcore\.\w+|\w+", module)[0] for module in circles])
    assert more_than(found, MOST_FILES_IN_CIRCLES) == {}, circles


def test_the_core_imports_no_plugin():
    found = {
        (module, name)
        for module, names in names_of("dpcore").items()
        for name in names
        if name.startswith("dpcore_")
    }
    assert found == set()


def edges_between_packages():
    """Return which package imports which other one, the core aside."""
    return {
        (package, name.partition(".")[0])
        for package in PACKAGES
        for names in names_of(package).values()
        for name in names
        if re.match(r"dpcore_\w+", name) and name.partition(".")[0] != package
    }


def test_packages_import_each_other_as_the_page_on_design_says():
    listed = DRAWING["listed"](DESIGN, "Packages")
    edges = edges_between_packages()
    assert edges == {*DRAWING["edges_of"](listed)}
    assert {*re.findall(r"dpcore_\w+", listed)} == {*PACKAGES} - {"dpcore"}
    for package, other in edges:
        project = tomllib.loads((PACKAGES[package].parent / "pyproject.toml").read_text())[
            "project"
        ]
        assert f"{other.replace('_', '-')}>=0.1" in project["dependencies"]


def test_the_picture_has_the_packages_and_the_rooms_of_the_page():
    # `python docs/draw_packages.py` draws it anew.
    assert DRAWING["PICTURE"].read_text("utf-8") == DRAWING["picture"](DESIGN)


def test_no_import_runs_upwards():
    pairs = upward(graph_of("dpcore"), rooms_in_order())
    found = counted([(room_of(module), room_of(other)) for module, other in pairs])
    assert more_than(found, MOST_UPWARD_IMPORTS) == {}, pairs


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("import dpcore.noise.source", "dpcore.noise.source"),
        ("from dpcore.noise import source", "dpcore.noise.source"),
        ("from dpcore.noise.source import NoiseSource", "dpcore.noise.source"),
        ("if TYPE_CHECKING:\n    from dpcore.noise import source", "dpcore.noise.source"),
        ("def f():\n    from dpcore.noise import source", "dpcore.noise.source"),
        ("from .source import NoiseSource", "dpcore.noise.source"),
        ("from . import source", "dpcore.noise.source"),
        ("from ..noise.source import NoiseSource", "dpcore.noise.source"),
        ("from dpcore.noise import __all__", "dpcore.noise"),
        ("from numpy.noise import source", None),
        ("TARGET = 'dpcore.noise.source:NoiseSource'", None),
    ],
)
def test_an_import_is_found(line, found):
    modules = {"dpcore.noise": None, "dpcore.noise.source": None, "dpcore": None}
    names = imported(ast.parse(line), "dpcore.noise.entropy", is_package=False)
    assert [module_within(name, modules) for name in names] == ([found] if "import" in line else [])


def test_a_circle_and_an_upward_import_are_found():
    graph = {
        "dpcore.noise.a": {"dpcore.noise.b"},
        "dpcore.noise.b": {"dpcore.noise.c"},
        "dpcore.noise.c": {"dpcore.noise.a", "dpcore.exact.d"},
        "dpcore.exact.d": {"dpcore.cli"},
        "dpcore.cli": set(),
    }
    assert in_circles(graph) == {f"dpcore.noise.{name}" for name in "abc"}
    assert upward(graph, ["exact", "noise", "cli"]) == [("dpcore.exact.d", "dpcore.cli")]
    assert more_than({"a": 2, "b": 1}, {"a": 2}) == {"b": 1}


FIRST = """
import gc, importlib, sys, traceback
import numba, numpy, pandas, pyarrow, scipy.sparse, scipy.special, sklearn.base, typer
gc.disable()
core, names = (text.split() for text in sys.argv[1:])
for name in core:
    importlib.import_module(name)
assert not [name for name in sys.modules if name.startswith("dpcore_")]
for name in names:
    try:
        __import__(name)
    except BaseException:
        traceback.print_exc()
        print(name)
    for known in [known for known in sys.modules if known.startswith("dpcore_")]:
        del sys.modules[known]
"""
"""Imports the core, which imports no plugin, then each module first: as if no other one of a plugin
had been imported before."""


@pytest.fixture
def circle(tmp_path):
    """A folder with a module that needs the last line of another one, which imports it first."""
    folder = tmp_path / "dpcore_circle"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "first.py").write_text("import dpcore_circle.second\nlast = 1\n")
    (folder / "second.py").write_text("from dpcore_circle.first import last\n")
    return tmp_path


@pytest.mark.slow
def test_each_module_can_be_imported_first(circle):
    # Readers of tables and their schemas imported each other in a circle, which no test saw that
    # had imported others before.
    files = {*ROOT.glob("plugins/*/dpcore_*/**/__init__.py")}
    files |= {*ROOT.glob("plugins/tables/dpcore_tables/**/*.py")}
    names = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in files]
    names = [name[name.index("dpcore_") :] for name in names]
    names = sorted(name for name in names if "flower" not in name)
    broken = [f"dpcore_circle{name}" for name in ("", ".first", ".second")]
    # Commands ask plugins for their options.
    core = sorted(name for name in names_of("dpcore") if room_of(name) != "cli")
    command = [sys.executable, "-c", FIRST, " ".join(core), " ".join([*names, *broken])]
    known = {**os.environ, "PYTHONPATH": str(circle)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=known)
    assert done.stdout.split() == ["dpcore_circle.first"], done.stderr[-2000:]
