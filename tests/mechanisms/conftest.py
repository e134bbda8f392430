"""Loads the exact integer distributions, which stand beside the tests of the noise."""

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
