"""What estimators say of rows and parameters: in the words of their own parameters."""

import numpy as np
import pandas as pd
import pytest

from dpcore.errors import DataError, DpcoreWarning, InvalidInputError
from dpcore_sklearn import PrivateLinearSVC, PrivateLogisticRegression

FRAME = pd.DataFrame({"age": [10.0, 50.0, 90.0] * 40, "city": ["Bern", "Basel", "Genf"] * 40})
LABELS = pd.Series(["no", "yes", "no"] * 40, name="hired")
COLUMNS = {"bounds": {"age": (0, 100)}, "categories": {"city": ["Bern", "Basel"]}}
PUBLIC = {**COLUMNS, "classes": ("no", "yes"), "epsilon": 5.0}
HOLES = FRAME.assign(age=[np.nan, *FRAME["age"][1:]])


@pytest.fixture(scope="module")
def fitted():
    return PrivateLinearSVC(**PUBLIC).fit(FRAME, LABELS)


@pytest.mark.parametrize(
    ("public", "X", "y", "message"),
    [
        (PUBLIC, HOLES, LABELS, "row 1, column 'age': the cell is empty; fill it in, or set fill"),
        (
            COLUMNS,
            FRAME,
            LABELS,
            "row 1, column 'hired': the label is not one of the classes 0, 1, which `cl",
        ),
        ({"bounds": (0, 1)}, np.zeros((120, 2)), LABELS.to_numpy(), "row 1, column 'y': the label"),
    ],
)
def test_a_bad_row_is_told_of_in_the_words_of_the_estimator(public, X, y, message):
    with pytest.raises(DataError, match=message) as caught:
        PrivateLinearSVC(**public).fit(X, y)
    left_out, own = caught.value.__notes__
    assert left_out.endswith("left out before the fit.")
    assert own.startswith("Of this estimator, classes=(...) are the labels, 0 and 1 unless")


def test_with_a_schema_the_words_are_its(fitted):
    clf = PrivateLinearSVC(schema=fitted.model_.schema)
    with pytest.raises(DataError, match="the cell is empty") as caught:
        clf.fit(HOLES, LABELS)
    assert len(caught.value.__notes__) == 1


def test_rows_that_an_estimator_refuses_are_scored_by_its_model(fitted):
    for method in (fitted.predict, fitted.decision_function):
        with pytest.raises(DataError, match="row 1, column 'age': the cell is empty") as caught:
            method(HOLES)
        assert "clf.model_.predict(X)" in caught.value.__notes__[0]
    with pytest.warns(DpcoreWarning, match="^1 of 120 rows has no score"):
        classes = fitted.model_.predict(HOLES)
    assert classes.tolist() == [None, *fitted.predict(FRAME)[1:]]
    with pytest.raises(DataError, match=r"PublicScaler\(fill=.*clf.model_.predict\(X\)"):
        PrivateLinearSVC(bounds=(0, 1)).fit([[np.nan], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("public", "message"),
    [
        ({}, r"Expected public bounds=.*or private_bounds=True"),
        (
            {"bounds": {"age": (0, 1)}},
            r"'city' has neither bounds nor categories. \(With priv",
        ),
        (
            {**COLUMNS, "class_weight": "even"},
            "Expected class_weight='even' to be 'balanced' or a weight by each class's name",
        ),
        ({**COLUMNS, "n_public": -1}, r"Expected 1 <= rows=-1 < 2\^40\.$"),
    ],
)
def test_parameters_that_are_missing_or_refused(public, message):
    with pytest.raises(InvalidInputError, match=message):
        PrivateLogisticRegression(**public).fit(FRAME, LABELS)
