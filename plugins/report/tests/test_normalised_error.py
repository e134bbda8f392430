"""A target as a share of what a model without privacy gains."""

import pytest

from dpcore.errors import InvalidInputError
from dpcore_report.normalised_error import NormalisedError


def test_a_target_and_what_is_reached_are_each_other_s_inverse():
    classes = NormalisedError(classification=True, classes_share=0.76, nonprivate_accuracy=0.85)
    without = classes.without_privacy(0.6)
    assert without == pytest.approx(0.15 / 0.24)
    assert classes.reached(classes.kept_at(0.8, None, without), without) == {
        "accuracy": pytest.approx(0.8)
    }
    squares = NormalisedError(classification=False)
    assert squares.kept_at(None, 0.5, 0.3) == pytest.approx(0.5 / 0.7)
    assert squares.reached(0.5 / 0.7, 0.3) == {"mse": pytest.approx(0.5)}
    assert squares.without_privacy(0.3) == 0.3
    assert NormalisedError(classification=False, nonprivate_mse=0.2).without_privacy(0.3) == 0.2
    assert NormalisedError(classification=True).reached(0.5, 0.6) == {}
    assert squares.kept_at(None, None, 0.3) is None


CLASSES = {"classification": True, "classes_share": 0.76}
SQUARES = {"classification": False}


@pytest.mark.parametrize(
    ("given", "accuracy", "mse", "text"),
    [
        (CLASSES, 0.9, None, "cannot be had at any epsilon.* to reach 0.856"),
        (CLASSES, 0.7, None, r"better than a constant's \(0.76\)"),
        (CLASSES, None, 0.5, "--target-mse is of --loss ridge"),
        ({"classification": True}, 0.8, None, "Expected --classes-share"),
        ({**CLASSES, "nonprivate_mse": 0.2}, None, None, "--nonprivate-mse is of --loss ridge"),
        ({**CLASSES, "nonprivate_accuracy": 0.7}, None, None, "between --classes-share and 1"),
        ({"classification": True, "classes_share": 0.3}, None, None, "from 0.5 up to 1"),
        (SQUARES, None, 0.2, "cannot be had at any epsilon"),
        (SQUARES, None, 1.0, "better than a constant"),
        (SQUARES, 0.8, None, "--target-accuracy is of classes"),
        ({**SQUARES, "classes_share": 0.7}, None, None, "leave it out"),
        ({**SQUARES, "nonprivate_mse": 1.2}, None, None, "between 0 and 1"),
    ],
)
def test_a_metric_that_makes_no_sense_is_refused(given, accuracy, mse, text):
    with pytest.raises(InvalidInputError, match=text):
        NormalisedError(**given).kept_at(accuracy, mse, 0.6)
