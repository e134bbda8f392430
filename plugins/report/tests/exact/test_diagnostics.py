"""Exact metrics of a model on rows, and what is told of one that is worse than a constant."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import (
    brier_score_loss,
    log_loss,
    mean_absolute_error,
    mean_squared_error,
    precision_recall_fscore_support,
    r2_score,
    roc_auc_score,
)

from dpcore.losses.squared import Squared
from dpcore.plugin import Settings
from dpcore.plugin.commands import Run, make_plan
from dpcore.plugin.parts import Logistic, dataset_from_arrays
from dpcore_baselines.losses.huber import HuberSvm as Huber
from dpcore_lab.compare.notes import notes_of
from dpcore_report.exact.diagnostics import accuracy_metrics, diagnose
from dpcore_report.exact.probability_scores import probability_scores
from dpcore_report.exact.text import calibration_of, confusion_of, exact_in_words, metrics_of

X = np.array([[0.0], [1.0], [1.0], [1.0]])


def metrics(y, w, loss="logistic", **words):
    data = dataset_from_arrays(X, y, row_norm=2.0, intercept=False, **words)
    model = Run(make_plan(Settings(loss=loss, algo="dp-agd")), data).model()
    rows = Squared() if loss == "ridge" else Logistic()
    return diagnose(rows, replace(model, w=np.array(w)), data, data)


def test_metrics_say_that_weights_are_left_out():
    told = "Each row counts once in these metrics: weights are left out."
    data = dataset_from_arrays(X, [0, 1, 1, 1], row_norm=2.0, intercept=False, classes=(0, 1))
    plain = Run(make_plan(Settings(loss="logistic", algo="dp-agd")), data).model()
    weighted = (replace(plain, weight_bound=5.0), replace(plain, class_weights={"1": 2.0}))
    for model, is_told in ((plain, False), *((each, True) for each in weighted)):
        found = diagnose(Logistic(), model, data, data)
        assert (told in exact_in_words(found)) == is_told == ("weights_left_out" in found)
        assert not any("left out" in metric for metric in metrics_of(found))


def two_classes(slope, loss="logistic"):
    """400 rows whose label follows the first of two features, and a model of it."""
    rng = np.random.default_rng(5)
    rows = rng.uniform(-1, 1, (400, 2))
    y = np.where(rows[:, 0] + rng.logistic(size=400) / 3 > 0.2, "yes", "no")
    data = dataset_from_arrays(rows, y, row_norm=2.0, intercept=False, classes=("no", "yes"))
    model = Run(make_plan(Settings(loss=loss, algo="dp-agd")), data).model()
    return data, replace(model, w=np.array([slope, 0.0]))


@pytest.mark.parametrize(
    ("w", "accuracy", "text"),
    [
        (
            [-1.0],
            0.25,
            "right on 25.00% of these rows, always 'yes' on 75.00%. Whatever you change",
        ),
        ([1.0], 1.0, None),
        ([0.0], 0.25, "below the constant model"),
    ],
)
def test_an_accuracy_below_the_commoner_classs(w, accuracy, text):
    found = metrics(["no", "yes", "yes", "yes"], w, classes=("no", "yes"))
    assert (found["test_accuracy"], found["majority_accuracy"]) == (accuracy, 0.75)
    assert (found["verdict"] is None) if text is None else (text in found["verdict"])


@pytest.mark.parametrize("facts", [{"class_weights": {"no": 3.0}}, {"weight_bound": 2.0}])
def test_a_model_of_weights_is_not_held_against_an_accuracy_that_it_does_not_aim_at(facts):
    data = dataset_from_arrays(X, ["no", "yes", "yes", "yes"], classes=("no", "yes"))
    model = Run(make_plan(Settings(algo="dp-agd")), data).model()
    told = [
        accuracy_metrics(replace(model, **each), np.full(4, -1.0), data.y) for each in ({}, facts)
    ]
    assert [each.pop("verdict") is None for each in told] == [False, True]
    assert told[0] == told[1]


def test_as_good_as_the_constant_is_not_below_it():
    found = metrics(["yes", "no", "no", "no"], [0.0], classes=("no", "yes"))
    assert found["test_accuracy"] == found["majority_accuracy"] == 0.75
    assert found["verdict"] is None


@pytest.mark.parametrize(("w", "is_worse"), [([1.0], False), ([-1.0], True), ([9.0], False)])
def test_a_regression_is_held_against_the_mean_in_its_own_unit(w, is_worse):
    # Bounds other than -1 and 1: a metric in the scaled target's unit would be another.
    y = np.array([100.0, 300.0, 280.0, 260.0])
    found = metrics(y, w, loss="ridge", target_bounds=(0, 200))  # Held to at most 200.
    # Predictions are held to the bounds like targets: of w = 9, which says 1000, to 200.
    held, said = np.minimum(y, 200), np.clip(100 + 100 * w[0] * X[:, 0], 0, 200)
    assert found["test_rmse"] == found["train_rmse"]
    assert found["test_rmse"] == pytest.approx(mean_squared_error(held, said) ** 0.5)
    assert found["test_mae"] == pytest.approx(mean_absolute_error(held, said))
    assert found["test_r2"] == pytest.approx(r2_score(held, said))
    mean = np.full(4, held.mean())
    assert found["mean_rmse"] == pytest.approx(mean_squared_error(held, mean) ** 0.5)
    assert found["mean_mae"] == pytest.approx(mean_absolute_error(held, mean))
    assert not [name for name in found if name.endswith("loss")]
    assert f"test RMSE {found['test_rmse']:.4g}" in metrics_of(found)
    assert metrics_of({"mean_mae": 12345.6}) == ["MAE of always predicting their mean 12,346"]
    ratio = mean_squared_error(held, said) / mean_squared_error(held, mean)
    told = f"test loss is {ratio:.4g} times that of always predicting these rows' mean"
    assert (found["verdict"] is not None and told in found["verdict"]) == is_worse


def test_targets_that_are_all_alike():
    found = metrics([5.0] * 4, [1.0], loss="ridge", target_bounds=(0, 10))
    assert found["test_r2"] is None and found["mean_rmse"] == 0.0
    assert "test loss is above that of always" in found["verdict"]
    assert "test R2 undefined (all targets are alike)" in metrics_of(found)


def test_scores_are_those_of_scikit_learn():
    data, model = two_classes(2.5)
    found = diagnose(Logistic(), model, data, data)
    margins, y = model.margins(data.X), data.y > 0
    chances = 1 / (1 + np.exp(-margins))
    assert found["test_auc"] == pytest.approx(roc_auc_score(y, margins))
    assert found["test_log_loss"] == pytest.approx(log_loss(y, chances))
    assert found["test_log_loss"] == pytest.approx(found["test_loss"], rel=1e-8)
    assert found["test_brier"] == pytest.approx(brier_score_loss(y, chances))
    precision, recall, _, _ = precision_recall_fscore_support(y, margins > 0)
    assert [*found["test_recall"].values()] == pytest.approx([*recall])
    assert [*found["test_precision"].values()] == pytest.approx([*precision])
    came_true, mean = calibration_curve(y, chances, n_bins=10)
    bins = found["test_calibration"]
    assert [each["share"] for each in bins] == pytest.approx([*came_true])
    assert [each["mean_probability"] for each in bins] == pytest.approx([*mean])
    assert sum(each["rows"] for each in bins) == y.size and len(bins) > 5
    assert all(each["from"] <= each["mean_probability"] <= each["to"] for each in bins)
    # The twin that takes the margins for probabilities is told apart.
    assert found["test_brier"] != pytest.approx(np.mean((margins - y) ** 2))


def test_ties_of_scores_count_half():
    data, model = two_classes(0.0)
    assert diagnose(Logistic(), model, data, data)["test_auc"] == 0.5
    coarse = replace(model, w=np.array([1.0, 0.0]))
    scores = np.round(4 * coarse.margins(data.X)) / 4
    found = probability_scores(coarse, scores, data.y)
    assert found["test_auc"] == pytest.approx(roc_auc_score(data.y, scores))


def test_probabilities_next_to_nothing_have_a_finite_log_loss():
    data, model = two_classes(-4000.0)
    found = diagnose(Logistic(), model, data, data)
    expected = np.logaddexp(0, -data.y * model.margins(data.X)).mean()
    assert found["test_log_loss"] == pytest.approx(expected) and expected > 100


@pytest.mark.parametrize("label", ["no", "yes"])
def test_rows_of_one_class_only(label):
    found = metrics([label] * 4, [1.0], classes=("no", "yes"))
    assert found["test_auc"] is None and found["test_log_loss"] > 0
    other = {"no": "yes", "yes": "no"}[label]
    assert found["test_recall"][other] is None and found["test_recall"][label] is not None
    assert "test AUC undefined (a class has no test row)" in metrics_of(found)
    assert "recall undefined" in "".join(confusion_of(found))
    assert json.dumps(found, allow_nan=False)


def test_a_loss_without_probabilities_has_no_score_of_them():
    data, model = two_classes(1.0, loss="huber-svm")
    found = diagnose(Huber(), model, data, data)
    assert found["test_auc"] == pytest.approx(roc_auc_score(data.y, model.margins(data.X)))
    assert not {"test_log_loss", "test_brier", "test_calibration"} & set(found)
    assert calibration_of(found) == []


def test_the_tables_in_words():
    data, model = two_classes(2.5)
    found = diagnose(Logistic(), model, data, data)
    head, first, *_ = calibration_of(found)
    assert head == (
        "Test rows by the probability predicted of 'yes', and the share for which it came true, "
        "WITHOUT privacy:"
    )
    assert first.startswith("  0.0 to 0.1: ") and "came true" in first
    words = metrics_of(found)
    assert f"test AUC {found['test_auc']:.4f}" in words
    assert f"test Brier score {found['test_brier']:.4f}" in words


def test_no_rows_have_no_metric():
    data = dataset_from_arrays(X[:0], [], intercept=False)
    model = Run(make_plan(Settings(algo="dp-agd")), data).model()
    assert set(accuracy_metrics(model, np.zeros(0), data.y).values()) == {None}
    found = diagnose(Logistic(), model, data, data)
    assert set(found.values()) == {None}
    none = "no row to test on: metrics of the test are undefined"
    assert metrics_of(found) == ["train loss undefined", none]
    assert confusion_of(found) == calibration_of(found) == []
    data = dataset_from_arrays(X[:0], [], intercept=False, target_bounds=(0, 1))
    model = Run(make_plan(Settings(algo="dp-agd", loss="ridge")), data).model()
    found = diagnose(Squared(), model, data, data)
    assert set(found.values()) == {None}
    assert metrics_of(found) == ["train RMSE undefined", none]


def test_metrics_of_several_classes_in_words():
    metrics = {"test_accuracy": 0.5, "majority_accuracy": 0.6, "majority_class": "a"}
    metrics |= {"verdict": None, "test_macro_f1": 0.25}
    metrics |= {"test_confusion": {"a": {"a": 3, "b": 1}, "b": {}, "c": {"a": 2}}}
    metrics["test_recall"] = {"a": 0.75, "b": None, "c": 0.0}
    metrics["test_precision"] = {"a": 0.6, "b": 0.0, "c": None}
    words = ["test accuracy 50.00%", "test macro f1 0.2500", "always predicting 'a': 60.00%"]
    assert metrics_of(metrics) == words
    assert confusion_of(metrics) == [
        "Test rows of each class, and the classes predicted for them, exact, WITHOUT privacy:",
        "  class a: predicted 3 as a, 1 as b (recall 75.00%, precision 60.00%)",
        "  class b: no row (recall undefined, precision 0.00%)",
        "  class c: predicted 2 as a (recall 0.00%, precision undefined)",
    ]
    assert confusion_of({"test_accuracy": 1.0}) == []
    many = {"test_confusion": {str(k): {} for k in range(21)}}
    assert confusion_of(many) == ["Which of 21 classes was taken for which: --json prints it."]


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
