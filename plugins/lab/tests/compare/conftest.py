"""The stub plugin installed, and comparisons of it that take no time."""

import dataclasses
import sys
from pathlib import Path

import pytest

from dpcore.plugin.parts import load_registry
from dpcore_lab.compare.settings import Comparison

STUB = Path(__file__).parents[4] / "tests" / "stub_plugin"

SCHEMA = """
rows = 6
[columns]
age = { kind = "numeric", lower = 0, upper = 100 }
label = { kind = "label", classes = ["no", "yes"] }
"""
ROWS = "age,label\n10,no\n20,yes\n30,no\n40,yes\n50,yes\n60,no\n"


@pytest.fixture
def stub(monkeypatch):
    """The stub plugin, installed: its distribution stands on sys.path."""
    monkeypatch.syspath_prepend(str(STUB))
    load_registry.cache_clear()
    yield
    load_registry.cache_clear()
    sys.modules.pop("dpcore_stub", None)


@pytest.fixture
def compared(stub):
    """Return a comparison of the stub, 2 folds by (2 references + 2 epsilons by 2 repeats)."""
    base = Comparison(("stub",), ("stub-rows",), (0.5, 1.0), folds=2, repeats=2, seed=7)
    return lambda **changes: dataclasses.replace(base, **changes)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with ``rows.csv``, a private table of six rows, and its schema."""
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    return tmp_path
