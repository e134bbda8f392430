"""The cost that is told before a run for a target."""

import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

from dpcore import fit
from dpcore.cli import app
from dpcore.losses.squared import Squared
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import Logistic, PureAccountant
from dpcore_accuracy_first.brownian_reduction import CovBnr, OutputBnr
from dpcore_accuracy_first.forecast import forecast, precision_for
from dpcore_accuracy_first.noise_reduction import OutputNr
from dpcore_accuracy_first.objectives.base_releases import OutputBase
from dpcore_accuracy_first.objectives.in_l2 import OutputBaseInL2
from dpcore_lab.checks import make_rows
from dpcore_lab.made_tables.tables import make_problem

REPLACE = NeighboringRelation.REPLACE_ONE


@pytest.mark.parametrize(("kind", "variance"), [(OutputBaseInL2, 1), (OutputBase, 2)])
def test_noise_of_that_precision_adds_so_much_to_ridge_regression(kind, variance):
    """Exact: of squared loss with all rows at the bound, v (R^2 + l2 d) / 2."""
    rows = make_rows(400, seed=2)
    problem = make_problem(rows, REPLACE, Squared(), l2=0.05)
    base = kind(problem)
    v = variance * (base.bound / precision_for(base, 0.01)) ** 2
    X = rows.X * (problem.row_norm / np.linalg.norm(rows.X, axis=1))[:, np.newaxis]
    hessian = X.T @ X / len(X) + problem.l2 * np.eye(X.shape[1])
    assert v * np.trace(hessian) / 2 == pytest.approx(0.01, rel=1e-9)
    # Without the l2 term (a twin) noise would add more than is said.
    without = variance * base.bound**2 / (variance * (problem.row_norm * base.bound) ** 2 / 0.02)
    assert without * np.trace(hessian) / 2 > 0.01 * 1.001


@pytest.mark.parametrize("kind", [OutputBnr, OutputNr])
def test_the_forecast_names_the_first_level_of_that_precision(kind):
    problem = make_problem(make_rows(4000, seed=2), REPLACE, Logistic(), l2=0.05)
    optimizer = kind(target_excess_risk=0.1)
    budget = (200.0, optimizer.delta) if kind is OutputBnr else (200.0, 0.0)
    accountant = PureAccountant.with_reserve(*budget, budget[1])
    told = optimizer.cost_forecast(problem, accountant)
    assert "expect at most about" in told and " and 200, by which of" in told
    for risk, passes in ((1e-9, False), (0.1, True)):
        levels = [0.01, 0.1, 1.0, 10.0, 100.0]
        words = forecast(levels, levels, OutputBaseInL2(problem), risk)
        assert ("expect that no level meets the target" in words) is not passes


@pytest.mark.slow
def test_no_level_is_named_where_it_is_a_fact_about_the_rows():
    problem = make_problem(make_rows(4000, seed=2), REPLACE, Logistic(), l2=0.05)
    accountant = PureAccountant.with_reserve(200.0, 1e-8, 1e-8)
    for optimizer in (
        OutputBnr(target_accuracy=0.8, slack=0.1, levels=5),
        OutputBnr(target_risk=0.5, slack=0.1, levels=5),
    ):
        assert optimizer.cost_forecast(problem, accountant).endswith("so no public value tells it.")
    squared = make_problem(make_rows(4000, seed=2), REPLACE, Squared(), l2=0.05)
    told = CovBnr(target_excess_risk=0.3, levels=5).cost_forecast(squared, accountant)
    assert "That depends on the rows" in told


@pytest.mark.slow
def test_the_command_says_it_before_the_run_and_fit_warns_of_nothing():
    asked = ["train", "--data", "census-sim", "--l2", "0.01", "--relation", "replace-one"]
    target = ["--target-excess-risk", "0.3", "--epsilon-max", "8"]
    done = CliRunner().invoke(app, [*asked, *target])
    assert done.exit_code == 0, done.stderr
    assert done.stderr.startswith("dpcore: the ex-post epsilon will be ")
    assert "expect at most about" in done.stderr and "warning: the ex-post" not in done.stderr
    dear = CliRunner().invoke(app, [*asked, "--target-excess-risk", "1e-4", "--epsilon-max", "1"])
    assert dear.exit_code == 2 and "ex-post epsilon will" not in dear.stderr
    rows = make_rows(2000, seed=1)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*ex-post epsilon will")
        given = {"classes": (-1, 1), "row_norm": 2.0, "relation": "replace-one", "l2": 0.05}
        target = {"targets": {"target_excess_risk": 0.3}, "epsilon_max": 50.0}
        fit(rows.X, rows.y, algo="output-nr", seed=1, **target, **given)
