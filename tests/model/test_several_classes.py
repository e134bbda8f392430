"""Models of three classes and more, made by hand: predictions, files, scikit-learn's names."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from sklearn.metrics import accuracy_score

from dpcore import Schema, load_model
from dpcore.errors import DataError, DpcoreWarning, InvalidInputError, ModelFileError
from dpcore.model.file import checksum
from dpcore.plugin.parts import Model, PrivacyStatement

PRIVACY = PrivacyStatement(
    epsilon=1.0,
    delta=1e-8,
    relation="replace-one",
    accountant="zcdp",
    conversion="tight",
    unit="rho",
    budget=0.01,
    spent=0.009,
    releases={"gradient": 2},
).to_dict()
COLUMNS = {
    "age": {"kind": "numeric", "lower": 0.0, "upper": 1.0},
    "pay": {"kind": "numeric", "lower": 0.0, "upper": 1.0},
    "y": {"kind": "label", "classes": ["a", ["b", "b2"], "c"]},
}
W = np.array([[1.0, -2.0, 0.5], [0.25, 1.0, 0.0], [-1.0, 0.5, 0.5]])
X = np.random.default_rng(1).integers(0, 65, (50, 2)) / 64
FRAME = pd.DataFrame(X, columns=["age", "pay"])
MARGINS = np.column_stack([X, np.ones(50)]) @ W.T


def model(w=W, columns=COLUMNS, loss="softmax", class_values=None, multiclass=None, **schema):
    return Model(
        w=np.array(w),
        schema=Schema.from_dict({"columns": columns, **schema}),
        loss=loss,
        l2=0.0,
        algo={"name": "stub", "distribution": "d", "version": "1", "parameters": {}},
        privacy=PRIVACY,
        ledger=(),
        status="Done.",
        details={},
        versions={"python": "3"},
        class_values=class_values,
        multiclass=multiclass,
    )


def test_margins_probabilities_and_labels_are_of_each_class():
    fitted = model()
    assert np.array_equal(fitted.decision_function(FRAME), MARGINS)
    chances = fitted.predict_proba(FRAME)
    assert chances.shape == (50, 3) and chances == pytest.approx(softmax(MARGINS, axis=1))
    expected = np.array(["a", "b", "c"])[MARGINS.argmax(axis=1)]
    assert np.array_equal(fitted.predict(FRAME), expected)
    assert {*expected.tolist()} == {"a", "b", "c"}


def test_the_margins_of_a_class_are_those_of_a_model_of_its_coefficients():
    two = {**COLUMNS, "y": {"kind": "label", "classes": ["a", "b"]}}
    for k, column in enumerate(model().decision_function(FRAME).T):
        alone = model(W[k], two, "logistic").decision_function(FRAME)
        assert np.array_equal(column, alone)


def test_probabilities_of_far_margins_are_finite_and_add_up():
    chances = model(W * 2.0**12).predict_proba(FRAME)
    assert np.isfinite(chances).all() and chances.sum(axis=1) == pytest.approx(1.0)


def test_the_first_of_equal_margins_is_said():
    assert model(np.zeros((3, 3))).predict(FRAME).tolist() == ["a"] * 50
    second = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 2.0], [0.0, 0.0, 2.0]])
    assert model(second).predict(FRAME).tolist() == ["b"] * 50


def test_a_row_without_a_score_has_none_in_each_column():
    frame = FRAME.copy()
    frame.loc[[0, 7], "age"] = np.nan
    blank = np.isin(np.arange(50), [0, 7])
    with pytest.warns(DpcoreWarning, match="2 of 50 rows have no score"):
        margins = model().decision_function(frame)
    assert np.isnan(margins[blank]).all() and np.array_equal(margins[~blank], MARGINS[~blank])
    with pytest.warns(DpcoreWarning):
        chances, labels = model().predict_proba(frame), model().predict(frame)
    assert np.isnan(chances[blank]).all() and np.isfinite(chances[~blank]).all()
    assert [label is None for label in labels] == blank.tolist()
    with pytest.raises(DataError, match="'age'"):
        model().predict(frame, bad_rows="refuse")


def test_no_rows_have_no_margins():
    assert model().decision_function(FRAME[:0]).shape == (0, 3)
    assert model().predict_proba(FRAME[:0]).shape == (0, 3)
    assert model().predict(FRAME[:0]).tolist() == []


def test_the_score_is_the_accuracy_by_class():
    said, fitted = model().predict(FRAME), model()
    truth = np.where(np.arange(50) % 3 == 0, "b2", said)
    assert fitted.score(FRAME, truth) == accuracy_score(np.where(truth == "b2", "b", truth), said)
    weights = np.arange(50.0)
    plain = np.where(truth == "b2", "b", truth)
    assert fitted.score(FRAME, truth, weights) == pytest.approx(
        accuracy_score(plain, said, sample_weight=weights)
    )
    with pytest.raises(DataError, match="not one of the classes 'a', 'b', 'b2', 'c'"):
        fitted.score(FRAME, np.where(np.arange(50) == 3, "d", truth))


def test_a_model_of_two_classes_is_asked_for_a_third():
    two = {**COLUMNS, "y": {"kind": "label", "classes": ["a", "b"]}}
    with pytest.raises(DataError, match="the label is not one of the classes 'a', 'b'"):
        model(W[0], two, "logistic").score(FRAME, ["a"] * 49 + ["c"])


def test_other_values_are_of_their_class():
    columns = {**COLUMNS, "y": {"kind": "label", "classes": ["a", "b"], "other": "rest"}}
    fitted = model(columns=columns)
    assert fitted.classes_.tolist() == ["a", "b", "rest"]
    said = fitted.predict(FRAME)
    assert fitted.score(FRAME, np.where(said == "rest", "elsewhere", said)) == 1.0


def test_the_names_and_shapes_are_those_of_scikit_learn():
    fitted = model()
    assert np.array_equal(fitted.coef_, W[:, :2]) and np.array_equal(fitted.intercept_, W[:, 2])
    assert fitted.coef_.shape == (3, 2) and fitted.intercept_.shape == (3,)
    assert fitted.classes_.tolist() == ["a", "b", "c"] and fitted.n_features_in_ == 2
    without = model(W[:, :2], intercept=False)
    assert without.coef_.shape == (3, 2) and without.intercept_.tolist() == [0.0] * 3


def test_the_callers_own_classes_come_back():
    assert model(class_values=(1.5, 2.5, 3.5)).predict(FRAME).dtype == np.float64
    assert model(class_values=(1, "b", None)).classes_.dtype == object


def test_a_loss_without_log_odds_has_no_probabilities():
    with pytest.raises(InvalidInputError, match="of more classes than two a softmax one"):
        model(loss="huber-svm").predict_proba(FRAME)


def test_one_vs_rest_probabilities_are_those_of_each_class_over_their_sum():
    fitted = model(loss="logistic", multiclass="ovr")
    apart = expit(MARGINS)
    assert fitted.predict_proba(FRAME) == pytest.approx(apart / apart.sum(axis=1, keepdims=True))
    assert np.array_equal(fitted.predict(FRAME), model().predict(FRAME))
    # Where all are next to nothing, their quotients are numbers still.
    far = model(np.full((3, 3), -(2.0**12)), loss="logistic", multiclass="ovr").predict_proba(FRAME)
    assert far == pytest.approx(np.full((50, 3), 1 / 3))
    for loss, multiclass in (("huber-svm", "ovr"), ("softmax", "ovr"), ("logistic", None)):
        with pytest.raises(InvalidInputError, match="one-vs-rest a logistic one"):
            model(loss=loss, multiclass=multiclass).predict_proba(FRAME)


def test_a_file_says_that_it_is_one_vs_rest(tmp_path, path):
    assert "multiclass" not in json.loads(path.read_text())
    model(loss="logistic", multiclass="ovr").save(tmp_path / "ovr.json")
    assert json.loads((tmp_path / "ovr.json").read_text())["multiclass"] == "ovr"
    again = load_model(tmp_path / "ovr.json")
    assert again.multiclass == "ovr" and np.array_equal(again.w, W)
    assert "fitted by stub, each class against the rest" in repr(again)


def test_its_text_and_table_name_every_class():
    first = repr(model()).splitlines()[0]
    assert first == (
        "Model: 'a', 'b' or 'c' by softmax loss, 2 features and an intercept, fitted by stub"
    )
    html = model()._repr_html_()
    assert "<tr><th></th><th>a</th><th>b</th><th>c</th></tr>" in html and "9 coefficients" in html
    assert "<tr><td>age</td><td>1</td><td>0.25</td><td>-1</td></tr>" in html
    assert "<tr><td>intercept</td><td>0.5</td><td>0</td><td>0.5</td></tr>" in html
    many = {**COLUMNS, "y": {"kind": "label", "classes": [*range(12)]}}
    assert "one of 12 classes (0, 1, 2, 3, 4, 5, 6, 7, ...)" in repr(model(np.ones((12, 3)), many))


@pytest.fixture
def path(tmp_path):
    model().save(tmp_path / "m.json")
    return tmp_path / "m.json"


@pytest.mark.parametrize("intercept", [True, False])
def test_a_file_brings_it_back_to_the_bit(tmp_path, intercept):
    w = np.random.default_rng(2).normal(size=(3, 2 + intercept))
    first = model(w, intercept=intercept)
    first.save(tmp_path / "m.json")
    second = load_model(tmp_path / "m.json")
    assert np.array_equal(first.w, second.w) and second.w.flags.c_contiguous
    assert second.classes == ("a", "b", "c") and first.schema == second.schema
    assert np.array_equal(first.predict(FRAME), second.predict(FRAME))
    content = json.loads((tmp_path / "m.json").read_text())
    assert content["format_version"] == 2 and content["coefficients"] == w[:, :2].tolist()


def test_the_file_of_two_classes_is_of_version_1(tmp_path):
    two = {**COLUMNS, "y": {"kind": "label", "classes": ["a", "b"]}}
    model(W[0], two, "logistic").save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    assert content["format_version"] == 1 and content["coefficients"] == [1.0, -2.0]
    assert np.array_equal(load_model(tmp_path / "m.json").w, W[0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format_version": 1}, "coefficients.* to be a list of finite numbers"),
        ({"coefficients": [1.0, 2.0]}, "coefficients.* to be lists of finite numbers"),
        ({"coefficients": [[1.0, 2.0], [1.0], [1.0, 2.0]]}, "one coefficient for each feature"),
        ({"coefficients": [[1.0, 2.0]] * 2}, "not the coefficients of each class"),
        ({"intercept": [1.0, 2.0]}, "not the coefficients of each class"),
        ({"intercept": 1.0}, "intercept.* to be a list of finite numbers or null"),
        ({"intercept": None}, "do not fit its schema"),
        ({"classes": ["a", "b"]}, "classes.* to be a list of three classes or more"),
        ({"classes": ["a", "b", "d"]}, "do not fit its schema"),
        ({"multiclass": "ovo"}, "has another multiclass than this dpcore knows"),
        ({"multiclass": ["ovr"]}, "has another multiclass than this dpcore knows"),
        ({"classes": None}, "classes.* to be a list of three classes or more"),
        (
            {"classes": [*"abcd"], "coefficients": [[1.0, 2.0]] * 4, "intercept": [0.0] * 4},
            "do not fit its schema",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(path, changes, message):
    content = json.loads(path.read_text())
    del content["checksum"]
    content |= changes
    path.write_text(json.dumps({**content, "checksum": checksum(content)}))
    with pytest.raises(ModelFileError, match=message):
        load_model(path)


@pytest.mark.parametrize(
    "w", [W[0], W.reshape(1, 3, 3), W[:2], W.T[:2], [[1.0, 2.0]], np.full((3, 3), np.nan)]
)
def test_coefficients_of_another_shape_are_none(w):
    with pytest.raises(InvalidInputError, match="stub returned no 3 x 3 finite coefficients"):
        Model.check_coefficients(w, (3, 3), "stub")
    assert Model.check_coefficients(W.T, (3, 3), "stub").flags.c_contiguous
