"""The document's way of scoring a row by hand, against the model."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore import fit, load_model

PAGE = Path(__file__).parents[2] / "docs" / "scoring.md"
SCHEMA = {
    "columns": {
        "age": {"kind": "numeric", "lower": 17, "upper": 90},
        "city": {"kind": "categorical", "categories": ["Bern", "Basel"]},
        "y": {"kind": "label", "classes": ["no", "yes"]},
    }
}


@pytest.mark.skipif(not PAGE.exists(), reason="the documents are not here")
@pytest.mark.parametrize("asked", [{}, {"row_norm": 1.25}, {"intercept": False}])
def test_the_documents_function_scores_as_the_model_does(asked, tmp_path):
    names = {}
    (function,) = re.findall(r"(?ms)^def log_odds.*?^    return [^\n]*\n", PAGE.read_text())
    exec(f"import math\n{function}", names)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.uniform(0, 110, 300)})
    frame["city"] = rng.choice(["Bern", "Basel", "Genf"], 300)
    frame["y"] = np.where(frame["age"] > 50, "yes", "no")
    model = fit(frame, schema={**SCHEMA, **asked}, epsilon=3.0, seed=1)
    model.save(tmp_path / "m.json")
    written = json.loads((tmp_path / "m.json").read_text())
    by_hand = [names["log_odds"](written, row) for row in frame.to_dict("records")]
    expected = load_model(tmp_path / "m.json").decision_function(frame)
    assert by_hand == pytest.approx(expected, abs=1e-5)
    # Without truncation it would be another score, and without the row norm another by far.
    assert np.std(expected) > 0.01
