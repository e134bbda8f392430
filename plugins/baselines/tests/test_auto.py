"""auto: which algorithm it stands for, and that everything that is told says so."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from dpcore import fit, load_model
from dpcore.cli import app
from dpcore.errors import DpcoreError, InvalidInputError, RegistryError
from dpcore.plugin import Settings
from dpcore.plugin.commands import make_plan
from dpcore.plugin.parts import Registry, load_registry
from dpcore_baselines.auto import Auto
from dpcore_lab.checks import check_repeatable_when_seeded, check_tiny_budget_refused

X = np.column_stack([np.linspace(0, 1, 60), np.linspace(1, 0, 60) ** 2])
Y = np.arange(60) % 2


@pytest.mark.parametrize("check", [check_repeatable_when_seeded, check_tiny_budget_refused])
def test_it_is_an_optimizer_itself(check):
    # It runs dp-gd, which passes all checks.
    check(Auto())


NOISE = {"noise": "gaussian"}
SELECTION = {"selection": "exponential"}
CHOICES = [
    ({"targets": {"target_risk": None}}, "dp-gd", "gdp", NOISE),
    ({}, "dp-gd", "gdp", NOISE),
    ({"delta": 1e-30, "epsilon": 1e-3}, "dp-gd", "gdp", NOISE),
    ({"relation": "replace-one"}, "dp-gd", "gdp", NOISE),
    ({"loss": "hinge-svm"}, "dp-gd", "gdp", NOISE),
    ({"loss": "ridge"}, "gram-ridge", "gdp", NOISE),
    ({"loss": "ridge", "accountant": "zcdp"}, "gram-ridge", "zcdp", NOISE),
    ({"loss": "quantile"}, "dp-gd", "gdp", NOISE),
    ({"accountant": "rdp"}, "dp-gd", "rdp", NOISE),
    ({"accountant": "single"}, "objpert", "single", {"noise": "gaussian"}),
    ({"delta": 0.0}, "objpert", "pure", {"noise": "gamma"}),
    ({"accountant": "pure"}, "objpert", "pure", {"noise": "gamma"}),
    ({"delta": 0.0, "loss": "huber-svm"}, "objpert", "pure", {"noise": "gamma"}),
    ({"delta": 0.0, "loss": "hinge-svm"}, "privgene", "pure", SELECTION),
    ({"delta": 0.0, "units": True}, "privgene", "pure", SELECTION),
    ({"units": True}, "dp-gd", "gdp", NOISE),
    ({"delta": 0.0, "loss": "ridge"}, "privgene", "pure", SELECTION),
    ({"delta": 0.0, "loss": "quantile"}, "privgene", "pure", SELECTION),
    (
        {"delta": 0.0, "loss": "quantile", "params": {"loss.half_width": 0.25}},
        "objpert",
        "pure",
        {"noise": "gamma"},
    ),
]


@pytest.mark.parametrize(("asked", "algo", "accountant", "use"), CHOICES)
def test_the_rule(asked, algo, accountant, use):
    plan = make_plan(Settings(**asked))
    assert (plan.entry.name, plan.accountant.name, plan.use) == (algo, accountant, use)
    assert plan.settings.algo == algo
    assert plan.chosen_by is not None and plan.chosen_by["name"] == "auto"
    assert plan.relation.value == asked.get("relation", "add-or-remove-one")


@pytest.mark.parametrize(
    ("asked", "algo"),
    [({}, "output-bnr"), ({"delta": 0.0, "loss": "huber-svm"}, "output-nr"),
     ({"loss": "ridge"}, "cov-bnr"), ({"delta": 0.0, "loss": "ridge"}, "cov-nr")],
)  # fmt: skip
def test_a_target_has_an_algorithm_whose_epsilon_is_an_output(asked, algo):
    plan = make_plan(Settings(**asked, targets={"target_risk": 0.6, "slack": 0.1}))
    assert (plan.entry.name, plan.accountant.name) == (algo, "pure")
    assert plan.accountant.delta == asked.get("delta", 1e-8)
    assert (
        plan.chosen_by is not None and "for a target it reduces the noise" in plan.chosen_by["why"]
    )


def test_one_that_was_named_was_not_chosen():
    assert make_plan(Settings(algo="dp-gd")).chosen_by is None


def test_what_is_set_goes_to_the_algorithm_chosen():
    assert make_plan(Settings(params={"steps": "3"})).parameters()["steps"] == 3
    with pytest.raises(DpcoreError, match="dp-gd has no preset"):
        make_plan(Settings(preset="paper"))
    with pytest.raises(DpcoreError, match="dp-gd has no published code"):
        make_plan(Settings(as_published=True))
    with pytest.raises(DpcoreError, match="dp-gd takes --epsilon"):
        make_plan(Settings(epsilon_max=2.0))
    unknown = r"^objpert has no parameter 'steps'\..*\n\(auto chose objpert\.\)$"
    with pytest.raises(DpcoreError, match=unknown):
        make_plan(Settings(delta=0.0, params={"steps": "3"}))
    # Pure epsilon is not quietly another accountant than the one that was asked for.
    with pytest.raises(DpcoreError, match="delta"):
        make_plan(Settings(delta=0.0, accountant="gdp"))


def test_the_model_names_what_was_chosen_and_why(tmp_path):
    model = fit(X, Y, classes=(0, 1), params={"steps": 2})
    assert model.algo["name"] == "dp-gd" and model.algo["parameters"]["steps"] == 2
    assert (
        model.algo["chosen_by"]["name"] == "auto"
        and "delta is above 0" in model.algo["chosen_by"]["why"]
    )
    assert model.report["algo"] == "dp-gd"
    assert model.privacy["parts_not_from_dpcore"] == []
    model.save(tmp_path / "m.json")
    assert load_model(tmp_path / "m.json").algo == model.algo


def test_the_command_line_takes_it_by_default():
    shown = CliRunner().invoke(app, ["train", "--set", "steps=2", "--data", "census-sim"])
    assert "Fitted dp-gd on census-sim" in shown.stdout
    assert "Chosen by auto: it fits every loss" in shown.stdout
    shown = CliRunner().invoke(app, ["train", "--set", "steps=2", "--json"])
    assert json.loads(shown.stdout)["chosen_by"]["name"] == "auto"


def test_where_it_is_not_installed_the_message_says_what_to_do():
    entries = [e for e in load_registry().entries("optimizer") if e.name != "auto"]
    with pytest.raises(RegistryError, match=r"is in dpcore-baselines: pip install .*\.$"):
        make_plan(Settings(), Registry(entries))


def test_three_classes_at_a_pure_budget_are_refused_with_what_to_do():
    rows, y = np.eye(3)[np.arange(30) % 3], np.arange(30) % 3
    for words in ({"delta": 0.0}, {"delta": 1e-6, "accountant": "pure"}):
        with pytest.raises(InvalidInputError, match="three classes or more; pass a delta"):
            fit(rows, y, classes=(0, 1, 2), epsilon=1.0, **words)
