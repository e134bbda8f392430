"""``PrivateSearch``: conventions, what is kept, and what is refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from dpcore.errors import InvalidInputError
from dpcore_ledger import TableLedger, Terms
from dpcore_sklearn import (
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateRidge,
    PrivateSearch,
)

X = np.random.default_rng(3).uniform(0, 1, (400, 2))
Y = np.where(X[:, 0] > X[:, 1], "yes", "no")
CLASSES = {"classes": ("no", "yes"), "bounds": (0, 1)}


def search(estimator=None, **asked):
    estimator = estimator or PrivateLogisticRegression(**CLASSES, algo="dp-gd")
    asked = {"candidates": {"l2": [0.001, 0.1]}, "epsilon": 5.0, "tries": 2.0, **asked}
    return PrivateSearch(estimator=estimator, **asked)


@pytest.mark.slow  # 15 s of CPU time
def test_the_checks_of_scikit_learn_pass():
    public = {"classes": "from-labels", "bounds": (-10, 10)}
    asked = {"candidates": [{"l2": 1e-4}], "epsilon": 1e4, "search": "list", "held_out": 0.1}
    refused = {"check_estimators_empty_data_messages": "its message has the number of rows in it"}
    made = search(PrivateLinearSVC(**public), **asked)
    outcomes = check_estimator(made, expected_failed_checks=refused, on_skip=None)
    status = {outcome["check_name"]: outcome["status"] for outcome in outcomes}
    assert len(status) > 35
    assert {name for name, found in status.items() if found == "xfail"} == {*refused}


@pytest.mark.slow
def test_the_best_is_kept_with_its_candidate_and_the_guarantee_of_the_whole():
    fitted = search().fit(X, Y)
    privacy = fitted.model_.privacy
    assert privacy["private"] and privacy["epsilon"] == 5.0
    assert fitted.best_params_ in ({"l2": 0.001}, {"l2": 0.1})
    assert fitted.best_params_ == privacy["search"]["chosen"]
    assert fitted.model_.l2 == fitted.best_params_["l2"]
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert fitted.predict(X[:3]).shape == (3,)
    assert fitted.predict_proba(X[:3]).shape == (3, 2)
    assert fitted.decision_function(X[:3]).shape == (3,)
    assert fitted.n_features_in_ == 2
    assert fitted.model_.report["releases"] == {"search": 1}
    assert 0 <= fitted.score(X, Y) <= 1


@pytest.mark.slow
def test_nothing_else_is_kept():
    fitted = search(tries=5.0).fit(X, Y)
    own = {name for name in vars(fitted) if name.endswith("_")}
    assert own == {"best_estimator_", "best_params_"}
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(X), fitted.predict(X))
    unfitted = clone(fitted)
    with pytest.raises(NotFittedError):
        unfitted.predict(X)


@pytest.mark.slow
def test_it_is_what_its_estimator_is():
    assert is_classifier(search()) and not hasattr(search(PrivateLinearSVC()), "predict_proba")
    ridge = search(PrivateRidge(bounds=(0, 1), target_bounds=(0, 1), algo="dp-gd"))
    assert is_regressor(ridge) and not hasattr(ridge, "decision_function")
    fitted = ridge.fit(X, X[:, 0])
    assert fitted.model_.privacy["search"]["score"] == "loss"
    assert not hasattr(fitted, "classes_")


def test_frames_units_and_a_ledger(tmp_path):
    ledger = TableLedger.create(tmp_path / "t.ledger", Terms.of(14.0, 1e-6, unit="who"))
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(who=np.arange(400) // 2)
    estimator = PrivateLogisticRegression(
        classes=("no", "yes"),
        bounds={"a": (0, 1), "b": (0, 1)},
        unit="who",
        rows_per_unit=2,
        ledger=ledger.path,
        analyst="ann",
        algo="dp-gd",
    )
    fitted = search(estimator, epsilon=2.0, search="list").fit(frame, Y)
    (kept,) = ledger.state().runs.values()
    assert (kept.stated["analyst"], kept.outcome) == ("ann", "finished")
    assert "all rows of" in fitted.model_.privacy["sentence"]


@pytest.mark.slow
def test_weights_of_rows_are_of_fits_and_scores():
    weighted = PrivateLogisticRegression(**CLASSES, algo="dp-gd", weight_bound=2.0)
    asked = search(weighted, epsilon=100.0, search="list")
    both, labels = np.concatenate([X, X]), np.concatenate([Y, Y[::-1]])
    fitted = asked.fit(both, labels, sample_weight=np.repeat([1.0, 0.0], len(X)))
    assert fitted.model_.weight_bound == 2.0 and fitted.score(X, Y) > 0.9
    assert asked.fit(X, Y).model_.weight_bound is None
    with pytest.raises(InvalidInputError, match="weight_bound"):
        search().fit(X, Y, sample_weight=np.ones(len(X)))
    with pytest.raises(TypeError, match="weights"):
        search().fit(X, Y, weights=np.ones(len(X)))


@pytest.mark.slow
def test_a_seed_marks_the_model_and_what_cannot_be_is_refused():
    assert not search(random_state=3).fit(X, Y).model_.privacy["private"]
    with pytest.raises(InvalidInputError, match="one of dpcore_sklearn"):
        search("logistic").fit(X, Y)
    with pytest.raises(InvalidInputError, match="Expected candidates: names and lists of values"):
        search(candidates={}).fit(X, Y)
    evaluated = PrivateLogisticRegression(**CLASSES, evaluate_share=0.1)
    with pytest.raises(InvalidInputError, match="test_fraction"):
        search(evaluated).fit(X, Y)
    with pytest.raises(InvalidInputError, match="from 1 to"):
        search(candidates=[]).fit(X, Y)


@pytest.mark.slow
def test_the_steps_of_an_estimator_are_beside_the_search():
    asked = {"class_weight": "balanced", "test_fraction": 0.5, "evaluate_share": 0.1}
    estimator = PrivateLogisticRegression(**{**CLASSES, **asked})
    model = search(estimator, epsilon=4.0).fit(X, Y).model_
    assert model.privacy["releases"] == {"search": 1, "histogram": 1, "evaluation": 1}
    assert model.privacy["epsilon"] == 4.0 and model.evaluation["accuracy"]["value"] > 0
    assert len(model.class_weights) == 2
