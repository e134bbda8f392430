"""The optimizer, its mechanism and its paper's settings pass the checks of any plugin."""

import pytest

from dpcore_frank_wolfe.frank_wolfe import FrankWolfe
from dpcore_frank_wolfe.grouped_exponential import GroupedExponential
from dpcore_lab.audit.fits import Fits, Request
from dpcore_lab.audit.two_world import audit_worlds
from dpcore_lab.checks import parametrize_with_checks


@pytest.mark.slow
@parametrize_with_checks([FrankWolfe(), GroupedExponential])
def test_the_default_is_admitted(optimizer, check):
    check(optimizer)


@pytest.mark.slow
@parametrize_with_checks([FrankWolfe(steps=12, use={"selection": "report-noisy-max"})])
def test_the_papers_selection_is_admitted(optimizer, check):
    if check.__name__ != "check_huge_epsilon_limit":
        check(optimizer)


@pytest.mark.slow
@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
def test_an_audit_finds_nothing_against_it(relation):
    fits = Fits(Request("frank-wolfe", epsilon=4.0, relation=relation, params={"steps": 5}))
    assert not audit_worlds(fits.claim, fits.draw, 1, 64).is_violation
