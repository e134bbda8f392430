"""Model files as earlier states of dpcore wrote them, with the margins that those states gave."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore.evaluation.words import evaluation_in_words
from dpcore.model.file import FORMAT_VERSIONS
from dpcore.model.model import load_model

FILES = Path(__file__).parent / "files"
ROWS = pd.DataFrame({"age": [20.0, 85.0, 33.3], "city": ["Bern", "Genf", "Basel"]})
# Printed by the decision_function of the state that wrote each file, of these rows.
MARGINS = {
    "first": [-0.16695404052734375, 0.5282516479492188, 0.29914093017578125],
    "loss-as-text": [-26.033301781682894, 27.68589087180044, -15.599057016022925],
    "loss-with-parameters": [-35.45021904740952, 55.870298004473625, -22.276482824961022],
    "several-classes": [
        [26.537748591926174, 15.059956608944049, -17.42636915707044],
        [-26.153575135634128, 3.2159502055801568, 18.318303009251395],
        [13.24097685781362, 9.91771254606283, -13.023062175012456],
    ],
    "one-vs-rest": [
        [10.7067355703266, -2.9599688731514107, -23.771429063712276],
        [-27.836972106725625, -1.603646392409246, -5.659942019989103],
        [1.5314507382399825, -1.7519498245974319, -17.715692685309477],
    ],
    "class-weights": [
        [12.482785537135896, 3.15352042311315, -10.571137170930342],
        [-1.9697502693079514, -1.871998228265511, 9.44111389988484],
        [10.650565208014996, 6.974339090245849, -3.2534423215411152],
    ],
}


def written(name):
    return json.loads((FILES / f"{name}.json").read_text())


def test_every_format_version_has_a_file():
    assert {path.stem for path in FILES.glob("*.json")} == {*MARGINS, "clipped-errors"}
    assert {written(name)["format_version"] for name in MARGINS} == {*FORMAT_VERSIONS}
    assert isinstance(written("first")["loss"], str)
    assert written("one-vs-rest")["multiclass"] == "ovr"
    assert written("class-weights")["class_weights"] == {"a": 2.0, "b": 1.0, "c": 1.0}


@pytest.mark.parametrize("name", MARGINS)
def test_an_earlier_file_is_read_scores_alike_and_can_be_written_again(name, tmp_path):
    model = load_model(FILES / f"{name}.json")
    assert np.array_equal(model.decision_function(ROWS), MARGINS[name])
    chances = model.predict_proba(ROWS)
    assert np.array_equal(model.classes_[chances.argmax(axis=1)], model.predict(ROWS))
    model.save(tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert np.array_equal(again.decision_function(ROWS), MARGINS[name])
    assert again.privacy == model.privacy and again.loss == model.loss


def test_an_earlier_file_of_a_number_predicts_within_its_bounds_and_shows_its_evaluation(tmp_path):
    # What predict said in the state that wrote it; the bounds of the target are 0 and 10.
    said = [0.6150300055742264, 10.32854974269867, 2.9461605810456604]
    model = load_model(FILES / "clipped-errors.json")
    assert np.array_equal(model.predict(ROWS), np.clip(said, 0, 10))
    lines = "\n".join(evaluation_in_words(model.evaluation, private=False))
    assert "RMSE of errors clipped at 5: 2.345 [2.199, 2.484]; RMSE of always the mean" in lines
    assert "these two figures flatter the model" in lines
    model.save(tmp_path / "m.json")
    assert load_model(tmp_path / "m.json").evaluation == model.evaluation
