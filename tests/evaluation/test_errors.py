"""Sums of clipped errors: against NumPy, how far a row moves them, and what their intervals hold.

Coverage is of 3,000 repeats with a fixed seed: where 95 % cover, .93 is five deviations away, a
false alarm of 3e-7.
"""

import numpy as np
import pytest

from dpcore.engines.local import LocalEngine
from dpcore.evaluation.error_figures import figures_of_errors
from dpcore.evaluation.error_sums import ErrorSums
from dpcore.losses.squared import Squared
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.testing import check_query
from dpcore.testing.tables import make_problem, make_rows

W = np.linspace(-2, 2, 5)
REPEATS = 3000


class Unclipped(ErrorSums):
    """Broken on purpose: the error of a row counts whole."""

    def answer_block(self, block):
        sums = super().answer_block(block)
        errors = (np.ascontiguousarray(block.margins(self.w)) - block.y) ** 2
        sums[0] = (errors * 2**20).astype(np.int64).sum()
        return sums


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_sums_are_within_their_sensitivity(norm):
    check_query(lambda problem: ErrorSums(problem, W, norm), Squared())


@pytest.mark.slow
def test_an_error_that_is_not_clipped_is_caught():
    with pytest.raises(AssertionError, match="declared l1"):
        check_query(lambda problem: Unclipped(problem, 20 * W, "l1"), Squared())


def test_sums_are_those_of_numpy():
    rows = make_rows(200, seed=5)
    table = rows.table()
    problem = make_problem(rows, NeighboringRelation.ADD_OR_REMOVE_ONE, Squared())
    z = np.concatenate([block.margins(W) for block in table.blocks])
    errors = np.minimum((z - rows.y) ** 2, 1)
    expected = [errors.sum(), (errors**2).sum(), (rows.y + 1).sum() / 2, (rows.y**2).sum(), 200]
    answer = LocalEngine(table).answer(ErrorSums(problem, W)) / 2**20
    assert answer == pytest.approx(expected, abs=1e-3)


def figures(n, deviation, spread, told=None):
    """Yield the figures of samples of normal errors around a target that is even on [-.8, .8]."""
    rng = np.random.default_rng(4)
    for _ in range(REPEATS):
        y, errors = rng.uniform(-0.8, 0.8, n), np.minimum(rng.normal(0, spread, n) ** 2, 1)
        sums = [errors.sum(), (errors**2).sum(), (y + 1).sum() / 2, (y**2).sum(), n]
        noisy = np.array(sums) + rng.normal(0, deviation, 5)
        yield figures_of_errors(noisy, 10.0, deviation if told is None else told)


def covered(name, truth, each):
    return np.mean([one[name]["low"] <= truth <= one[name]["high"] for one in each])


@pytest.mark.slow
@pytest.mark.parametrize(("n", "deviation"), [(300, 1.0), (1000, 30.0), (60, 30.0)])
def test_intervals_of_errors_cover(n, deviation):
    each = list(figures(n, deviation, 0.2))
    assert covered("rmse_clipped", 10 * 0.2, each) > 0.93
    assert covered("mean_rmse", 10 * 0.8 / 3**0.5, each) > 0.93


@pytest.mark.slow
def test_intervals_without_the_noise_are_caught():
    assert covered("rmse_clipped", 10 * 0.2, figures(1000, 30.0, 0.2, told=0.0)) < 0.93


def test_a_model_worse_than_the_mean_is_told_so():
    # Errors of .5 of a target whose deviation is .1, of 1000 rows; then the other way round.
    worse = figures_of_errors(np.array([250.0, 62.5, 500.0, 10.0, 1000.0]), 10.0, 1.0)
    assert "worse than the constant model, beyond" in worse["verdict"]
    assert worse["rmse_clipped"]["value"] == pytest.approx(5.0)
    assert worse["mean_rmse"]["value"] == pytest.approx(1.0)
    better = figures_of_errors(np.array([10.0, 0.1, 500.0, 250.0, 1000.0]), 10.0, 1.0)
    assert better["verdict"] is None
