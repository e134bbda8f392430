"""Presets that are not in order are caught."""

import pytest
from honest import Honest

from dpcore.errors import InvalidInputError
from dpcore_lab.checks import check_declarations


class Misspells(Honest):
    """Has a preset whose clip would be dropped, and the default run under its name."""

    presets = {"paper": {"rate": 1.0, "clpi": 1.0}}


class OutOfRange(Honest):
    """Has a preset that its own checks refuse."""

    presets = {"paper": {"rate": 1000.0}}


class UnknownConversion(Honest):
    """Has a preset of a conversion that its accountant does not know."""

    presets = {"paper": {"accountant": "zcdp", "accountant_conversion": "exact"}}


@pytest.mark.parametrize(
    ("cheat", "error", "reason"),
    [
        (Misspells(), AssertionError, "sets 'clpi', which is neither .* Did you mean clip"),
        (OutOfRange(), InvalidInputError, "clip and rate between 0 and 100"),
        (UnknownConversion(), InvalidInputError, "conversion='exact' to be one of"),
    ],
)
def test_a_preset_that_is_not_in_order_is_caught(cheat, error, reason):
    with pytest.raises(error, match=reason):
        check_declarations(cheat)
