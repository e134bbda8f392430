"""The algorithm of a run that names none is registered, once."""

from dataclasses import replace

import pytest

from dpcore import fit
from dpcore.errors import RegistryError
from dpcore.plugin import Settings
from dpcore.plugin.commands import make_plan
from dpcore.plugin.parts import load_registry


def registered(monkeypatch, *, default):
    """Have these names alone registered as the default."""
    registry = load_registry("optimizer")
    entries = [
        replace(entry, data={**entry.data, "default": entry.name in default})
        for entry in registry.entries("optimizer")
    ]
    found = type(registry)(entries)
    monkeypatch.setattr("dpcore.fitting.request.settings.load_registry", lambda kind: found)


def test_a_distribution_registers_it():
    assert Settings.default_algorithm() == "auto"
    chosen = make_plan(Settings()), make_plan(Settings(algo="auto"))
    assert chosen[0].settings == chosen[1].settings


def test_where_none_is_installed_one_line_says_what_to_install(monkeypatch):
    registered(monkeypatch, default=())
    with pytest.raises(RegistryError) as told:
        fit([[0.0], [1.0]], [0, 1], classes=(0, 1), bounds=(0, 1))
    assert str(told.value) == (
        "No default algorithm is installed. It is in dpcore-baselines: pip install . "
        "plugins/* in a checkout of dpcore, or its wheel. Or name an algorithm: --algo "
        "(algo=), of `dpcore list optimizers`."
    )


def test_of_two_both_are_named(monkeypatch):
    registered(monkeypatch, default=("auto", "dp-agd"))
    with pytest.raises(RegistryError, match=r"auto of dpcore-baselines .* and dp-agd of dpcore-dp"):
        Settings.default_algorithm()
