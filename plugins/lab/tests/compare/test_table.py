"""Means and their intervals, against SciPy's, and the tables of them."""

import numpy as np
import pytest
from scipy import stats

from dpcore.errors import InvalidInputError
from dpcore_lab.compare.best import best_of
from dpcore_lab.compare.table import default_measure, means_of, measures_beside, tables_of


def row(accuracy, epsilon=0.5, algorithm="gd", data="adult", status="fitted", **more):
    keys = {"data": data, "algorithm": algorithm, "epsilon": epsilon, "status": status}
    keys |= {"private": True, "seed": None}
    return {
        **keys,
        "exact_accuracy": accuracy,
        "exact_objective": None,
        "exact_seconds": 1.0,
        **more,
    }


def test_the_interval_is_students():
    values = [0.81, 0.84, 0.79, 0.83]
    (mean,) = means_of([row(value) for value in values], "accuracy")
    percent = 100 * np.array(values)
    low, high = stats.t.interval(0.95, 3, loc=percent.mean(), scale=stats.sem(percent))
    assert (mean.mean, mean.half_width) == pytest.approx((percent.mean(), (high - low) / 2))
    assert (mean.fits, mean.failed, mean.untested) == (4, 0, 0)


def test_fits_without_a_row_to_measure_on_are_in_no_mean_and_are_counted():
    rows = [row(0.5), row(None), row(None), row(None, status="failed")]
    (mean,) = means_of(rows, "accuracy")
    assert (mean.fits, mean.untested, mean.failed, mean.made) == (1, 2, 1, 4)
    assert (mean.mean, mean.half_width) == (50.0, None)


def test_the_majority_has_no_objective_on_any_rows():
    rows = [row(0.9, None, "majority"), row(0.8, exact_objective=0.3)]
    majority, fitted = means_of(rows, "objective")
    assert majority.text() == "none" and majority.untested == fitted.untested == 0


def test_errors_are_shown_beside_the_objective_of_a_regression():
    metrics = {"exact_objective": 0.3, "exact_rmse": 2.0, "exact_mae": 1.0, "exact_r2": None}
    assert measures_beside([row(None, **metrics)], "objective") == ("rmse", "mae")
    assert measures_beside([row(None, **metrics, exact_macro_f1=None)], "accuracy") == ()
    rows = [row(None, algorithm=name, exact_r2=r2) for name, r2 in (("a", 0.1), ("b", 0.2))]
    assert best_of(means_of(rows, "r2"), "r2")[0].algorithms == ("b",)


def test_no_rows_at_all_have_no_metric():
    (mean,) = means_of([row(None), row(None)], "objective")
    assert mean.text() == "none" and (mean.fits, mean.untested) == (0, 2)


def test_an_epsilon_is_never_shown_smaller_than_it_is():
    ((_, heads, _),) = tables_of(means_of([row(0.8, 1.0000004)], "accuracy"))
    assert heads == ["epsilon", "1.0000004"]


def test_one_fit_has_no_interval_and_failures_are_counted():
    rows = [row(0.8), row(None, status="failed"), row(None, 1.0, status="failed")]
    first, second = means_of(rows, "accuracy")
    assert first.half_width is None and first.text() == "80.00 (1 of 2 failed)"
    assert second.mean is None and second.text() == "1 of 1 failed"


def test_an_algorithm_whose_fits_are_not_private_is_marked():
    rows = [row(0.8, private=False), row(0.7, algorithm="b"), row(0.6, 1.0, "c")]
    rows += [row(0.5, algorithm="seeded", private=False, seed=1)]
    ((_, _, lines),) = tables_of(means_of(rows, "accuracy"))
    assert [line[0] for line in lines] == ["gd (not private)", "b", "c", "seeded"]


def test_a_reference_has_its_metric_in_every_column():
    rows = [row(0.9, None, "nonprivate"), row(0.8, 1.0), row(0.7, 0.5), row(0.6, 0.5, data="bank")]
    (adult, bank) = tables_of(means_of(rows, "accuracy"))
    assert adult == (
        "adult",
        ["epsilon", "0.5", "1"],
        [["gd", "70.00", "80.00"], ["nonprivate (not private)", "90.00", "90.00"]],
    )
    assert bank[2] == [["gd", "60.00", ""]]


def test_another_measure_is_refused():
    with pytest.raises(InvalidInputError, match="y='error' to be accuracy, macro_f1, obj"):
        means_of([row(0.8)], "error")
    with pytest.raises(InvalidInputError, match="No fit has a value of objective"):
        means_of([row(0.8)], "objective")


def test_a_regression_is_measured_by_its_objective():
    assert default_measure([row(None), row(0.8)]) == "accuracy"
    assert default_measure([row(None)]) == "objective"
