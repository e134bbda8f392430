"""Optimizers as ``dpcore check`` builds them: with their defaults, or one error."""

import sys
from dataclasses import dataclass, replace

import pytest

from dpcore.errors import DpcoreError
from dpcore.plugin import Slot, Solution
from dpcore.plugin.parts import load_registry
from dpcore_lab.commands.check import default_optimizer

OWN = {
    "relations": ("add-or-remove-one",),
    "needs": ("classification",),
    "minimize": lambda self, problem, session: Solution(None, "Done."),
}
SLOTTED = {
    "slots": {"gradient": Slot(("gaussian",), closed="it is a test")},
    "__annotations__": {"use": "dict"},
    "use": None,
}


def registry_of(monkeypatch, **attributes):
    module = type(sys)("broken_plugin")
    module.Broken = dataclass(frozen=True)(type("Broken", (), {**OWN, **attributes}))
    monkeypatch.setitem(sys.modules, "broken_plugin", module)
    ours = load_registry("optimizer")
    entry = replace(ours.get("optimizer", "dp-gd"), name="broken", target="broken_plugin:Broken")
    return type(ours)([entry])


def test_an_optimizer_has_its_defaults(monkeypatch):
    broken = registry_of(monkeypatch, **SLOTTED).load("optimizer", "broken")
    assert type(default_optimizer(broken, "broken")) is broken


def test_an_optimizer_without_defaults_is_one_error(monkeypatch):
    stated = {"slots": {}, "__annotations__": {"steps": int}}
    broken = registry_of(monkeypatch, **stated).load("optimizer", "broken")
    with pytest.raises(DpcoreError, match="broken cannot be built with its defaults: TypeError"):
        default_optimizer(broken, "broken")
