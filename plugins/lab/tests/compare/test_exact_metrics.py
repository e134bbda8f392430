"""Metrics of a fold's rows, computed without privacy: those of scikit-learn."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    f1_score,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from dpcore.plugin import Settings
from dpcore.plugin.parts import dataset_from_arrays
from dpcore_lab.compare.exact_metrics import class_metrics, metrics_of_constant, metrics_of_w
from dpcore_lab.compare.results import Results
from dpcore_lab.compare.settings import Comparison
from dpcore_lab.compare.table import means_of, measures_beside

N = 60


def fold_of(classes, y, steps=2**16, **more):
    """Return a fold that is tested on rows of two columns, in steps that are stored as they are."""
    X = np.random.default_rng(3).integers(0, steps + 1, (y.size, 2)) / steps
    rows = dataset_from_arrays(X, y, classes=classes, bounds=(0, 1), row_norm=None, **more)
    return SimpleNamespace(test=rows, test_table=rows.table()), X


def drawn(classes, n=N):
    return np.random.default_rng(4).choice(classes, n)


def metrics(fold, w, loss="logistic", **changes):
    asked = Comparison(("auto",), ("rows.csv",), (1.0,), loss=loss, **changes)
    return metrics_of_w(fold, w, Settings(loss=loss).make_loss(), asked)


def test_two_classes_have_accuracy_and_auc():
    y = drawn(("no", "yes"))
    fold, X = fold_of(("no", "yes"), y, steps=8)
    found = metrics(fold, np.array([1.0, -2.0, 0.25]))
    scores = X @ [1.0, -2.0] + 0.25
    assert len(np.unique(scores)) < N
    assert found["exact_auc"] == pytest.approx(roc_auc_score(y == "yes", scores))
    assert found["exact_accuracy"] == pytest.approx(accuracy_score(y == "yes", scores > 0))
    assert found["exact_macro_f1"] is None


@pytest.mark.parametrize(("loss", "multiclass"), [("softmax", None), ("logistic", "ovr")])
def test_the_auc_of_several_classes_is_of_their_probabilities(loss, multiclass):
    y = drawn(("a", "b", "c"))
    fold, X = fold_of(("a", "b", "c"), y)
    w = np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, 1.0], [0.5, 0.5, -1.0]])
    found = metrics(fold, w, loss, multiclass=multiclass)
    z = X @ w[:, :2].T + w[:, 2]
    each = np.exp(z) if multiclass is None else 1 / (1 + np.exp(-z))
    chances = each / each.sum(axis=1, keepdims=True)
    said = np.array(["a", "b", "c"])[z.argmax(axis=1)]
    assert found["exact_auc"] == pytest.approx(roc_auc_score(y, chances, multi_class="ovr"))
    assert found["exact_macro_f1"] == pytest.approx(f1_score(y, said, average="macro"))
    # The order by margins alone is another, of which the area differs.
    by_margins = np.mean([roc_auc_score(y == k, z[:, i]) for i, k in enumerate("abc")])
    assert found["exact_auc"] != pytest.approx(by_margins, abs=1e-4)


def test_a_class_without_a_row_has_no_auc_and_a_constant_model_orders_nothing():
    y = np.array(["a", "b", "a", "b"])
    two, _ = fold_of(("a", "b"), y)
    three, _ = fold_of(("a", "b", "c"), y)
    assert metrics_of_constant(two, 1.0) == {
        "exact_accuracy": 0.5,
        "exact_macro_f1": None,
        "exact_auc": 0.5,
    }
    told = metrics_of_constant(three, 1.0)
    assert told["exact_accuracy"] == 0.5 and told["exact_auc"] is None
    schema, none = two.test.schema, np.empty(0)
    assert class_metrics(schema, none, none.astype(int), none) == {}


def test_a_number_has_errors_in_its_own_unit():
    y = np.random.default_rng(5).integers(0, 51, N) * 1.25
    fold, X = fold_of(None, y, target_bounds=(0, 40))
    found = metrics(fold, np.array([0.5, 0.5, -0.25]), "ridge")
    true, said = np.clip(y, 0, 40), np.clip(20 + 20 * (X @ [0.5, 0.5] - 0.25), 0, 40)
    assert found["exact_rmse"] == pytest.approx(root_mean_squared_error(true, said))
    assert found["exact_mae"] == pytest.approx(mean_absolute_error(true, said))
    assert found["exact_r2"] == pytest.approx(r2_score(true, said))


def test_the_auc_is_shown_beside_accuracy(small_results: Results):
    assert measures_beside(small_results.rows, "accuracy") == ("auc",)
    found = {mean.algorithm: mean.mean for mean in means_of(small_results.rows, "auc")}
    assert found["majority"] == 0.5 and 0 <= found["stub"] <= 1
