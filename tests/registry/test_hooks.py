"""Each hook, implemented by a plugin of its own, brings its entry under the right kind."""

import sys
import types
from importlib import metadata

import pytest

from dpcore.plugin.parts import Registry
from dpcore.registry.hookspecs import hookimpl


def register_commands(register):
    register("an-entry", "somewhere:thing", summary="A command.", group="Others")


def register_exporters(register):
    register("an-entry", "somewhere:Thing", summary="A format.", suffixes=(".thing",))


def register_ledgers(register):
    register("an-entry", "somewhere:Thing", summary="A ledger of a table.")


def register_ledger_stores(register):
    register("an-entry", "somewhere:Thing", summary="A store.", schemes=("thing",))


def register_optimizers(register):
    register("an-entry", "somewhere:Thing", summary="An optimizer.", reference="Nobody 2001")


def register_mechanisms(register):
    register("an-entry", "somewhere:Thing", summary="A mechanism.")


def register_accountants(register):
    register("an-entry", "somewhere:Thing", summary="An accountant.")


def register_losses(register):
    register("an-entry", "somewhere:Thing", summary="A loss.")


def register_datasets(register):
    register("an-entry", "somewhere:Thing", summary="A data set.")


def register_engines(register):
    register("an-entry", "somewhere:Thing", summary="An engine.")


def register_column_kinds(register):
    register("an-entry", "somewhere:THING", summary="A kind of column.")


def register_readers(register):
    register("an-entry", "somewhere:thing", summary="A reader.", suffixes=(".an-entry",))


def register_row_stores(register):
    register("an-entry", "somewhere:THING", summary="A store.", suffixes=(".an-entry",))


def register_file_loaders(register):
    register("an-entry", "somewhere:FILES", summary="Files of rows.")


def register_steps(register):
    register("an-entry", "somewhere:Thing", summary="A step of a run.")


@pytest.mark.parametrize(
    ("kind", "hook"),
    [
        ("command", register_commands),
        ("exporter", register_exporters),
        ("ledger", register_ledgers),
        ("ledger-store", register_ledger_stores),
        ("optimizer", register_optimizers),
        ("mechanism", register_mechanisms),
        ("accountant", register_accountants),
        ("loss", register_losses),
        ("dataset", register_datasets),
        ("engine", register_engines),
        ("column-kind", register_column_kinds),
        ("reader", register_readers),
        ("row-store", register_row_stores),
        ("file-loader", register_file_loaders),
        ("step", register_steps),
    ],
)
def test_a_hook_registers_its_kind(monkeypatch, kind, hook):
    plugin = types.ModuleType("a_plugin")
    setattr(plugin, hook.__name__, hookimpl(hook))
    monkeypatch.setitem(sys.modules, "a_plugin", plugin)
    registry = Registry.of([metadata.EntryPoint("a-plugin", "a_plugin", "dpcore")])
    assert not registry.failures
    (entry,) = registry.find("an-entry")
    assert entry.kind == kind and registry.names(kind) == ("an-entry",)
