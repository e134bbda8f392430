"""What the README says of accountants and of the noise of ten rounds."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from dpcore.errors import BudgetExceededError, DpcoreError
from dpcore.plugin import NeighboringRelation, Settings
from dpcore.plugin.commands import make_plan
from dpcore.plugin.parts import GaussianDpEvent, PoissonSampledDpEvent, load_registry
from dpcore_a_ddp.noise import advanced_split, analytic_gaussian
from dpcore_a_ddp.pools.round_rules import GradientRounds

README = Path(__file__).parents[1] / "README.md"
ROUNDS = 10
pytestmark = pytest.mark.skipif(not README.is_file(), reason="needs the README of a checkout")


def holds(accountant, multiplier):
    """Return whether ten rounds of one row of 100 fit into epsilon = 1, delta = 1e-8."""
    rules = GradientRounds(
        loss="logistic",
        n_features=9,
        row_norm=1.0,
        raw_norm_bound=1.0,
        relation="replace-one",
        clip=3.0,
        noise_multiplier=1.0,
    )
    event = replace(rules, noise_multiplier=multiplier).event(100)
    used = load_registry().load("accountant", accountant).from_budget(1.0, 1e-8)
    try:
        for _ in range(ROUNDS):
            used = used.compose(event)
    except BudgetExceededError:
        return False
    return True


@pytest.mark.parametrize(
    ("accountant", "least"), [("sampling-composition", 5.92), ("advanced-composition", 2.09)]
)
def test_the_theorem_explains_a_part_of_the_noise_only(accountant, least):
    # All of the 48 times was put down to Theorem 1.
    assert holds(accountant, least) and not holds(accountant, least - 0.01)
    text = README.read_text()
    planned = analytic_gaussian(*advanced_split(1.0, 1e-8, ROUNDS))
    every_row = math.sqrt(ROUNDS) * analytic_gaussian(1.0, 1e-8)
    assert round(planned) == 101 and round(5.915 / 2.086, 1) == 2.8
    assert (round(every_row / 5.915, 1), round(planned / every_row, 1)) == (2.7, 6.2)
    text = " ".join(text.split())
    assert "2.8 times as much as advanced composition" in text
    assert "a factor of 2.7 since" in text and "and of 6.2 by Dwork" in text


@pytest.mark.parametrize("algo", ["sgd-ma", "sgd-adv"])
def test_accountants_of_skellam_noise_hold_no_other(algo):
    # The page said that every algorithm with a schedule may be run under all three.
    assert make_plan(Settings(algo=algo, accountant="sampling-composition")).accountant
    event = PoissonSampledDpEvent(
        0.05, GaussianDpEvent(10.0), NeighboringRelation.ADD_OR_REMOVE_ONE
    )
    for name in ("skellam-composition", "skellam-advanced"):
        used = load_registry().load("accountant", name).from_budget(1.0, 1e-8)
        with pytest.raises(DpcoreError, match="bounds Skellam releases, sampled or not, and no"):
            used.compose(event)
    said = " ".join(README.read_text().split())
    assert "hold Skellam rounds alone" in said
