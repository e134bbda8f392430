"""The stub plugin installed, and comparisons of it that take no time."""

import dataclasses
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from dpcore.plugin.parts import load_registry
from dpcore_lab.compare.runner import run
from dpcore_lab.compare.settings import Comparison

STUB = Path(__file__).parents[4] / "tests" / "stub_plugin"

SCHEMA = """
rows = 6
[columns]
age = { kind = "numeric", lower = 0, upper = 100 }
label = { kind = "label", classes = ["no", "yes"] }
"""
ROWS = "age,label\n10,no\n20,yes\n30,no\n40,yes\n50,yes\n60,no\n"


@contextmanager
def installed():
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(STUB))
        load_registry.cache_clear()
        yield
    load_registry.cache_clear()
    sys.modules.pop("dpcore_stub", None)


@pytest.fixture
def stub():
    """The stub plugin, installed: its distribution stands on sys.path."""
    with installed():
        yield


def comparison(**changes):
    base = Comparison(("stub",), ("stub-rows",), (0.5, 1.0), folds=2, repeats=2, seed=7)
    return dataclasses.replace(base, **changes)


@pytest.fixture
def compared(stub):
    """Return a comparison of the stub, 2 folds by (2 references + 2 epsilons by 2 repeats)."""
    return comparison


@pytest.fixture(scope="session")
def small_results():
    """The results of one epsilon and one repeat, which no test changes."""
    with installed():
        return run(comparison(repeats=1, epsilons=(1.0,)), None)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with ``rows.csv``, a private table of six rows, and its schema."""
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    return tmp_path
