"""Exact metrics of a model of three classes: those of scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import (
    confusion_matrix,
    f1_score,
    log_loss,
    precision_recall_fscore_support,
    roc_auc_score,
)

from dpcore import fit
from dpcore.plugin import Settings
from dpcore.plugin.parts import dataset_from_arrays
from dpcore_report.exact.diagnostics import accuracy_metrics, class_metrics, confusion, diagnose
from dpcore_report.exact.probability_scores import probability_scores

CLASSES = ("a", "b", "c")


def rows(n=400, seed=4):
    """Return rows of three classes that a linear model tells apart, mostly of the first."""
    rng = np.random.default_rng(seed)
    place = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    centres = np.array([[0.1, 0.1], [0.9, 0.2], [0.3, 0.9]])
    X = np.clip(centres[place] + rng.normal(0, 0.15, (n, 2)), 0, 1)
    return X, np.array(CLASSES)[place]


@pytest.fixture(scope="module")
def exact():
    """The exact fit of these rows, by the reference without privacy."""
    X, y = rows()
    return fit(X, y, classes=CLASSES, bounds=(0, 1), row_norm=None, algo="nonprivate", l2=1e-3)


@pytest.mark.slow
def test_metrics_of_classes_are_those_of_scikit_learn(exact):
    X, y = rows(300, seed=9)
    data = dataset_from_arrays(X, y, classes=CLASSES, bounds=(0, 1), row_norm=None)
    margins, said = exact.margins(data.X), exact.predict(X)
    metrics = accuracy_metrics(exact, margins, data.y)
    assert metrics["test_accuracy"] == pytest.approx(np.mean(said == y))
    assert (metrics["majority_class"], metrics["verdict"]) == ("a", None)
    assert metrics["majority_accuracy"] == pytest.approx(np.mean(y == "a"))
    chances = exact.predict_proba(X)
    metrics |= probability_scores(exact, margins, data.y)
    assert metrics["test_auc"] == pytest.approx(roc_auc_score(y, chances, multi_class="ovr"))
    assert metrics["test_log_loss"] == pytest.approx(log_loss(y, chances))
    is_it = np.array(CLASSES) == y[:, np.newaxis]
    assert metrics["test_brier"] == pytest.approx(((chances - is_it) ** 2).sum(axis=1).mean())
    bins = metrics["test_calibration"]
    right, mean = calibration_curve(said == y, chances.max(axis=1), n_bins=10)
    assert [each["share"] for each in bins] == pytest.approx([*right])
    assert [each["mean_probability"] for each in bins] == pytest.approx([*mean])
    metrics |= class_metrics(CLASSES, confusion(exact, margins, data.y))
    assert metrics["test_macro_f1"] == pytest.approx(f1_score(y, said, average="macro"))
    precision, recall, _, _ = precision_recall_fscore_support(y, said)
    assert [*metrics["test_recall"].values()] == pytest.approx([*recall])
    assert [*metrics["test_precision"].values()] == pytest.approx([*precision])
    counts = confusion_matrix(y, said, labels=CLASSES)
    assert np.array_equal(confusion(exact, margins, data.y), counts)
    by_name = metrics["test_confusion"]
    assert {a: {b: by_name[a].get(b, 0) for b in CLASSES} for a in CLASSES} == {
        a: dict(zip(CLASSES, row, strict=True))
        for a, row in zip(CLASSES, counts.tolist(), strict=True)
    }
    diagnosed = diagnose(Settings(loss="softmax").make_loss(), exact, data, data)
    losses = -np.log(exact.predict_proba(X)[np.arange(300), data.y.astype(int)])
    assert diagnosed["test_loss"] == pytest.approx(losses.mean(), rel=1e-9)
    assert {*metrics} < {*diagnosed}


def test_a_class_that_no_row_is_of_and_none_is_said_to_be_does_not_count():
    metrics = class_metrics(("a", "b", "c"), np.array([[2, 0, 0], [1, 1, 0], [0, 0, 0]]))
    expected = f1_score(["a", "a", "b", "b"], ["a", "a", "a", "b"], average="macro")
    assert metrics["test_macro_f1"] == pytest.approx(expected)
    assert metrics["test_confusion"] == {"a": {"a": 2}, "b": {"a": 1, "b": 1}, "c": {}}


def test_a_model_below_the_commonest_class_is_told(exact):
    X, y = rows()
    data = dataset_from_arrays(X, y, classes=CLASSES, bounds=(0, 1), row_norm=None)
    worst = replace(exact, w=-exact.w)
    verdict = accuracy_metrics(worst, worst.margins(data.X), data.y)["verdict"]
    assert "below the constant model" in verdict and "always 'a' on" in verdict
