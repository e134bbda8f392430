"""What is told of a model that is worse than a constant."""

from dataclasses import replace

import numpy as np
import pytest

from dpcore.compare.notes import notes_of
from dpcore.data.readers.arrays import dataset_from_arrays
from dpcore.fitting.diagnostics import accuracy_figures, diagnose
from dpcore.fitting.plan import make_plan
from dpcore.fitting.run import fit_dataset
from dpcore.fitting.settings import Settings
from dpcore.losses.logistic import Logistic
from dpcore.losses.squared import Squared

X = np.array([[0.0], [1.0], [1.0], [1.0]])


def figures(y, w, loss="logistic", **words):
    data = dataset_from_arrays(X, y, row_norm=2.0, intercept=False, **words)
    model = fit_dataset(make_plan(Settings(loss=loss, algo="dp-agd")), data)
    rows = Squared() if loss == "ridge" else Logistic()
    return diagnose(rows, replace(model, w=np.array(w)), data, data)


@pytest.mark.parametrize(
    ("w", "accuracy", "text"),
    [
        ([-1.0], 0.25, "right on 25.00% of these rows, always 'yes' on 75.00%. What is changed"),
        ([1.0], 1.0, None),
        ([0.0], 0.25, "below the constant model"),
    ],
)
def test_an_accuracy_below_the_commoner_classs(w, accuracy, text):
    found = figures(["no", "yes", "yes", "yes"], w, classes=("no", "yes"))
    assert (found["test_accuracy"], found["majority_accuracy"]) == (accuracy, 0.75)
    assert (found["verdict"] is None) if text is None else (text in found["verdict"])


def test_as_good_as_the_constant_is_not_below_it():
    found = figures(["yes", "no", "no", "no"], [0.0], classes=("no", "yes"))
    assert found["test_accuracy"] == found["majority_accuracy"] == 0.75
    assert found["verdict"] is None


@pytest.mark.parametrize(("w", "is_worse"), [([1.0], False), ([-1.0], True), ([2.0], True)])
def test_a_regression_is_held_against_the_mean(w, is_worse):
    found = figures([0.0, 1.0, 0.9, 0.8], w, loss="ridge", target_bounds=(-1, 1))
    y = np.array([0.0, 1.0, 0.9, 0.8])
    assert found["constant_loss"] == pytest.approx(np.mean((y - y.mean()) ** 2) / 2)
    assert found["test_loss"] == pytest.approx(np.mean((w[0] * X[:, 0] - y) ** 2) / 2)
    told = f"test loss is {found['test_loss']:.4g}, that of always predicting these rows' mean"
    assert (found["verdict"] is not None and told in found["verdict"]) == is_worse


def test_no_rows_have_no_figure():
    data = dataset_from_arrays(X[:0], [], intercept=False)
    model = fit_dataset(make_plan(Settings(algo="dp-agd")), data)
    assert set(accuracy_figures(model, np.zeros(0), data.y).values()) == {None}
    assert set(diagnose(Logistic(), model, data, data).values()) == {None}


def test_a_comparison_names_what_is_below_the_commoner_class():
    base = {"data": "adult", "status": "fitted", "private": True, "seed": None, "message": None}
    base |= {"exact_objective": None, "exact_seconds": 1.0}
    kinds = [("majority", None, 0.757), ("sgd-maj", 0.5, 0.22), ("dp-gd", 0.5, 0.8)]
    rows = [
        {**base, "algorithm": a, "epsilon": e, "exact_accuracy": share} for a, e, share in kinds
    ]
    assert notes_of(rows, []) == [
        "adult: below the constant model, the commoner class for every row (75.70 %): sgd-maj at "
        "epsilon 0.5 (22.00 %)."
    ]
    assert notes_of([rows[0], rows[2]], []) == []
