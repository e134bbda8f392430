"""The options of a fit: the same words and defaults in settings, ``fit`` and ``dpcore train``."""

import dataclasses
import inspect
import tomllib
from pathlib import Path

import dpcore
from dpcore import Algorithm, BalancedWeights, Budget, OneVsRest, Threads, Users, Weights, fit
from dpcore.cli.train import train_command
from dpcore.fitting.request.keywords import asked_of
from dpcore.fitting.request.run_request import DataRequest
from dpcore.fitting.request.settings import Settings
from dpcore.plugin.parts import load_registry

OF_LEDGER = {"ledger": None, "analyst": "", "same_table": False}
IN_MEMORY = {"weight_bound", "also"}
"""Settings of weights, whose bound is a file's too (``DataRequest``), and of steps, which are
objects."""
OF_A_COMMAND = {"out", "as_json", "quiet"}
OF_READERS = {"query": None, "row_wise_claim": False}
OF_STEPS = {
    "calibrate_share": None,
    "evaluate_by": None,
    "evaluate_share": None,
    "evaluate_epsilon": None,
    "intervals_share": None,
    "intervals_anyway": False,
    "largest_weight": BalancedWeights.largest,
}
"""Options of a step's own, of those that a run has beside its fit."""
SPELT = {"params": "assignments"}
"""What the command line spells in another way: ``--set NAME=VALUE``."""
MOST_WORDS = 25
OLD_WORDS = tomllib.loads(Path(dpcore.__file__).with_name("moved.toml").read_text())["words"]


def defaults(function):
    found = inspect.signature(function).parameters.items()
    return {name: p.default for name, p in found if p.kind is not p.VAR_KEYWORD}


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


def test_fit_has_25_words_and_each_earlier_one_is_a_field_of_a_value_or_a_step():
    # It had 47, and a page of defaults in front of what a first fit needs.
    assert len(defaults(fit)) == MOST_WORDS and len(OLD_WORDS) == 23
    assert not {*OLD_WORDS} & {*defaults(fit)}


def test_fit_has_the_defaults_of_the_settings():
    asked, fields = defaults(fit), settings_fields()
    alike = {name: default for name, default in asked.items() if name in fields}
    assert (alike.pop("algo"), fields["algo"]) == (None, "")  # the default, as it is registered
    assert alike == {name: fields[name] for name in alike} and len(alike) == 12


def test_every_setting_is_passed_on_by_fit():
    values = {
        "algo": Algorithm("dp-agd", {"selection": "permute-and-flip"}, None, True),
        "epsilon": Budget(1.0, 2.0, 3.0, 4.0, {"target_risk": 0.1}, "tight"),
        "delta": 1e-5,
        "params": {"steps": 3},
        "loss": OneVsRest("huber-svm"),
        "l2": 0.5,
        "relation": "replace-one",
        "accountant": "zcdp",
        "engine": Threads(2, "dask"),
        "users": Users("users.csv", "local"),
        "class_weight": {"a": 2.0},
        "sample_weight": Weights([1.0], 3.0),
        "also": (BalancedWeights(),),
        "seed": 4,
    }
    words = {**defaults(fit), "X": [[0.0]], "y": [1.0], **values}
    settings, usual = asked_of(words).settings, Settings()
    same = [
        field.name
        for field in dataclasses.fields(Settings)
        if getattr(settings, field.name) == getattr(usual, field.name)
    ]
    assert same == ["preset", "units"]  # The preset was left out, and there is no schema.


def test_the_command_line_has_every_setting_with_its_default():
    entries = load_registry("optimizer").entries("optimizer")
    targets = {option.parameter for entry in entries for option in entry.data["options"]}
    asked, fields = defaults(train_command), settings_fields()
    assert {fields.pop(name) for name in IN_MEMORY} == {None, ()}
    flattened = {name: asked.pop(name) for name in targets}
    assert set(flattened.values()) <= {None, False} and fields.pop("targets") is None
    of_data = {field.name: field.default for field in dataclasses.fields(DataRequest)}
    handed_on = {of_data.pop(name) for name in ("table_ledger", "asked_by")}
    assert handed_on == {None, ()}  # What the command line hands on with a request is no option.
    assert {name: asked.pop(name) for name in of_data} == of_data
    assert {name: asked.pop(name) for name in OF_LEDGER} == OF_LEDGER
    assert {asked.pop(name) for name in OF_A_COMMAND} == {None, False}
    assert {name: asked.pop(name) for name in OF_STEPS} == OF_STEPS
    assert {name: asked.pop(name) for name in OF_READERS} == OF_READERS
    assert (asked.pop("algo"), fields.pop("algo")) == (None, "")
    assert asked == {SPELT.get(name, name): default for name, default in fields.items()}
