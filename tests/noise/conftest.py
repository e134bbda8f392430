"""Loads the modules that hold exact distributions and slow twins, which are no tests themselves."""

import importlib.util
from pathlib import Path

import pytest

_NOISE = Path(__file__).parent.parent / "noise"


def _load(name):
    spec = importlib.util.spec_from_file_location(f"noise_{name}", _NOISE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def reference():
    return _load("distributions")


@pytest.fixture(scope="session")
def naive():
    return _load("naive")
