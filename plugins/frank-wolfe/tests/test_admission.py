"""The optimizer and its mechanism pass the checks of any plugin."""

import pytest

from dpcore.plugin.parts import Sensitivity
from dpcore_frank_wolfe.frank_wolfe import FrankWolfe
from dpcore_frank_wolfe.grouped_exponential import GroupedExponential
from dpcore_lab.checks import check_mechanisms_and_queries, parametrize_with_checks


@pytest.mark.slow
@parametrize_with_checks([FrankWolfe(), GroupedExponential])
def test_the_default_is_admitted(part, check, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "dpcore_lab.checks.parts.check_mechanism",
        lambda maker, sensitivity: asked.append((maker(2.0), type(sensitivity))),
    )
    check(part)
    # This is the audit of the class by itself.
    if check is check_mechanisms_and_queries:
        assert asked == [(GroupedExponential(2.0), Sensitivity)]
