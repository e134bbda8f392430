"""The options of a fit: the same words and defaults in settings, ``fit`` and ``dpcore train``."""

import ast
import dataclasses
import inspect
from pathlib import Path

import pytest

from dpcore.cli import train as command
from dpcore.cli.train import train_command
from dpcore.fitting import api
from dpcore.fitting.api import fit
from dpcore.fitting.loading import DataRequest
from dpcore.fitting.settings import Settings
from dpcore.fitting.table_ledger import LedgerRequest
from dpcore.registry.declarations import TARGETS

OF_ROWS = {
    *("X", "y", "classes", "target_bounds", "bounds", "row_norm", "intercept", "n0", "capacity"),
    *("schema", "private_bounds", "unit", "rows_per_unit", "sample_weight", "part"),
    "test_fraction",
}
"""What ``fit`` is told of rows in memory, in place of a file and its schema."""
OF_LEDGER = {field.name: field.default for field in dataclasses.fields(LedgerRequest)}
IN_MEMORY = {"weight_bound", "also"}
"""Settings of weights, which rows of files have none of, and of steps, which are objects."""
OF_A_COMMAND = {"out", "as_json", "quiet"}
SPELT = {"params": "assignments"}
"""What the command line spells in another way: ``--set NAME=VALUE``."""


def defaults(function):
    return {name: p.default for name, p in inspect.signature(function).parameters.items()}


def settings_fields():
    """Return the default of every field of the settings, ``None`` for an empty mapping."""
    found = {
        field.name: None if field.default is dataclasses.MISSING else field.default
        for field in dataclasses.fields(Settings)
    }
    assert found.pop("units") is False  # It follows from the schema, or from ``unit``.
    assert found["loss"] == "logistic"  # Where none is named it follows from the classes.
    found["loss"] = None
    return found


def test_fit_has_every_setting_with_its_default():
    asked, fields = defaults(fit), settings_fields()
    assert {name: asked.pop(name) for name in OF_LEDGER} == OF_LEDGER
    assert {name: asked[name] for name in asked if name not in OF_ROWS} == fields


def test_the_command_line_has_every_setting_with_its_default():
    asked, fields = defaults(train_command), settings_fields()
    assert {fields.pop(name) for name in IN_MEMORY} == {None, ()}
    flattened = {name: asked.pop(name) for name in TARGETS if name not in fields}
    assert set(flattened.values()) <= {None, False} and fields.pop("targets") is None
    of_data = {field.name: field.default for field in dataclasses.fields(DataRequest)}
    assert {name: asked.pop(name) for name in of_data} == of_data
    assert {name: asked.pop(name) for name in OF_LEDGER} == OF_LEDGER
    assert {asked.pop(name) for name in OF_A_COMMAND} == {None, False}
    assert asked == {SPELT.get(name, name): default for name, default in fields.items()}


@pytest.mark.parametrize("module", [api, command], ids=["fit", "train"])
def test_every_setting_is_passed_on(module):
    tree = ast.parse(Path(module.__file__).read_text())
    (call,) = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Settings"
    ]
    elsewhere = IN_MEMORY if module is command else set()
    assert {keyword.arg for keyword in call.keywords} == {*settings_fields(), "units"} - elsewhere
