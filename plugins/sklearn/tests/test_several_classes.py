"""Estimators of three classes and more."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import cross_val_predict, cross_val_score

from dpcore import Schema, fit
from dpcore.errors import DataError, DpcoreError, InvalidInputError
from dpcore_sklearn import PrivateLinearSVC, PrivateLogisticRegression
from dpcore_sklearn.public import with_label_ascending

SCHEMA = {
    "columns": {
        "x": {"kind": "numeric", "lower": 0, "upper": 1},
        "z": {"kind": "numeric", "lower": 0, "upper": 1},
        "y": {"kind": "label", "classes": ["c", ["b", "b2"], "a"]},
    }
}
ALGO = "dp-gd"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(8)
    place = rng.integers(0, 3, 300)
    X = np.array([[0.1, 0.1], [0.9, 0.2], [0.3, 0.9]])[place] + rng.normal(0, 0.1, (300, 2))
    return np.clip(X, 0, 1), np.array(["a", "b", "c"])[place]


def logistic(**parameters):
    words = {"bounds": (0, 1), "epsilon": 40.0, "algo": ALGO, "classes": ("c", "a", "b")}
    return PrivateLogisticRegression(**{**words, **parameters})


def test_a_classifier_of_three_classes_is_that_of_fit(rows):
    X, y = rows
    clf = logistic(random_state=3).fit(X, y)
    words = {"bounds": (0, 1), "row_norm": None, "epsilon": 40.0, "algo": ALGO, "seed": 3}
    model = fit(X, y, classes=("a", "b", "c"), **words)
    assert np.array_equal(clf.coef_, model.coef_) and clf.coef_.shape == (3, 2)
    assert np.array_equal(clf.intercept_, model.intercept_) and clf.intercept_.shape == (3,)
    assert clf.classes_.tolist() == ["a", "b", "c"] and clf.model_.loss == "softmax"
    assert clf.decision_function(X).shape == (300, 3)
    assert np.array_equal(clf.predict(X), model.predict(X))
    assert np.array_equal(clf.predict_proba(X), model.predict_proba(X))
    assert clf.score(X, y) == np.mean(clf.predict(X) == y) > 0.9
    assert roc_auc_score(y, clf.predict_proba(X), multi_class="ovr") > 0.9
    assert log_loss(y, clf.predict_proba(X)) < np.log(3)


@pytest.mark.slow
def test_classifiers_against_the_rest_share_one_budget(rows):
    X, y = rows
    words = {"bounds": (0, 1), "epsilon": 60.0, "classes": ("a", "b", "c"), "multiclass": "ovr"}
    for build, loss in ((PrivateLogisticRegression, "logistic"), (PrivateLinearSVC, "huber-svm")):
        clf = build(algo="outpert", **words).fit(X, y)
        assert clf.model_.multiclass == "ovr" and clf.model_.loss == loss
        assert (clf.model_.privacy["epsilon"], clf.model_.privacy["fits"]) == (60.0, 3)
        assert clf.coef_.shape == (3, 2) and clf.decision_function(X).shape == (300, 3)
        assert clone(clf).get_params()["multiclass"] == "ovr"
    assert clf.__sklearn_tags__().classifier_tags.multi_class
    clf = PrivateLogisticRegression(algo="dp-gd", **words).fit(X, y)
    chances = clf.predict_proba(X)
    assert clf.score(X, y) > 0.6
    assert chances.sum(axis=1) == pytest.approx(1.0)


@pytest.mark.slow
def test_it_is_cross_validated_as_any_classifier(rows):
    X, y = rows
    words = {"bounds": (0, 1), "epsilon": 60.0, "classes": ("a", "b", "c")}
    clf = PrivateLinearSVC(algo="dp-gd", multiclass="ovr", **words)
    scores = cross_val_score(clf, X, y, cv=2, scoring="f1_macro")
    assert scores.shape == (2,) and scores.min() > 0.8


def test_of_two_classes_it_is_the_fit_as_ever(rows):
    X, y = rows
    words = {"bounds": (0, 1), "classes": ("no", "yes"), "random_state": 1, "algo": "dp-gd"}
    labels = np.where(y == "a", "yes", "no")
    plain, asked = (
        PrivateLinearSVC(multiclass=how, **words).fit(X, labels) for how in (None, "ovr")
    )
    assert np.array_equal(plain.coef_, asked.coef_) and asked.model_.multiclass is None


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (("a",), "to be two public values or more"),
        (("a", "b", "a"), "Duplicate values among the classes"),
        (("a", "b"), "the label is not one of the classes 'a', 'b'"),
        (("a", "b", "d"), "the label is not one of the classes 'a', 'b', 'd'"),
        (iter("abc"), "as a tuple or a list: one fit would use an iterator up"),
    ],
)
def test_bad_classes_are_refused_in_a_line(rows, classes, message):
    for build in (PrivateLogisticRegression, PrivateLinearSVC):
        clf = build(classes=classes, bounds=(0, 1), multiclass="ovr")
        with pytest.raises(DpcoreError, match=message) as caught:
            clf.fit(*rows)
        assert "\n" not in str(caught.value) and not hasattr(clf, "model_")


def test_its_guarantee_is_one_for_all_classes(rows):
    clf = logistic().fit(*rows)
    assert clf.model_.privacy["private"] and clf.model_.privacy["epsilon"] == 40.0


def test_classes_off_the_labels_mark_the_model(rows):
    clf = logistic(classes="from-labels").fit(*rows)
    assert clf.classes_.tolist() == ["a", "b", "c"] and not clf.model_.privacy["private"]


def test_a_schema_with_its_classes_in_another_order_is_turned(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=["x", "z"])
    clf = PrivateLogisticRegression(schema=SCHEMA, epsilon=40.0, algo=ALGO).fit(frame, y)
    assert clf.classes_.tolist() == ["a", "b", "c"] and clf.score(frame, y) > 0.9
    several = np.where(y == "b", "b2", y)
    assert clf.score(frame, several) == clf.score(frame, y)


@pytest.mark.parametrize(
    ("label", "names"),
    [
        ({"classes": ["c", "a", "b"]}, ("a", "b", "c")),
        ({"classes": [3, 20, 1]}, (1, 3, 20)),
        ({"classes": ["c", "a"], "other": "b"}, ("a", "c", "b")),  # in its place, the last
        ({"classes": ["b", "a"]}, ("a", "b")),
        ({"classes": ["b", "a"], "other": "b"}, ("a", "b")),
        ({"positive": ["a"], "other": "b"}, ("b", "a")),
        ({"lower": 0, "upper": 1}, ()),
    ],
)
def test_listed_classes_are_ascending(label, names):
    columns = {**SCHEMA["columns"], "y": {"kind": "label", **label}}
    turned = with_label_ascending(Schema.from_dict({"columns": columns}))
    assert turned.label.names == names
    assert Schema.from_toml(turned.to_toml()) == turned


@pytest.mark.parametrize("words", [{"classes": ("a", "b", "c")}, {"classes": "from-labels"}])
def test_a_support_vector_machine_says_why_it_takes_two(rows, words):
    with pytest.raises(InvalidInputError, match="Only binary classification is supported: a hinge"):
        PrivateLinearSVC(bounds=(0, 1), **words).fit(*rows)
    frame = pd.DataFrame(rows[0], columns=["x", "z"])
    with pytest.raises(InvalidInputError, match="PrivateLogisticRegression takes all of them"):
        PrivateLinearSVC(schema=SCHEMA).fit(frame, rows[1])


def test_a_label_that_is_no_class_is_refused(rows):
    X, y = rows
    with pytest.raises(DataError, match="the label is not one of the classes 'a', 'b'"):
        logistic(classes=("a", "b")).fit(X, y)
    with pytest.raises(InvalidInputError, match="Duplicate"):
        logistic(classes=("a", "b", "b")).fit(X, y)


def test_folds_have_probabilities_of_every_class(rows):
    X, y = rows[0], np.searchsorted(["a", "b", "c"], rows[1])  # It hands places over.
    chances = cross_val_predict(logistic(classes=(0, 1, 2)), X, y, cv=2, method="predict_proba")
    assert chances.shape == (300, 3) and np.mean(chances.argmax(axis=1) == y) > 0.8


def test_the_tags_say_who_takes_several():
    assert PrivateLogisticRegression().__sklearn_tags__().classifier_tags.multi_class
    assert not PrivateLinearSVC().__sklearn_tags__().classifier_tags.multi_class
