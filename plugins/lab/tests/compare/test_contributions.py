"""A picture of what the columns of a model add."""

import numpy as np
import pandas as pd
import pytest

from dpcore import Schema, fit
from dpcore.plugin import InvalidInputError
from dpcore_lab.compare.contributions import write_contributions

COLUMNS = {
    "age": {"kind": "numeric", "lower": 10, "upper": 80, "knots": 8},
    "sex": {"kind": "categorical", "categories": ["f", "m"]},
}


def model_of(label):
    schema = Schema.from_dict({"columns": COLUMNS | {"y": label}})
    cells = {"age": [10.0, 25.0, 80.0] * 100, "sex": ["f", "m", "f"] * 100}
    rows = pd.DataFrame(cells).assign(y=np.resize(label["classes"], 300))
    return fit(rows, schema=schema, epsilon=50.0, algo="dp-gd", seed=1, params={"steps": 5})


@pytest.mark.slow
def test_a_picture_is_written_and_a_model_of_unnamed_features_is_refused(tmp_path):
    pytest.importorskip("matplotlib")
    model = model_of({"kind": "label", "classes": ["no", "yes"]})
    write_contributions(tmp_path / "model.svg", model)
    drawn = (tmp_path / "model.svg").read_text()
    assert all(f">{name}<" in drawn for name in COLUMNS) and "the margin of yes" in drawn
    write_contributions(tmp_path / "again.svg", model)
    assert drawn == (tmp_path / "again.svg").read_text()
    X = np.resize([[0.0, 0.5], [0.5, 0.0]], (100, 2))
    unnamed = fit(X, np.resize([0, 1], 100), classes=(0, 1), seed=1)
    with pytest.raises(InvalidInputError, match="named columns"):
        write_contributions(tmp_path / "other.svg", unnamed)
