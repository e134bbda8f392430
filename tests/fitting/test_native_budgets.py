"""Fits whose budget is rho or mu: what is enforced, what is stated, and what is refused."""

import dataclasses
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from dpcore import fit, load_model
from dpcore.cli import app
from dpcore.errors import InvalidInputError, UnsupportedEventError
from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.settings import Settings
from dpcore.plugin.parts import PrivacyStatement

X, Y = np.array([[0.0, 0.5], [0.5, 0.0]] * 60), np.array([0, 1] * 60)


def fitted(**asked):
    return fit(X, Y, classes=(0, 1), bounds=(0, 0.5), row_norm=None, delta=1e-6, **asked)


@pytest.mark.parametrize(
    ("asked", "accountant", "budget", "notion"),
    [({"rho": 0.125}, "zcdp", 0.125, "rho-zCDP"), ({"mu": 0.5}, "gdp", 0.25, "mu-GDP")],
)
def test_the_statement_has_the_budget_and_what_follows(asked, accountant, budget, notion, tmp_path):
    ((name, value),) = asked.items()
    model = fitted(**asked)
    privacy = model.privacy
    assert privacy["private"] and privacy["accountant"] == accountant
    assert privacy["budget"] == budget and privacy["spent"] <= budget
    assert privacy[name] == value == model.report[name]
    pair = f"({privacy['epsilon']!r}, 1e-06)"
    claim = f"{notion} with {name} = {value}, and so {pair}-differentially private, under "
    assert privacy["sentence"].startswith(f"This model is {claim}")
    model.save(tmp_path / "m.json")
    assert load_model(tmp_path / "m.json").privacy[name] == value


def test_a_budget_in_epsilon_has_neither():
    privacy = fitted(epsilon=1.0).privacy
    assert not {"rho", "mu", "native_budget"} & {*privacy}
    assert privacy["sentence"].startswith("This model is (1, 1e-06)-differentially private under")


def test_an_algorithm_that_the_filter_cannot_bound_is_charged_nothing():
    with pytest.raises(UnsupportedEventError, match="The zcdp accountant cannot bound"):
        fitted(algo="sgd-ma", rho=0.125)


REFUSED = [
    ({"rho": 0.1, "mu": 0.1}, "--rho .* or --mu .*, not both"),
    ({"rho": 0.1, "epsilon": 1.0}, "--rho .* or --epsilon .*, not both"),
    ({"mu": 0.1, "epsilon_max": 1.0}, "--mu .* or --epsilon-max .*, not both"),
    ({"rho": 0.1, "accountant": "gdp"}, "budget of the zcdp accountant, not of gdp"),
    ({"mu": 0.1, "accountant": "best"}, "budget of the gdp accountant, not of best"),
    ({"rho": 0.1, "delta": 0.0}, "--delta .* > 0 beside --rho"),
    ({"rho": 0.0}, "rho=0.0 to be finite and > 0"),
    ({"mu": float("inf")}, "mu"),
    ({"rho": "much"}, "rho"),
    ({"rho": 0.1, "conversion": "exact"}, "conversion='exact'"),
    ({"rho": 0.1, "algo": "output-nr"}, "output-nr takes no --rho"),
    ({"mu": 0.1, "algo": "a-ddp"}, "a-ddp takes no --mu .*: users' budgets"),
]


@pytest.mark.parametrize(("asked", "words"), REFUSED)
def test_what_contradicts_it_is_refused_before_anything_is_read(asked, words):
    with pytest.raises(InvalidInputError, match=words):
        make_plan(Settings(**asked))


def test_a_conversion_of_the_filter_is_taken():
    plan = make_plan(Settings(rho=0.1, conversion="bun-steinke"))
    assert plan.accountant.conversion == "bun-steinke" and plan.accountant.budget == 0.1


def test_no_sentence_claims_the_budget_where_nothing_is_guaranteed():
    privacy = fitted(rho=0.125, seed=3).privacy
    assert privacy["sentence"].startswith("NOT PRIVATE") and "zCDP" not in privacy["sentence"]


def test_a_statement_is_written_out_with_its_native_budget():
    statement = PrivacyStatement(
        epsilon=1.5,
        delta=1e-6,
        relation="replace-one",
        accountant="gdp",
        conversion="exact",
        unit="mu^2",
        budget=0.25,
        spent=0.2,
        releases={},
        native_budget=("mu", 0.5),
    )
    assert "is mu-GDP with mu = 0.5, and so (1.5, 1e-06)-diff" in statement.sentence()
    assert statement.to_dict()["mu"] == 0.5
    assert "mu" not in dataclasses.replace(statement, native_budget=None).to_dict()


def test_the_command_that_compares_accountants_takes_it():
    ran = CliRunner().invoke(app, ["account", "--rho", ".1", "--delta", "1e-6", "--json"])
    told = json.loads(ran.stdout)
    zcdp = next(row for row in told["accountants"] if row["accountant"] == "zcdp")
    assert told["rho"] == 0.1 and zcdp["budget"] == pytest.approx(0.1, rel=1e-9)
    ran = CliRunner().invoke(app, ["account", "--mu", ".5", "--rounds", "4", "--delta", "1e-6"])
    assert "mu-GDP with mu = 0.5 is (" in ran.stdout
