"""Slots that a comparison fills."""

import pytest

from dpcore.errors import InvalidInputError
from dpcore_lab.compare.admission import admit
from dpcore_lab.compare.settings import Comparison

ASKED = {"algorithms": ("dp-agd",), "data": ("census-sim",), "epsilons": (1.0,)}


def test_a_slot_is_filled_as_train_fills_it():
    asked = Comparison(**ASKED, use={"dp-agd": {"selection": "permute-and-flip"}})
    assert asked.settings("dp-agd", 1.0).use == {"selection": "permute-and-flip"}
    assert asked.to_dict()["use"] == {"dp-agd": {"selection": "permute-and-flip"}}
    assert "use" not in Comparison(**ASKED).to_dict()  # as results of before have it


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        ({"dp-gd": {"gradient": "laplace"}}, "--use names 'dp-gd'"),
        ({"dp-agd": {"gradients": "laplace"}}, "gradients"),
    ],
)
def test_a_slot_that_is_not_there_is_refused(use, reason):
    with pytest.raises(InvalidInputError, match=reason):
        admit(Comparison(**ASKED, use=use))
