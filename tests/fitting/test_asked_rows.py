"""Rows that a command asks for: of what reads files, which is named where it is not of dpcore."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin import Settings
from dpcore.plugin.commands import DataRequest, Run, make_plan
from dpcore.plugin.parts import dataset_from_arrays, load_registry
from dpcore_tables.files import FILES

LOADER = FILES
NAME = f"{__name__}:LOADER"
ROWS = dataset_from_arrays([[0.1], [0.9]] * 50, [0, 1] * 50, classes=(0, 1), bounds=(0, 1))
REST = None, 1.0, (), ()
"""No rows to report on, all of the rows, no reason and no reader."""


def found(monkeypatch, data):
    """Return the statement of a run whose rows somebody else's loader finds."""
    ours = load_registry("file-loader")
    entry = replace(ours.get("file-loader", "files"), target=NAME, distribution="acme")
    monkeypatch.setattr(
        "dpcore.data.registered_loader.Registry",
        SimpleNamespace(in_turn=lambda kind: (type(ours)([entry]),)),
    )
    monkeypatch.setitem(globals(), "LOADER", replace(FILES, requested=lambda *asked: data))
    plan = make_plan(Settings("dp-gd", params={"steps": 2}))
    return Run.train(plan, DataRequest("rows.csv")).model.privacy


def test_a_loader_of_another_distribution_is_named(monkeypatch):
    assert found(monkeypatch, (ROWS, *REST))["parts_not_from_dpcore"] == [NAME]
    generated = replace(ROWS, is_generated=True)
    assert found(monkeypatch, (generated, *REST))["parts_not_from_dpcore"] == [NAME]


@pytest.mark.parametrize("data", ["rows", ("rows", *REST), (ROWS,), ROWS])
def test_what_is_no_data_set_is_refused(monkeypatch, data):
    with pytest.raises(InvalidInputError, match="What reads files made no Dataset of"):
        found(monkeypatch, data)
