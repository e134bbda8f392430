"""Estimators: what they say of themselves, what marks them, and what they refuse."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score, roc_auc_score

from dpcore import fit
from dpcore.errors import DataError, InvalidInputError
from dpcore_sklearn import PrivateLinearSVC, PrivateLogisticRegression, PrivateRidge

BOUNDS = ([0, 0], [90, 1e6])
SCHEMA = {
    "columns": {
        "age": {"kind": "numeric", "lower": 0, "upper": 90},
        "city": {"kind": "categorical", "categories": ["Bern", "Basel"]},
        "hired": {"kind": "label", "classes": ["yes", "no"]},
    }
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.uniform(0, 90, 1237), rng.uniform(0, 1e6, 1237)])
    return X, (X[:, 0] > 40).astype(int)


@pytest.fixture(scope="module")
def frame(table):
    X, y = table
    city = np.where(X[:, 1] > 5e5, "Bern", "Genf")
    return pd.DataFrame({"age": X[:, 0], "city": city}), np.where(y, "yes", "no")


def svc(**parameters):
    """The estimator of the fewest releases, where any will do."""
    return PrivateLinearSVC(**{"epsilon": 5.0, "bounds": BOUNDS, **parameters})


@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateLinearSVC, PrivateRidge])
def test_the_docstring_explains_every_parameter(kind):
    section = kind.__doc__.split("Parameters\n----------\n")[1].split("\n\n")[0]
    entries = [line.split(" : ")[0] for line in section.splitlines() if not line.startswith(" ")]
    with_inherited_parameters = [name for entry in entries for name in entry.split(", ")]
    assert sorted(with_inherited_parameters) == sorted(kind().get_params())


@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateLinearSVC])
def test_a_classifier_is_that_of_fit(kind, table):
    X, y = table
    clf = kind(bounds=BOUNDS, random_state=7).fit(X, y)
    model = fit(X, y, classes=(0, 1), bounds=BOUNDS, row_norm=None, seed=7, loss=clf.loss)
    assert np.array_equal(clf.coef_, model.coef_) and clf.intercept_ == model.intercept_
    assert np.array_equal(clf.predict(X), model.predict(X))
    assert np.array_equal(clf.decision_function(X), model.decision_function(X))
    assert clf.score(X, y) == model.score(X, y) > 0.8
    assert clf.classes_.tolist() == [0, 1] and clf.n_features_in_ == 2
    assert is_classifier(clf) and not is_regressor(clf)
    assert clf.model_.privacy == model.privacy


def test_a_regression_predicts_within_the_bounds_of_its_target(table):
    X, _ = table
    known = {"bounds": BOUNDS, "target_bounds": (0, 90), "random_state": 1}
    said = PrivateRidge(epsilon=5.0, **known).fit(X, 3 * X[:, 0] - 50).predict(X)
    assert said.min() >= 0 and said.max() == 90


def test_a_regression_is_that_of_fit(table):
    X, _ = table
    y = 3 * X[:, 0] - 50
    ridge = PrivateRidge(bounds=BOUNDS, target_bounds=(-50, 220), epsilon=5.0).fit(X, y)
    assert ridge.model_.privacy["private"] and ridge.model_.loss == "ridge"
    assert ridge.score(X, y) == r2_score(y, ridge.predict(X)) > 0.5
    assert ridge.score(X, y) == pytest.approx(ridge.model_.score(X, y))
    assert ridge.coef_.shape == (2,) and not hasattr(ridge, "decision_function")
    assert not hasattr(ridge, "classes_") and is_regressor(ridge)
    with pytest.raises(InvalidInputError, match="Expected target_bounds"):
        PrivateRidge(bounds=BOUNDS).fit(X, y)


def test_probabilities_are_of_the_logistic_model_only(table):
    X, y = table
    clf = PrivateLogisticRegression(bounds=BOUNDS).fit(X, y)
    assert np.array_equal(clf.predict_proba(X), clf.model_.predict_proba(X))
    assert roc_auc_score(y, clf.predict_proba(X)[:, 1]) > 0.9
    assert not hasattr(PrivateLinearSVC, "predict_proba")
    with pytest.raises(InvalidInputError, match="PrivateLinearSVC takes"):
        PrivateLogisticRegression(bounds=BOUNDS, loss="hinge-svm").fit(X, y)
    with pytest.raises(InvalidInputError, match="take PrivateLogisticRegression"):
        PrivateLinearSVC(loss="logistic", bounds=BOUNDS).fit(X, y)


@pytest.mark.parametrize("classes", [("no", "yes"), ("yes", "no"), np.array(["yes", "no"])])
def test_classes_are_public_and_in_the_order_of_scikit_learn(classes, table):
    # Its scorers take the larger class for that of positive decisions: in another order the area
    # under the curve would be one minus itself.
    X, y = table[0], np.where(table[1], "yes", "no")
    clf = svc(classes=classes).fit(X, y)
    assert clf.classes_.tolist() == ["no", "yes"] and clf.model_.privacy["private"]
    assert roc_auc_score(y, clf.decision_function(X)) > 0.9
    assert clf.score(X, y) > 0.8


@pytest.mark.parametrize("values", [(False, True), (1.5, 3), ("0", "1"), (-1, 1)])
def test_classes_come_back_as_they_were_given(values, table):
    X, y = table[0], np.array(values)[table[1]]
    clf = svc(classes=values).fit(X, y)
    assert clf.predict(X).dtype == y.dtype
    assert set(clf.predict(X).tolist()) == set(values)


@pytest.mark.parametrize("classes", [(0,), "ab", b"ab", 5, None, [[0], [1]], {0: 1, 1: 2}, ()])
def test_other_classes_than_values_are_refused(classes, table):
    with pytest.raises(InvalidInputError, match="Expected classes to be two public values or more"):
        svc(classes=classes).fit(*table)


def test_classes_off_the_labels_mark_the_model(table):
    clf = svc(classes="from-labels").fit(*table)
    assert clf.classes_.tolist() == [0, 1]
    assert clf.model_.privacy["why_not_private"] == [
        "bounds, categories, classes or a step before the fit were read off the rows"
    ]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([3.25, 7.5], "Unknown label type: continuous"),
        ([3.0, np.inf], "A label is NaN or infinite"),
        (np.arange(1001), "more than 1,000 classes"),
        ([7], "there is one class"),
        ([], "there is none"),
        (np.array([3, "seven"], dtype=object), "several types"),
        ([3 + 7j, 3], "Complex data not supported"),
    ],
)
def test_labels_that_are_of_no_classes_are_refused_without_their_values(labels, message):
    y = np.asarray(labels)
    with pytest.raises(DataError, match=message) as caught:
        svc(classes="from-labels").fit(np.ones((len(y), 2)), y)
    assert not {"3", "7", "11", "seven"} & {*str(caught.value).replace(".", " ").split()}


def test_a_seed_marks_the_model_and_repeats_it(table):
    states = [3, np.random.RandomState(3), np.random.RandomState(3)]
    first, second, third = (svc(random_state=state).fit(*table) for state in states)
    assert first.model_.privacy["why_not_private"] == ["the noise came from a seed"]
    assert not second.model_.privacy["private"]
    assert np.array_equal(second.coef_, third.coef_)
    assert svc().random_state is None
    # The noise of no seed is not NumPy's.
    np.random.seed(3)  # noqa: NPY002
    fourth = svc().fit(*table)
    np.random.seed(3)  # noqa: NPY002
    assert not np.array_equal(fourth.coef_, svc().fit(*table).coef_)


def test_a_clone_is_not_fitted_and_a_second_fit_starts_anew(table):
    X, y = table
    clf = svc().fit(X, y)
    with pytest.raises(NotFittedError):
        clone(clf).predict(X)
    clf.set_params(epsilon=1.0)
    assert clf.model_.privacy["epsilon"] == 5.0  # that of the fit
    assert clf.fit(X, 1 - y).model_.privacy["epsilon"] == 1.0
    assert not hasattr(clf, "partial_fit") and "warm_start" not in clf.get_params()


def test_parameters_of_a_fit_are_passed_on(table):
    given = {"algo": "dp-gd", "l2": 0.01, "relation": "replace-one", "accountant": "zcdp"}
    model = svc(**given, delta=1e-6, loss="huber-svm").fit(*table).model_
    assert model.algo["name"] == "dp-gd" and model.l2 == 0.01 and model.loss == "huber-svm"
    privacy = model.privacy
    assert (privacy["neighboring_relation"], privacy["accountant"]) == ("replace-one", "zcdp")
    assert (privacy["epsilon"], privacy["delta"]) == (5.0, 1e-6)


@pytest.mark.parametrize("weights", [{1: 30}, "balanced"])
def test_weights_of_classes_are_passed_on(table, weights):
    X, y = table
    rare = np.where(X[:, 0] > 70, 1, 0)
    capped = {"largest_weight": 5.0} if weights == "balanced" else {}
    plain, weighted = svc(), svc(class_weight=weights, **capped)
    assert weighted.get_params()["class_weight"] == weights
    again = clone(weighted).fit(X, rare)
    found = [np.mean(clf.predict(X)[rare == 1]) for clf in (plain.fit(X, rare), again)]
    assert found[1] >= min(found[0], 0.9)
    stated = again.model_.class_weights
    assert stated == {"0": 1.0, "1": 30.0} if weights != "balanced" else max(stated.values()) <= 5


def test_weights_of_rows_are_refused_with_the_reason(table):
    X, y = table
    with pytest.raises(InvalidInputError, match="a public bound.* of an estimator weight_bound="):
        svc().fit(X, y, sample_weight=np.ones(len(y)))
    svc().fit(X, y, sample_weight=None)
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
        svc().fit(X, y, weights=1)


def test_weights_of_rows_of_units_are_a_column_that_is_named(frame):
    X, y = frame
    people, weights = X.assign(id=np.arange(len(y)) // 2, w=1.0), np.ones(len(y))
    columns = {**SCHEMA["columns"], "id": {"kind": "drop"}, "w": {"kind": "drop"}}
    schema = {"unit": "id", "rows_per_unit": 2, "columns": columns}
    clf = PrivateLinearSVC(epsilon=5.0, schema=schema, weight_bound=2.0)
    with pytest.raises(InvalidInputError, match="with weight_bound=5.0 as sample_weight='weight'"):
        clf.fit(people, y, sample_weight=weights)
    assert "of a value of 'id'" in clf.fit(people, y, sample_weight="w").model_.privacy["sentence"]


def test_a_schema_replaces_what_it_has(frame):
    X, y = frame
    clf = PrivateLinearSVC(schema=SCHEMA, epsilon=5.0).fit(X, y)
    assert clf.classes_.tolist() == ["no", "yes"]
    assert clf.feature_names_in_.tolist() == ["age", "city"]
    assert clf.model_.feature_names == ("age", "city=Bern", "city=Basel")
    assert clf.coef_.shape == (1, 3) and clf.score(X, y) > 0.8
    assert roc_auc_score(y, clf.decision_function(X)) > 0.9
    assert "given the frame's column types" in clf.model_.privacy["sentence"]
    given = {"bounds": (0, 1), "categories": {}, "n_public": 9, "classes": ("no", "yes")}
    for name, value in given.items():
        with pytest.raises(InvalidInputError, match=f"Expected {name} to be left to the schema"):
            clone(clf).set_params(**{name: value}).fit(X, y)
    with pytest.raises(InvalidInputError, match="leave it out of X and pass it as y"):
        clf.fit(X.assign(hired=y), y)


def test_an_array_may_have_a_schema_of_numbers(table):
    X, y = table
    kinds = [
        {"kind": "numeric", "lower": 0, "upper": 90},
        {"kind": "numeric", "lower": 0, "upper": 1e6},
    ]
    columns = dict(zip(["age", "pay"], kinds, strict=True))
    label = {"hired": {"kind": "label", "classes": [0, 1]}}
    clf = PrivateLinearSVC(schema={"columns": columns | label}, epsilon=5.0).fit(X, y)
    assert clf.score(X, y) > 0.8 and not hasattr(clf, "feature_names_in_")
    assert clf.model_.feature_names_in_.tolist() == ["age", "pay"]
    # What becomes of an empty cell is for the schema to say.
    with pytest.raises(DataError, match="row 1, column 'age'"):
        clf.fit(np.where(X == X[0, 0], np.nan, X), y)


def test_a_class_of_several_values_is_scored_as_one(frame):
    X, y = frame
    columns = {**SCHEMA["columns"], "hired": {"kind": "label", "positive": ["yes"]}}
    clf = PrivateLinearSVC(schema={"columns": columns}, epsilon=5.0)
    several = np.where(y == "yes", y, np.where(X["city"] == "Bern", "no", "never"))
    assert clf.fit(X, several).classes_.tolist() == ["not yes", "yes"]
    assert clf.score(X, several) == np.mean((clf.predict(X) == "yes") == (several == "yes")) > 0.8


def test_a_frame_is_described_by_bounds_and_categories(frame):
    X, y = frame
    public = {"bounds": {"age": (0, 90)}, "categories": {"city": ["Bern", "Basel"]}}
    clf = PrivateLinearSVC(**public, classes=("no", "yes"), n_public=1000).fit(X, y)
    assert clf.model_.feature_names == ("age", "city=Bern", "city=Basel")
    assert clf.model_.privacy["n0"] == 1000
    assert "given the frame's column types" in clf.model_.privacy["sentence"]
    assert clf.model_.schema.label.name == "y"
    turned = X[["city", "age"]].rename(columns={"age": "hired"})
    clf = PrivateLinearSVC(
        bounds=(0, 90), categories=public["categories"], classes=("no", "yes")
    ).fit(turned, pd.Series(y, name="hired"))
    assert clf.model_.schema.label.name == "hired_" and clf.n_features_in_ == 2


@pytest.mark.parametrize(
    ("public", "message"),
    [
        ({}, "Expected public bounds"),
        ({"bounds": {"age": (0, 1)}}, "'city' has neither bounds nor categories"),
        ({"bounds": {"agee": (0, 1)}}, "No column 'agee' for bounds. Did you mean age"),
        ({"categories": {"town": ["a"]}, "bounds": (0, 1)}, "No column 'town' for categories"),
        ({"bounds": (0, 1), "categories": {"city": "A1"}}, "of column 'city' to be a list"),
        ({"bounds": {"age": 5, "city": (0, 1)}}, "bounds of column 'age' to be"),
        ({"bounds": 5}, "each a number or one for each of 2 columns"),
        ({"bounds": ([0, 0, 0], 1)}, "each a number or one for each of 2 columns"),
        ({"bounds": (1, 0)}, "Expected lower=1.0 < upper=0.0"),
        ({"bounds": (0, 1), "epsilon": -1}, "epsilon"),
        ({"bounds": (0, 1), "epsilon": "a"}, "epsilon"),
        ({"bounds": (0, 1), "n_public": -5}, "rows"),
        ({"bounds": (0, 1), "random_state": "a"}, "seed"),
        ({"bounds": (0, 1), "algo": "dp-adg"}, "dp-agd"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(public, message, frame):
    with pytest.raises(ValueError if "algo" not in public else LookupError, match=message):
        PrivateLogisticRegression(**public, classes=("no", "yes")).fit(*frame)


def test_categories_are_of_frames(table):
    with pytest.raises(InvalidInputError, match="encode the columns of an array by PublicEncoder"):
        svc(categories={"x1": [0, 1]}).fit(*table)


def test_sparse_rows_need_a_schema_with_a_width(table):
    X, y = table
    with pytest.raises(DataError, match="Sparse rows cannot be mapped to bounds"):
        svc().fit(sparse.csr_array(X), y)
    label = {"label": {"kind": "label", "classes": [0, 1]}}
    clf = svc(bounds=None, schema={"width": 2, "columns": label})
    clf.fit(sparse.csr_array(X / 100), y)
    assert np.array_equal(clf.predict(sparse.csr_array(X / 100)), clf.predict(X / 100))


def test_bounds_that_nobody_knows_are_released(table, frame):
    X, y = table
    clf = PrivateLogisticRegression(private_bounds=True, random_state=7).fit(X, y)
    model = fit(X, y, classes=(0, 1), private_bounds=True, row_norm=None, seed=7)
    assert (
        np.array_equal(clf.coef_, model.coef_)
        and clf.model_.schema.features == model.schema.features
    )
    assert clf.model_.privacy["private_bounds"] == {"columns": ["x1", "x2"], "share": 0.1}
    rows, labels = frame
    parts = {"bounds": {"age": (0, 90)}, "categories": {"city": ["Bern"]}, "private_bounds": True}
    some = svc(classes=("no", "yes"), **parts).fit(rows.assign(pay=X[:, 1]), labels)
    assert some.model_.privacy["private_bounds"]["columns"] == ["pay"]
    bare = {"columns": SCHEMA["columns"] | {"age": {"kind": "numeric", "lower": 0}}}
    own = svc(bounds=None, schema=bare, private_bounds=True).fit(rows, labels)
    (age, _) = own.model_.schema.features
    assert age.lower == 0 < age.upper
    with pytest.raises(InvalidInputError, match="the schema has none"):
        svc(private_bounds=True).fit(X, y)


@pytest.mark.slow
def test_intervals_are_those_of_the_model(table):
    X, y = table
    y = np.where(np.random.default_rng(1).random(y.size) < 0.3, 1 - y, y)
    clf = PrivateLogisticRegression(
        epsilon=200.0, delta=1e-6, algo="dp-gd", bounds=BOUNDS, intervals_share=0.5
    ).fit(X, y)
    assert clf.model_.privacy["intervals"] == {"share": 0.5}
    assert "estimate" in clf.summary().cells()[0]
    ends = clf.predict_interval(X[:5])
    assert ends.shape == (5, 2) and (ends[:, 0] < ends[:, 1]).all()
    assert np.array_equal(ends, clf.model_.predict_interval(X[:5]))
    plain = PrivateLogisticRegression(epsilon=200.0, delta=1e-6, bounds=BOUNDS).fit(X, y)
    with pytest.raises(InvalidInputError, match=r"none were asked for.*\(intervals_share=\)"):
        plain.predict_interval(X[:5])
