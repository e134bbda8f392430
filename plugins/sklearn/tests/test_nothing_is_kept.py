"""No row and no private count is in a message, an attribute, a text or a pickle."""

import pickle

import numpy as np
import pandas as pd
import pytest

from dpcore_sklearn import PrivateLinearSVC

PUBLIC = {"bounds": {"age": (0, 90)}, "categories": {"city": ["Bern", "Basel"]}}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(5)
    age = rng.uniform(0, 90, 1237)
    city = np.where(rng.uniform(size=1237) > 0.5, "Bern", "Genf")
    return pd.DataFrame({"age": age, "city": city}), np.where(age > 40, "yes", "no")


SECRET = 8641.0625


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[1, SECRET], [2, np.nan]], [0, 1]),
        ([[1, SECRET], [2, "Xq-secret"]], [0, 1]),
        ([[1, SECRET], [2, {"Xq-secret": SECRET}]], [0, 1]),
        (np.array([["Xq-secret", SECRET]]), [0]),
        ([[1, SECRET], [2]], [0, 1]),
        ([1, SECRET], [0, 1]),
        ([[[SECRET]]], [0]),
        ([[1, SECRET]], [SECRET]),
        ([[1, SECRET]], ["Xq-secret"]),
        ([[1, SECRET]], [[0, SECRET]]),
        ([[1, SECRET]], [[SECRET], [0]]),
        ([[1, SECRET]] * 3, [0, 1]),
        ([[1, SECRET + 1j]], [0]),
        (np.ma.masked_array([[1, SECRET]], [[True, False]]), [0]),
        ([[1, SECRET]], np.ma.masked_array([[0]], [[True]])),
        (pd.DataFrame({"a": [1, SECRET], "b": [1, "Xq-secret"]}), [0, 1]),
        (pd.DataFrame({"a": [1, SECRET], "b": pd.to_datetime(["2020", "2021"])}), [0, 1]),
        (pd.DataFrame({"a": [1, SECRET], "b": [np.inf, 1]}), [0, 1]),
        (pd.DataFrame({"a": [1, SECRET], 7: [0, 1]}), [0, 1]),
    ],
)
@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_no_message_holds_a_cell_or_the_number_of_rows(X, y):
    with pytest.raises((ValueError, TypeError)) as caught:
        PrivateLinearSVC(bounds=(0, 1)).fit(X, y)
    text = " ".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert "8641" not in text and "Xq-secret" not in text


def numbers_in(value, seen=None):
    """Yield every number that an object holds, arrays by their shapes as well."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        yield from value.shape
        value = value.tolist()
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, (list, tuple, set)):
        for item in value:
            yield from numbers_in(item, seen)
    elif isinstance(value, (int, float)):
        yield value
    elif hasattr(value, "__dict__"):
        yield from numbers_in(vars(value), seen)
    elif hasattr(type(value), "__slots__"):
        yield from numbers_in(
            [getattr(value, name) for name in {*type(value).__slots__} - {"__weakref__"}], seen
        )


def test_no_row_and_no_count_is_kept(frame):
    X, y = frame
    clf = PrivateLinearSVC(**PUBLIC, classes=("no", "yes")).fit(X, y)
    ages = {*X["age"].tolist()}
    kept = [*numbers_in(vars(clf))]
    assert {0.0, 90.0} <= {*kept}
    assert not ages & {*kept} and len(X) not in kept
    content = pickle.dumps(clf)
    assert b"Bern" in content and b"Genf" not in content
    assert not any(np.float64(age).tobytes()[order] in content for age in ages for order in ORDERS)
    assert len(X).to_bytes(2, "little") not in content and str(len(X)).encode() not in content
    texts = repr(clf) + clf._repr_html_() + repr(clf.model_) + clf.model_._repr_html_()
    assert "Genf" not in texts and str(len(X)) not in texts
    copy = pickle.loads(content)
    assert np.array_equal(copy.predict(X), clf.predict(X)) and copy.model_.report == {}


ORDERS = slice(None), slice(None, None, -1)
"""A float's bytes as memory and as a pickle have them."""


def test_what_would_be_kept_would_be_found(frame):
    X, y = frame
    clf = PrivateLinearSVC(**PUBLIC, classes=("no", "yes")).fit(X, y)
    clf.rows_ = {"seen": (X["age"].to_numpy(),)}
    assert len(X) in [*numbers_in(vars(clf))] and X["age"][0] in [*numbers_in(vars(clf))]
    assert np.float64(X["age"][0]).tobytes() in pickle.dumps(clf)
