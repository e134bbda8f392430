"""The optimizer and its mechanism pass the checks of any plugin."""

import pytest

from dpcore_frank_wolfe.frank_wolfe import FrankWolfe
from dpcore_frank_wolfe.grouped_exponential import GroupedExponential
from dpcore_lab.checks import parametrize_with_checks


@pytest.mark.slow
@parametrize_with_checks([FrankWolfe(), GroupedExponential])
def test_the_default_is_admitted(part, check):
    check(part)
