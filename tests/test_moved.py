"""Modules that moved to packages of their own are found by their old names, with a warning."""

import importlib
import json
import operator
import pickle
import re
import sys
import tomllib
from pathlib import Path

import pytest
from golden.command import dpcore as said

import dpcore
from dpcore import moved
from dpcore.errors import RegistryError
from dpcore.moved import INSTALL, find_moved, new_name, where_to_get
from dpcore.plugin.parts import Table, load_registry

WHOLE = tomllib.loads((Path(dpcore.__file__).parent / "moved.toml").read_text("utf-8"))
TABLE = WHOLE["modules"]
PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def old_names():
    """Yield every old name: those of the table, and of the modules within packages of it."""
    for old, new in TABLE.items():
        yield old
        package = importlib.import_module(new)
        for path in getattr(package, "__path__", ()):
            inside = {re.sub(r"\W", ".", str(f.relative_to(path))[:-3]) for f in files_of(path)}
            yield from (f"{old}.{name}" for name in inside)


def files_of(folder):
    return [f for f in Path(folder).rglob("*.py") if f.name != "__init__.py"]


@pytest.fixture(autouse=True)
def imported_anew():
    """Imports of old names warn, though they were imported before; and they are forgotten."""

    def forget():
        # Of modules under another name than theirs, and as members of another package.
        known = {name: module for name, module in sys.modules.items() if name[:6] == "dpcore"}
        for name, module in known.items():
            if module.__name__ != name:
                del sys.modules[name]
                package, _, last = name.rpartition(".")
                if module.__name__ != f"{known[package].__name__}.{last}":
                    vars(known[package]).pop(last, None)

    forget()
    yield
    forget()


@pytest.mark.filterwarnings("ignore:.* is dpcore[._].* now:FutureWarning")
def test_every_module_is_found_by_its_old_name():
    names = sorted({*old_names()})
    assert len(names) > len(TABLE)
    for old in names:
        new = new_name(old)
        found = importlib.import_module(old)
        assert (found, found.__spec__.name) == (importlib.import_module(new), new)


@pytest.mark.filterwarnings("ignore:.* is dpcore[._].* now:FutureWarning")
def test_no_finder_leaves_its_place_while_another_thread_may_ask_each_in_turn(monkeypatch):
    least = [finder for finder in sys.meta_path if not isinstance(finder, moved._Finder)]

    class Watched(list):
        def changed(self, by, *given):
            by(self, *given)
            assert [each for each in self if each in least] == least
            assert any(isinstance(each, moved._Finder) for each in self)

        def insert(self, *given):
            self.changed(list.insert, *given)

        def remove(self, *given):
            self.changed(list.remove, *given)

    monkeypatch.setattr(sys, "meta_path", Watched(least))
    find_moved()
    importlib.import_module("dpcore.tuning.laws")
    assert isinstance(sys.meta_path[0], moved._Finder)


@pytest.mark.filterwarnings("ignore:.* is dpcore[._].* now:FutureWarning")
def test_every_module_is_found_in_its_package_by_its_old_name():
    # No module is there before: an import by the whole name leaves it with its package.
    for old, new in TABLE.items():
        package, _, last = old.rpartition(".")
        found = importlib.import_module(package)
        assert last not in vars(found), old
        exec(f"from {package} import {last} as found", names := {})
        assert names["found"] is importlib.import_module(new), old


def test_an_old_name_warns_where_it_is_imported():
    with pytest.warns(FutureWarning, match=r"^dpcore.sklearn is dpcore_sklearn now; ") as told:
        PrivateRidge = __import__("dpcore.sklearn", fromlist=["x"]).PrivateRidge
    assert [Path(each.filename).name for each in told] == ["test_moved.py"]
    assert PrivateRidge.__module__ == "dpcore_sklearn.estimators"


@pytest.mark.filterwarnings("ignore:.* is dpcore[._].* now:FutureWarning")
def test_what_was_pickled_under_an_old_name_is_of_the_same_class():
    from dpcore_sklearn import PrivateRidge

    assert pickle.loads(b"cdpcore.sklearn.estimators\nPrivateRidge\n.") is PrivateRidge


