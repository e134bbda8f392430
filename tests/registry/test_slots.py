"""A slot states what it takes, and why if it takes no other."""

import pytest

from dpcore.errors import InvalidInputError
from dpcore.registry.slots import Slot


@pytest.mark.parametrize(
    "words",
    [
        {"names": (), "takes": ("l2",)},
        {"names": "gaussian", "takes": ("l2",)},
        {"names": ("gaussian",)},
        {"names": ("gaussian",), "takes": "l2"},
        {"names": ("gaussian",), "takes": ("l3",)},
        {"names": ("gaussian",), "takes": ("l2",), "closed": "it is of one distribution"},
    ],
)
def test_a_slot_that_says_too_little_or_too_much_is_refused(words):
    with pytest.raises(InvalidInputError, match="Expected"):
        Slot(**words)


def test_what_a_slot_takes_in_words():
    assert Slot(("a",), takes=("l2", "l1")).beside_its_names.endswith("that needs l2 or l1")
    assert Slot(("a",), closed="its distribution is in the proof").beside_its_names.startswith(
        "no other: "
    )
