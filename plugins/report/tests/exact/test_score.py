"""scikit-learn's names, scores and probabilities of a model, against scikit-learn's own."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, r2_score

from dpcore import Schema
from dpcore.data.arrays import features_from_arrays
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin.parts import Model

NUMBERS = [
    {"name": "age", "kind": "numeric", "lower": 0.0, "upper": 100.0},
    {"name": "city", "kind": "categorical", "categories": ["Bern", "Basel"]},
    {"name": "id", "kind": "drop"},
    {"name": "pay", "kind": "numeric", "lower": -1.0, "upper": 1.0},
]
REAL = {"name": "y", "kind": "label", "lower": 100.0, "upper": 900.0}
CLASSES = {"name": "y", "kind": "label", "classes": [["no", "never"], "yes"]}


def fitted(columns, loss="logistic", w=(0.5, -0.25, 0.125, -1.0, 0.25), **schema):
    names = {"algo": {"name": "stub"}, "privacy": {}, "versions": {}, "details": {}}
    schema = Schema.from_dict({"columns": columns, **schema})
    w = np.array(w[: schema.n_features])
    return Model(w=w, schema=schema, loss=loss, l2=0.0, ledger=(), status="", **names)


def numeric(label, **others):
    return fitted([NUMBERS[0], NUMBERS[3], label], **others)


X = np.random.default_rng(3).uniform(-0.5, 90.0, (200, 2))


def test_names_and_shapes_for_two_classes():
    model = fitted([*NUMBERS, CLASSES])
    assert model.coef_.shape == (1, 4) and model.intercept_.shape == (1,)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.n_features_in_ == 3
    assert model.feature_names_in_.tolist() == ["age", "city", "pay"]


def test_names_and_shapes_for_a_regression():
    model = numeric(REAL, loss="ridge")
    assert model.coef_.shape == (2,) and np.ndim(model.intercept_) == 0
    assert not hasattr(model, "classes_")
    encoded = features_from_arrays(X, model.schema)[0][:, :2]
    assert np.allclose(encoded @ model.coef_ + model.intercept_, model.predict(X), rtol=1e-12)


@pytest.mark.parametrize("bounds", [(100.0, 900.0), (0.1, 0.7), (-1e9, 3.0), (-2.0, 0.0)])
def test_a_predicted_number_lies_between_the_bounds_of_the_target(bounds):
    lower, upper = bounds
    label = {**REAL, "lower": lower, "upper": upper}
    model = numeric(label, loss="ridge", w=(9.0, -6.0, -1.0))
    encoded = features_from_arrays(X, model.schema)[0][:, :2]
    straight = encoded @ model.coef_ + model.intercept_
    said = model.predict(X)
    assert (straight < lower).any() and (straight > upper).any()
    assert (said.min(), said.max()) == (lower, upper)
    assert np.allclose(said, np.clip(straight, lower, upper), rtol=1e-12)
    assert np.array_equal(model.decision_function(X), said)
    y = np.linspace(lower, upper, 200)
    assert model.score(X, y) == pytest.approx(r2_score(y, said), rel=1e-12)
    assert np.isnan(model.predict([[np.nan, 0.0]], bad_rows="blank")).all()


def test_columns_without_names_have_none():
    label = {"label": {"kind": "label", "classes": [0, 1]}}
    model = fitted(label, width=2)
    assert model.n_features_in_ == 2 and not hasattr(model, "feature_names_in_")


def test_probabilities_are_those_of_the_log_odds():
    model = numeric(CLASSES, w=(80.0, -40.0, -3.0))
    odds, chances = model.decision_function(X), model.predict_proba(X)
    assert model.has_log_odds and chances.shape == (200, 2)
    assert np.allclose(np.log(chances[:, 1]) - np.log(chances[:, 0]), odds, rtol=1e-12)
    assert np.array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X))
    assert np.allclose(chances.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("label", "loss", "text"),
    [
        (CLASSES, "huber-svm", "only a logistic model has probabilities"),
        (REAL, "ridge", "predicts a number, which has no probabilities"),
    ],
)
def test_other_margins_are_no_log_odds(label, loss, text):
    model = numeric(label, loss=loss)
    assert not model.has_log_odds
    for asked in (lambda: model.predict_proba(X), lambda: model.least_log_odds(0.5)):
        with pytest.raises(InvalidInputError, match=text):
            asked()


def test_a_threshold_is_held_against_the_probability():
    model = numeric(CLASSES, w=(80.0, -40.0, -3.0))
    margins, chances = model.decision_function(X), model.predict_proba(X)[:, 1]
    assert model.least_log_odds(0.5) == 0.0
    for threshold in (0.01, 0.3, 0.5, 0.9):
        said = model.labels(margins, model.least_log_odds(threshold))
        assert np.array_equal(said == "yes", chances > threshold)
    assert 0 < np.sum(chances > 0.3) - np.sum(chances > 0.9)
    for threshold in (0.0, 1.0, -0.1, np.nan):
        with pytest.raises(InvalidInputError, match="Expected 0 < threshold="):
            model.least_log_odds(threshold)


def test_the_score_is_the_accuracy():
    model = numeric(CLASSES)
    y = np.where(X[:, 0] > 50, "yes", "no")
    expected = accuracy_score(y, model.predict(X))
    assert 0 < expected < 1
    assert model.score(X, y) == model.score(X, y.tolist()) == expected
    # A class of several values counts as one.
    assert model.score(X, np.where(y == "no", "never", y)) == expected
    assert np.isnan(model.score(X[:0], []))
    weights = X[:, 0] ** 2
    weighted = accuracy_score(y, model.predict(X), sample_weight=weights)
    assert model.score(X, y, sample_weight=weights) == pytest.approx(weighted, rel=1e-12)


def test_the_score_of_a_regression_is_the_r2_of_targets_beyond_their_bounds_too():
    model = numeric(REAL, loss="ridge")
    y = 20 * X[:, 0] - 300
    assert y.min() < 100 and y.max() > 900
    assert model.score(X, y) == pytest.approx(r2_score(y, model.predict(X)), rel=1e-12)
    assert model.score(X, np.full(200, 7.0)) == r2_score(np.full(200, 7.0), model.predict(X)) == 0
    assert model.score(X, model.predict(X)) == 1
    assert np.isnan(model.score(X[:1], [1.0]))
    weighted = r2_score(y, model.predict(X), sample_weight=X[:, 0] ** 2)
    assert model.score(X, y, X[:, 0] ** 2) == pytest.approx(weighted, rel=1e-12)


@pytest.mark.parametrize("weights", [[1.0], -np.ones(200), [np.nan] * 200, ["a"] * 200])
def test_weights_of_a_score_are_one_for_each_row(weights):
    with pytest.raises(DataError, match="Expected sample_weight to be a number >= 0 for each row"):
        numeric(CLASSES).score(X, ["no"] * 200, weights)


@pytest.mark.parametrize(
    ("label", "y"),
    [
        (CLASSES, ["secret"] * 200),
        (CLASSES, ["no"] * 199),
        (CLASSES, [["no"]] * 200),
        (REAL, ["secret"] * 200),
        (REAL, [np.nan] * 200),
        (REAL, np.full(200, "2020-01-01", dtype="datetime64[D]")),
    ],
)
def test_labels_that_are_none_are_refused_without_their_values(label, y):
    with pytest.raises(DataError, match="^the labels: ") as caught:
        numeric(label, loss="ridge").score(X, y)
    assert "secret" not in str(caught.value) and "199" not in str(caught.value)
