"""Every optimizer of the plugin passes the checks of any plugin."""

import numpy as np
import pytest

from dpcore_lab.checks import check_sensitivity_on_neighbours, parametrize_with_checks
from dpcore_rsgd_ar import sgd_pass
from dpcore_rsgd_ar.bolt_on import BoltOn
from dpcore_rsgd_ar.nsgd import Nsgd
from dpcore_rsgd_ar.outpert_gd import OutpertGd
from dpcore_rsgd_ar.psgd import Psgd
from dpcore_rsgd_ar.rsgd_ar import RsgdAr


@pytest.mark.slow
@parametrize_with_checks([RsgdAr(), Psgd(), Nsgd(), OutpertGd(), BoltOn()])
def test_the_default_is_admitted(optimizer, check):
    check(optimizer)


@pytest.mark.some_fast
@parametrize_with_checks([RsgdAr(epochs=6, tau=3, batch_size=7, step_size=0.5)])
def test_a_small_last_batch_is_admitted(optimizer, check):
    if check.__name__ != "check_huge_epsilon_limit":
        check(optimizer)


def test_the_published_normalised_step_is_caught_by_the_check(monkeypatch):
    def normalised(rows, query):
        # One step on all rows, of the length of the step size, as the published code takes it.
        n = query.schedule.n
        slopes = np.empty(n)
        query.problem.loss.dvalue(np.zeros(n), rows.y, slopes)
        gradient = rows.weighted_sum(0, n, slopes * rows.factor)
        return -query.schedule.step_sizes[0, 0] * gradient / np.linalg.norm(gradient)

    optimizer = RsgdAr(epochs=1, tau=1, batch_size=60, step_size=0.5)
    check_sensitivity_on_neighbours(optimizer)
    monkeypatch.setattr(sgd_pass, "run_pass", normalised)
    with pytest.raises(AssertionError, match="moved by more than the declared l2"):
        check_sensitivity_on_neighbours(optimizer)