def test_where_the_package_is_not_installed_its_name_is_said(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "dpcore_sklearn"]:
        monkeypatch.delitem(sys.modules, name)

    monkeypatch.setitem(sys.modules, "dpcore_sklearn", None)
    with pytest.raises(ModuleNotFoundError) as told:
        importlib.import_module("dpcore.sklearn.rows")
    assert str(told.value) == f"dpcore.sklearn is dpcore_sklearn now, of dpcore-sklearn: {INSTALL}"


@pytest.mark.filterwarnings("ignore:.* is (in )?dpcore.* now:FutureWarning")
def test_every_name_that_a_page_had_is_found_where_it_is():
    assert WHOLE["names"]
    for old, place in WHOLE["names"].items():
        page, _, name = old.rpartition(".")
        found = getattr(importlib.import_module(page), name)
        module, _, inside = place.partition(":")
        there = operator.attrgetter(inside or name)(importlib.import_module(module))
        # A method of a class is made anew each time that it is asked for.
        assert getattr(found, "__func__", found) is getattr(there, "__func__", there)


def test_a_name_that_a_class_has_now_warns_with_its_place():
    with pytest.warns(FutureWarning, match=r"parts.BLOCK_ROWS is dpcore.plugin.parts.Table.BLOCK_"):
        from dpcore.plugin.parts import BLOCK_ROWS
    assert Table.BLOCK_ROWS == BLOCK_ROWS == 8192


def test_a_name_that_a_page_had_says_which_package_has_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError) as told:
        importlib.import_module("dpcore.plugin.parts").majority_label  # noqa: B018
    assert str(told.value) == (
        "dpcore.plugin.parts.majority_label is in dpcore_baselines.without_privacy.references now, "
        f"of dpcore-baselines: {INSTALL}"
    )


def test_a_name_that_a_page_had_warns_where_it_is_imported():
    with pytest.warns(FutureWarning, match="majority_label is in dpcore_baselines") as told:
        from dpcore.plugin.parts import majority_label
    assert [Path(each.filename).name for each in told] == ["test_moved.py"]
    assert majority_label.__module__ == "dpcore_baselines.without_privacy.references"


def test_what_packages_of_ours_register_is_in_the_table():
    listed = json.loads(said("dpcore list --json").out)
    entries = [each for kind in listed.values() for each in kind if each.get("distribution")]
    ours = {*tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]["all"]}
    found = {(each["name"], each["distribution"]) for each in entries}
    parts = [(*key.split(" "), owner) for key, owner in WHOLE["parts"].items()]
    table = {(name, owner) for kind, name, owner in parts if kind not in ("default", "option")}
    assert {(name, owner) for name, owner in found if owner in ours} == table
    options = {
        (f"--{option.name}", entry.distribution)
        for kind in ("optimizer", "step", "reader")
        for entry in load_registry(kind).entries(kind)
        for option in entry.data["options"]
        if entry.distribution in ours and not (kind == "step" and option.shared)
    }
    assert {(name, owner) for kind, name, owner in parts if kind == "option"} == options


def test_a_name_that_no_package_registers_is_looked_for_near_by():
    with pytest.raises(RegistryError, match="no accountant 'pld2'.*Did you mean pld"):
        load_registry().get("accountant", "pld2")
    assert where_to_get("accountant", "pld2") == ""
    # An option that is not there though its package is: another command has it.
    assert where_to_get("option", "--query") == ""


def test_a_name_that_never_was_is_not_found():
    before = [*sys.meta_path]
    find_moved()
    assert sys.meta_path == before and new_name("dpcore.sklearns") is None
    assert new_name("dpcore.cli.summary") == "dpcore_lab.commands.comparison_text"
    with pytest.raises(ModuleNotFoundError, match="No module named 'dpcore.sklearns'"):
        importlib.import_module("dpcore.sklearns")
