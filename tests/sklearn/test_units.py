import numpy as np
import pandas as pd

from dpcore.sklearn import PrivateLogisticRegression

SCHEMA = {
    "unit": "id",
    "rows_per_unit": 3,
    "columns": {
        "x": {"kind": "numeric", "lower": 0, "upper": 1},
        "y": {"kind": "label", "classes": ["n", "p"]},
    },
}


def test_an_estimator_takes_units_by_its_schema():
    x = np.random.default_rng(0).random(1200)
    frame = pd.DataFrame({"id": [f"p{i % 240}" for i in range(1200)], "x": x})
    fitted = PrivateLogisticRegression(schema=SCHEMA, epsilon=4.0).fit(
        frame, np.where(x > 0.5, "p", "n")
    )
    assert "all rows of a value of 'id'" in fitted.model_.privacy["sentence"]
    assert fitted.predict(frame).shape == (1200,)
