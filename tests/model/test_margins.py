"""Rows that do not satisfy a model's schema: without a score in their places, and counted."""

import numpy as np
import pandas as pd
import pytest

from dpcore import fit
from dpcore.errors import DataError, DpcoreWarning, InvalidInputError

COLUMNS = {
    "age": {"kind": "numeric", "lower": 0, "upper": 100},
    "pay": {"kind": "numeric", "lower": 0, "upper": 9, "fill": 1},
}
CLASSES = {"y": {"kind": "label", "classes": [0, 1]}}
FRAME = pd.DataFrame({"age": [10.0, 50.0, 90.0] * 40, "pay": [1.0, 2.0, 3.0] * 40})
HOLES = pd.DataFrame({"age": ["10", "", "old", "90"], "pay": ["1", "2", "3", ""]})
TOLD = r"^2 of 4 rows have no score: .*bad_rows='refuse' tells the first.*fill = VALUE or indicator"


@pytest.fixture(scope="module")
def model():
    return fit(FRAME, [0, 1, 1] * 40, schema={"columns": {**COLUMNS, **CLASSES}})


@pytest.fixture(scope="module")
def ridge():
    target = {"y": {"kind": "label", "lower": 0, "upper": 9}}
    return fit(FRAME, FRAME["pay"], schema={"columns": {**COLUMNS, **target}}, loss="ridge")


def test_such_a_row_has_no_score_and_the_others_have_their_own(model):
    alone = model.decision_function(HOLES.iloc[[0, 3]])
    with pytest.warns(DpcoreWarning, match=TOLD) as caught:
        scores = model.decision_function(HOLES)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert np.isnan(scores[1:3]).all() and np.array_equal(scores[[0, 3]], alone)
    with pytest.warns(DpcoreWarning, match=TOLD):
        chances = model.predict_proba(HOLES)
    assert np.isnan(chances[1:3]).all()
    assert np.array_equal(chances[[0, 3]], model.predict_proba(HOLES.iloc[[0, 3]]))


def test_its_class_is_none_among_objects_and_its_number_nan(model, ridge):
    known = model.predict(HOLES.iloc[[0, 3]])
    assert known.dtype == np.int64
    with pytest.warns(DpcoreWarning, match=TOLD) as caught:
        classes = model.predict(HOLES)
    assert caught[0].filename == __file__
    assert classes.dtype == object and classes.tolist() == [known[0], None, None, known[1]]
    assert pd.Series(classes).isna().tolist() == [False, True, True, False]
    with pytest.warns(DpcoreWarning, match=TOLD):
        numbers = ridge.predict(HOLES)
    assert np.isnan(numbers).tolist() == [False, True, True, False]


def test_where_no_row_has_a_score_the_first_ones_reason_is_told(model, tmp_path):
    none = HOLES.iloc[[2, 1]]
    none.to_csv(tmp_path / "r.csv", index=False)
    for source, place in ((none, "row 1"), (tmp_path / "r.csv", "line 2")):
        with pytest.warns(DpcoreWarning, match=f"^2 of 2 .* The first: .*{place}, column 'age'"):
            assert model.predict(source).tolist() == [None, None]


def test_arrays_and_files_are_as_frames(model, tmp_path):
    HOLES.to_csv(tmp_path / "r.csv", index=False)
    matrix = np.array([[10, 1], [np.nan, 2], [np.inf, 3], [90, np.nan]])
    plain = fit(np.zeros((9, 2)), np.ones(9), row_norm=200)
    for source in (matrix, str(tmp_path / "r.csv")):
        with pytest.warns(DpcoreWarning, match=TOLD):
            assert np.isnan(model.decision_function(source)).tolist() == [False, True, True, False]
    with pytest.warns(DpcoreWarning, match="^3 of 4 rows"):
        assert plain.predict(matrix).tolist()[1:] == [None] * 3


def test_refusals_are_there_for_the_asking_and_in_scores(model):
    with pytest.raises(DataError, match="row 2, column 'age': the cell is empty; fill it in"):
        model.predict(HOLES, bad_rows="refuse")
    with pytest.raises(DataError, match="row 2, column 'age'") as caught:
        model.score(HOLES, [0, 1, 0, 1])
    assert caught.value.__notes__ == ["Such a row has no score: leave it, and its label, out."]
    with pytest.raises(InvalidInputError, match="bad-rows='drop' to be blank or refuse"):
        model.predict(HOLES, bad_rows="drop")
