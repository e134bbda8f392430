"""Every optimizer here passes the checks of any plugin."""

import numpy as np
import pytest

from dpcore.plugin.parts import PureAccountant
from dpcore_accounting.rdp import RdpAccountant
from dpcore_accounting.single import SingleReleaseAccountant
from dpcore_baselines.objpert import ObjPert
from dpcore_baselines.outpert import OutPert
from dpcore_baselines.privgene import PrivGene
from dpcore_baselines.without_privacy.nonprivate import Majority, NonPrivate
from dpcore_lab.checks import parametrize_with_checks
from dpcore_lab.checks import parts as testing_parts
from dpcore_lab.replay import recorded as testing_recorded


@pytest.mark.slow
@parametrize_with_checks([ObjPert(), OutPert(), PrivGene(), NonPrivate(), Majority()])
def test_the_default_is_admitted(optimizer, check, monkeypatch):
    # The selection is audited by the tests of check_mechanism, noise within an objective by
    # test_perturbed.py.
    monkeypatch.setattr(testing_parts, "check_mechanism", lambda *arguments: None)
    check(optimizer)


GAMMA, LAPLACE = {"noise": "gamma"}, {"noise": "laplace"}


@pytest.mark.slow
@parametrize_with_checks([ObjPert(use=GAMMA), OutPert(use=GAMMA), OutPert(use=LAPLACE)])
def test_pure_epsilon_is_admitted(optimizer, check, monkeypatch):
    def pure(optimizer, epsilon, delta, *others):
        return PureAccountant.from_budget(epsilon, delta)

    monkeypatch.setattr(testing_recorded, "accountant_of", pure)
    # Of the noise itself there is tests/test_gamma.py.
    monkeypatch.setattr(testing_parts, "check_mechanism", lambda *arguments: None)
    # The recount of pure epsilons is by Renyi orders, where their sum is the better value.
    if check.__name__ != "check_never_overspends":
        check(optimizer)


def test_checks_of_a_guarantee_are_for_those_that_give_one():
    from dpcore_lab.checks import OPTIMIZER_CHECKS
    from dpcore_lab.checks.kinds import checks_of

    assert checks_of(ObjPert()) == OPTIMIZER_CHECKS
    names = {check.__name__ for check in checks_of(NonPrivate())}
    assert "check_outputs_released" in names and "check_never_overspends" not in names


@pytest.mark.parametrize("kind", [SingleReleaseAccountant, RdpAccountant])
def test_both_accountants_of_the_curve_hold_objpert(kind):
    from dpcore.plugin import NeighboringRelation
    from dpcore.plugin.parts import SeededNoise
    from dpcore_lab.checks import RecordingSession, make_rows
    from dpcore_lab.replay.recorded import problem_of

    rows, relation = make_rows(100), NeighboringRelation.REPLACE_ONE
    opened = kind.from_budget(1.0, 1e-6)
    session = RecordingSession(rows.table(), opened, relation, SeededNoise(1))
    solution = ObjPert().minimize(problem_of(rows, relation, ObjPert()), session)
    assert 0.98 < session.accountant.spent / session.accountant.budget <= 1
    assert np.isfinite(solution.w).all()
