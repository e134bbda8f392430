"""Pipelines, searches and cross-validation of private estimators."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.pipeline import make_pipeline as plain_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from dpcore.errors import InvalidInputError
from dpcore_sklearn import (
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PublicEncoder,
    PublicScaler,
    check_pipeline,
    make_pipeline,
)

SCALER = PublicScaler(bounds={"age": (0, 90)})
ENCODER = PublicEncoder(categories={"city": ["Bern", "Basel"]})
COLUMNS = ColumnTransformer([("a", SCALER, ["age"]), ("c", ENCODER, ["city"])])
LAST = PrivateLinearSVC(bounds=(0, 1), epsilon=5.0)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    age = rng.uniform(0, 90, 900)
    city = np.where(rng.uniform(size=900) > 0.5, "Bern", "Genf")
    return pd.DataFrame({"age": age, "city": city}), (age > 40).astype(int)


def test_columns_by_kind_into_a_private_estimator(table):
    X, y = table
    pipe = make_pipeline(COLUMNS, LAST).fit(X, y)
    assert isinstance(pipe, Pipeline)
    assert pipe[-1].model_.privacy["private"] and pipe[-1].coef_.shape == (1, 3)
    assert pipe.score(X, y) > 0.8
    named = make_pipeline(clone(COLUMNS), clone(LAST)).set_output(transform="pandas").fit(X, y)
    assert named[-1].feature_names_in_.tolist() == ["a__age", "c__city=Bern", "c__city=Basel"]
    assert named.score(X, y) > 0.8


class Subclass(PublicScaler):
    def fit(self, X, y=None):
        self.bounds = X.min(), X.max()
        return super().fit(X)


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (StandardScaler(), "StandardScaler"),
        (OneHotEncoder(), "OneHotEncoder"),
        (SimpleImputer(), "SimpleImputer"),
        (SelectKBest(), "SelectKBest"),
        (FunctionTransformer(lambda X: X - X.mean()), "FunctionTransformer"),
        (Subclass(), "Subclass"),
        (LAST, "PrivateLinearSVC"),
        (make_column_transformer((StandardScaler(), ["age"])), "StandardScaler"),
        (make_column_transformer((SCALER, ["age"]), remainder=StandardScaler()), "StandardScaler"),
        (make_column_transformer((SCALER, lambda X: ["age"])), "A function that chooses columns"),
        (FeatureUnion([("a", SCALER), ("b", StandardScaler())]), "StandardScaler"),
        (plain_pipeline(SCALER, plain_pipeline(StandardScaler())), "StandardScaler"),
    ],
)
def test_steps_that_may_learn_from_rows_are_refused(step, name):
    with pytest.raises(InvalidInputError, match=f"^{name} may learn from the rows"):
        make_pipeline(SCALER, step, LAST)
    pipe = make_pipeline(SCALER, step, LAST, schema_from_data=True)
    assert pipe[-1].schema_from_data and not LAST.schema_from_data
    assert clone(pipe)[-1].schema_from_data


@pytest.mark.parametrize(
    "step",
    [
        "passthrough",
        None,
        COLUMNS,
        make_column_transformer((SCALER, make_column_selector("age")), remainder="drop"),
        FeatureUnion([("a", SCALER), ("b", "drop")]),
        plain_pipeline(SCALER, ENCODER),
    ],
)
def test_steps_that_learn_nothing_are_taken(step):
    assert len(make_pipeline(step, LAST)) == 2


@pytest.mark.parametrize("steps", [(), (SCALER,), (SCALER, LogisticRegression())])
def test_the_last_step_is_private(steps):
    with pytest.raises(InvalidInputError, match="the last step to be a private estimator"):
        make_pipeline(*steps)


def test_a_step_that_learns_marks_the_model(table):
    X, y = table[0][["age"]].to_numpy(), table[1]
    last = PrivateLinearSVC(bounds=(-3, 3))
    pipe = make_pipeline(StandardScaler(), last, schema_from_data=True).fit(X, y)
    (why,) = pipe[-1].model_.privacy["why_not_private"]
    assert "a step before the fit" in why
    # A plain pipeline cannot be looked into, which the docstrings say first.
    assert plain_pipeline(StandardScaler(), last).fit(X, y)[-1].model_.privacy["private"]
    for kind in (PrivateLogisticRegression, PrivateLinearSVC, make_pipeline):
        assert kind.__doc__.split("\n\n")[1].split()[:8] in (
            "In a plain ``Pipeline`` the steps before this".split(),
            "A plain ``Pipeline`` cannot be looked into: what".split(),
        )


def test_a_step_that_is_put_in_later_is_refused_before_the_fit(table):
    X, y = table[0][["age"]], table[1]
    pipe = make_pipeline(PublicScaler(bounds=(0, 90)), LAST)
    search = GridSearchCV(pipe, {"publicscaler": [StandardScaler()]}, cv=2, error_score="raise")
    with pytest.raises(InvalidInputError, match="StandardScaler may learn from the rows"):
        search.fit(X, y)
    pipe.steps[0] = ("publicscaler", StandardScaler())
    with pytest.raises(InvalidInputError, match="StandardScaler may learn from the rows"):
        pipe.fit(X, y)


@pytest.mark.slow
def test_searches_and_folds(table):
    X, y = table
    pipe = make_pipeline(COLUMNS, LAST)
    search = GridSearchCV(pipe, {"privatelinearsvc__epsilon": [0.5, 5.0]}, cv=2).fit(X, y)
    assert search.score(X, y) > 0.7
    assert {*search.cv_results_["param_privatelinearsvc__epsilon"]} == {0.5, 5.0}
    scores = cross_val_score(pipe, X, y, cv=2, scoring="roc_auc")
    assert scores.shape == (2,) and scores.min() > 0.7


def test_metadata_is_routed_to_scores_and_not_to_fits(table):
    X, y = table[0][["age"]], table[1]
    weights = (y == 1).astype(float)
    with config_context(enable_metadata_routing=True):
        last = PrivateLinearSVC(bounds=(0, 90)).set_score_request(sample_weight=True)
        done = cross_validate(
            last, X, y, cv=2, params={"sample_weight": weights}, return_estimator=True
        )
        assert done["test_score"].min() > 0.5
        assert all(one.model_.privacy["private"] for one in done["estimator"])
        assert not hasattr(last, "set_fit_request")
        pipe = make_pipeline(PublicScaler(bounds=(0, 90)), last).fit(X, y)
        assert pipe.score(X, y, sample_weight=weights) == np.mean(pipe.predict(X[y == 1]) == 1)


def test_a_step_that_learns_voids_the_guarantee_of_the_whole(table):
    X, y = table
    ages = X[["age"]]
    plain = plain_pipeline(StandardScaler(), SelectKBest(k=1), clone(LAST)).fit(ages, y)
    assert plain[-1].model_.privacy["private"]  # of its own fit
    found = check_pipeline(plain)
    assert not found.private and found.learning_steps == ("StandardScaler", "SelectKBest")
    assert repr(found).startswith("Not private: StandardScaler, SelectKBest may have learnt")
    public = check_pipeline(make_pipeline(COLUMNS, LAST).fit(X, y))
    assert public.private and "differentially private" in repr(public)
    seen = make_pipeline(StandardScaler(), LAST, schema_from_data=True).fit(ages, y)
    assert not check_pipeline(seen).private
    for other in (LAST, plain_pipeline(StandardScaler(), clone(LAST)), "text"):
        with pytest.raises(InvalidInputError, match="Expected a fitted Pipeline"):
            check_pipeline(other)
