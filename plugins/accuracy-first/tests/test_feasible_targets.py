"""Advice on a target that costs too much leads to a run, or says that there is none."""

import math
import re

import numpy as np
import pytest

from dpcore import fit
from dpcore.errors import InvalidInputError, TargetNotMetError
from dpcore.plugin import NeighboringRelation, Problem, Settings
from dpcore.plugin.commands import make_plan
from dpcore_accuracy_first.feasible_targets import Loosest, too_dear
from dpcore_accuracy_first.objectives.public_ball import loss_at_zero

WALKS = ("output-nr", "output-bnr", "output-doubling", "cov-nr", "cov-bnr", "cov-doubling")
KINDS = {
    "slack of accuracy": {"target_accuracy": 0.81, "slack": 0.002},
    "excess": {"target_excess_risk": 0.02},
    "slack of risk": {"target_risk": 0.2, "slack": 0.02},
}


def facts(n, loss="logistic", targets=KINDS["excess"]):
    plan = make_plan(Settings(algo="output-nr", loss=loss, targets=targets))
    relation = NeighboringRelation.REPLACE_ONE
    return plan.optimizer, Problem(plan.loss, 0.01, 10, 1.0, 1.0, relation=relation, n=n)


def refusal(algo, n, asked, cap=5.0):
    """Return what a run is told that ends before it begins; empty for another run."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3)) / 10
    is_ridge = algo.startswith("cov")
    y = X[:, 0] if is_ridge else np.where(X[:, 0] > 0, 1, -1)
    kind = {"target_bounds": (-1.0, 1.0)} if is_ridge else {"classes": (-1, 1)}
    loss = "ridge" if is_ridge else "logistic"
    with np.errstate(all="raise"):
        try:
            fit(X, y, algo=algo, loss=loss, targets=asked, epsilon_max=cap, seed=1, **kind)
        except InvalidInputError as error:
            return str(error)
        except TargetNotMetError:
            pass
    return ""


@pytest.mark.some_fast
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n", [10, 100, 442, 3000])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("algo", WALKS)
def test_what_is_realistic_is_not_refused(algo, kind, n):
    asked = KINDS[kind]
    if algo.startswith("cov") and "target_accuracy" in asked:
        pytest.skip("ridge has no accuracy")
    told = refusal(algo, n, asked)
    if not told:
        return
    if "is realistic. " not in told:
        assert "no target of this kind is realistic: a constant model meets" in told
        assert re.search(r"less takes more than [\d,]+ rows", told), told
        return
    advised = float(re.search(r"(?:slack|excess risk) of ([\d.e-]+) is realistic", told)[1])
    name = "target_excess_risk" if kind == "excess" else "slack"
    limit = {"slack of accuracy": 0.31, "excess": math.log(2), "slack of risk": math.log(2) - 0.2}
    if not algo.startswith("cov"):
        assert asked[name] < advised < limit[kind]
    # Followed, it leads to a run, whether or not that meets its target.
    assert refusal(algo, n, {**asked, name: advised}) == ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("algo", ["output-theory", "cov-theory"])
def test_a_theorem_says_what_it_bounds_at_the_worst_case(algo):
    told = refusal(algo, 442, KINDS["excess"])
    assert "no target of this kind is realistic" in told
    told = refusal(algo, 442, KINDS["excess"], cap=1000.0)
    advised = float(re.search(r"an excess risk of ([\d.e-]+) is realistic", told)[1])
    assert 0.02 < advised < 0.5
    assert refusal(algo, 442, {"target_excess_risk": advised}, cap=1000.0) == ""
    assert "is realistic" in refusal(algo, 442, {"target_excess_risk": advised * 0.98}, cap=1000.0)


@pytest.mark.filterwarnings("ignore")
def test_the_number_of_rows_and_the_worst_case_that_are_named_do():
    asked = {"target_accuracy": 0.7, "slack": 0.05}
    told = refusal("output-nr", 300, asked, cap=3.0)
    rows, cap = re.search(r"about ([\d,]+) rows, or --epsilon-max ([\d.]+)\.", told).groups()
    assert refusal("output-nr", int(rows.replace(",", "")), asked, cap=3.0) == ""
    assert refusal("output-nr", 300, asked, cap=float(cap)) == ""


# ln 2 of logistic loss and 1/2 of squared loss at |y| <= 1: formulas; 1/2 of two classes.
@pytest.mark.parametrize(
    ("loss", "targets", "limit"),
    [
        ("logistic", {"target_excess_risk": 0.1}, math.log(2)),
        ("ridge", {"target_excess_risk": 0.1}, 0.5),
        ("logistic", {"target_risk": 0.3, "slack": 0.1}, math.log(2) - 0.3),
        ("logistic", {"target_accuracy": 0.8, "slack": 0.1}, 0.3),
    ],
)
def test_a_constant_model_meets_what_says_nothing(loss, targets, limit):
    optimizer, problem = facts(442, loss, targets)
    assert Loosest.of(optimizer, problem).limit == pytest.approx(limit, rel=1e-9)
    assert loss_at_zero(problem) == pytest.approx(0.5 if loss == "ridge" else math.log(2))


def test_no_advice_is_of_more_rows_than_there_are_or_of_a_promise_of_nothing():
    told = str(too_dear("It costs", 1e12, 5.0, *facts(1)))
    assert "as many rows as no table has" in told and "rows, or" not in told
    assert "next to no protection" in told and "At 1 row of 10 columns" in told


def test_a_target_that_says_nothing_is_told_so():
    told = str(too_dear("It costs", 6.0, 5.0, *facts(442, targets={"target_excess_risk": 0.7})))
    assert told.endswith("on every table, whatever --epsilon-max is.")
