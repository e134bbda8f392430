"""scikit-learn's own checks of estimators, with what is refused on purpose."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    check_estimator,
    check_set_output_transform,
    check_set_output_transform_pandas,
    check_transformer_get_feature_names_out,
    check_transformer_get_feature_names_out_pandas,
)

from dpcore_sklearn import PrivateLinearSVC, PrivateLogisticRegression, PrivateRidge, PublicScaler

READ_OFF = {"classes": "from-labels", "bounds": (-10, 10), "epsilon": 1e3}
RIDGE = PrivateRidge(bounds=(-10, 10), target_bounds=(-10, 10), epsilon=1e3)

NO_COUNT = "its message has the number of rows in it, which is private here"
EMPTY = (
    "a table without rows is legal under add-or-remove-one, since a refusal would say that it is "
    "empty"
)
OF_CLASSES = {"check_estimators_empty_data_messages": NO_COUNT}
BLIND = "fit reads no cell"


@pytest.mark.parametrize(
    ("estimator", "refused"),
    [
        pytest.param(PrivateLogisticRegression(**READ_OFF), OF_CLASSES, marks=pytest.mark.slow),
        pytest.param(PrivateLinearSVC(**READ_OFF), OF_CLASSES, marks=pytest.mark.slow),
        pytest.param(
            RIDGE,
            {"check_estimators_empty_data_messages": f"{EMPTY}; {NO_COUNT}"},
            marks=pytest.mark.slow,
        ),
        (
            PublicScaler(bounds=(-10, 10)),
            {
                "check_dtype_object": BLIND,
                "check_estimators_empty_data_messages": BLIND,
                "check_estimators_nan_inf": BLIND,
            },
        ),
        (
            PublicScaler(bounds=(-10, 10), fill=0),
            {"check_dtype_object": BLIND, "check_estimators_empty_data_messages": BLIND},
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_checks_of_scikit_learn_pass(estimator, refused):
    outcomes = check_estimator(estimator, expected_failed_checks=refused, on_skip=None)
    status = {outcome["check_name"]: outcome["status"] for outcome in outcomes}
    assert len(status) > 35
    assert {name for name, found in status.items() if found == "xfail"} == {*refused}
    # Of an array API that is switched on by an environment variable.
    assert {name for name, found in status.items() if found == "skipped"} <= {
        "check_array_api_input"
    }


@pytest.mark.parametrize(
    "estimator", [PrivateLinearSVC(**READ_OFF), PublicScaler(bounds=(-10, 10))]
)
def test_names_of_columns_are_compared_as_elsewhere(estimator):
    check_dataframe_column_names_consistency(type(estimator).__name__, estimator)


@pytest.mark.parametrize(
    "check",
    [
        check_set_output_transform,
        check_set_output_transform_pandas,
        check_transformer_get_feature_names_out,
        check_transformer_get_feature_names_out_pandas,
    ],
)
@pytest.mark.filterwarnings("ignore:X .* feature names")
def test_the_scaler_has_set_output_and_names(check):
    check("PublicScaler", PublicScaler(bounds=(-10, 10)))


def test_a_model_of_a_frame_scores_an_array_and_the_other_way_round():
    X = np.random.default_rng(1).uniform(-1, 1, (400, 2))
    frame, y = pd.DataFrame(X, columns=["a", "b"]), (X[:, 0] > 0).astype(int)
    kind = PrivateLinearSVC(bounds=(-1, 1), random_state=3)
    of_array, of_frame = kind.fit(X, y), PrivateLinearSVC(**kind.get_params()).fit(frame, y)
    with pytest.warns(UserWarning, match="feature names"):
        assert np.array_equal(of_array.predict(frame), of_frame.predict(frame))
    with pytest.warns(UserWarning, match="feature names"):
        assert np.array_equal(of_frame.predict(X), of_frame.predict(frame))
