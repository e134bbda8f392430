"""RSGD-AR and its relatives: what they refuse, with nothing charged."""

import math

import pytest

from dpcore.accountants import ZcdpAccountant
from dpcore.errors import DpcoreError, InvalidInputError, UnsupportedEventError
from dpcore.fitting.planning.compatibility import check_fits
from dpcore.losses.squared import Squared
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import (
    GaussianDpEvent,
    GdpAccountant,
    Logistic,
    PureAccountant,
    SeededNoise,
)
from dpcore_accounting.single import SingleReleaseAccountant
from dpcore_baselines.losses.hinge import HingeSvm
from dpcore_lab.checks import RecordingSession, make_rows
from dpcore_lab.made_tables.tables import make_problem
from dpcore_rsgd_ar.bolt_on import BoltOn
from dpcore_rsgd_ar.nsgd import Nsgd
from dpcore_rsgd_ar.outpert_gd import OutpertGd
from dpcore_rsgd_ar.psgd import Psgd
from dpcore_rsgd_ar.rsgd_ar import RsgdAr

REPLACE = NeighboringRelation.REPLACE_ONE
ALL = [RsgdAr(), Psgd(), Nsgd(), OutpertGd(), BoltOn()]
NEED_L2 = [RsgdAr(), Psgd(), Nsgd(), OutpertGd()]


def names(optimizer):
    return optimizer.name


@pytest.mark.parametrize("optimizer", NEED_L2, ids=names)
def test_no_l2_is_refused_and_says_what_does_without(optimizer, run):
    problem = make_problem(make_rows(50), REPLACE, Logistic(), l2=0.0)
    accountant = SingleReleaseAccountant.from_budget(1.0, 1e-6)
    told = "strong convexity.*does without: auto, bolt-on, dp-agd"
    with pytest.raises(InvalidInputError, match=told):
        check_fits(optimizer, problem, accountant)
    with pytest.raises(InvalidInputError, match="strong convexity"):
        run(optimizer, l2=0.0)


@pytest.mark.parametrize(
    ("optimizer", "accountant", "remedy"),
    [
        (RsgdAr(), PureAccountant, "choose --accountant single, zcdp, gdp or rdp"),
        (
            BoltOn(use={"noise": "laplace"}),
            SingleReleaseAccountant,
            "--accountant zcdp, gdp, rdp, pure or basic",
        ),
    ],
)
def test_an_accountant_that_cannot_hold_it_is_refused_uncharged(optimizer, accountant, remedy):
    rows = make_rows(30)
    problem = make_problem(rows, REPLACE, Logistic(), l2=0.01)
    opened = accountant.from_budget(1.0, 0.0 if accountant is PureAccountant else 1e-6)
    session = RecordingSession(rows.table(), opened, REPLACE, SeededNoise(1))
    with pytest.raises(UnsupportedEventError, match=remedy):
        optimizer.minimize(problem, session)
    assert not session.ledger and not session.engine.answers


@pytest.mark.parametrize("accountant", [ZcdpAccountant, GdpAccountant])
@pytest.mark.parametrize("optimizer", [RsgdAr(), Psgd()], ids=names)
def test_without_a_rule_for_a_random_batch_the_worst_is_charged(optimizer, accountant, run):
    session, solution = run(optimizer, accountant=accountant.from_budget(1.0, 1e-6))
    ((query, _),), (entry,) = session.parts, session.ledger
    assert type(entry.event) is GaussianDpEvent and not query.randomized
    bound = session.records[0].sensitivity.bound
    assert bound == query.deltas.max() > query.deltas.min()
    assert 0.99 < session.accountant.spent / session.accountant.budget <= 1
    assert solution.details["charged"].startswith("the worst batch")


@pytest.mark.parametrize("optimizer", ALL, ids=names)
@pytest.mark.parametrize("loss", [HingeSvm(), Squared()])
def test_a_loss_that_no_theorem_covers_is_refused(optimizer, loss, run):
    with pytest.raises(InvalidInputError, match="smooth loss of bounded slope"):
        run(optimizer, loss=loss)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"batch_size": 301}, "between 1 and the 300 rows"),
        ({"epochs": 20, "tau": 7}, "tau=7 to divide epochs=20"),
        ({"step_size": 1e6}, "grow without bound.*at most"),
    ],
)
def test_settings_that_do_not_fit_the_rows_are_refused_uncharged(options, match):
    rows = make_rows(300)
    problem = make_problem(rows, REPLACE, Logistic(), l2=0.01)
    opened = SingleReleaseAccountant.from_budget(1.0, 1e-6)
    session = RecordingSession(rows.table(), opened, REPLACE, SeededNoise(1))
    with pytest.raises(InvalidInputError, match=match):
        RsgdAr(**options).minimize(problem, session)
    assert not session.ledger


@pytest.mark.parametrize("optimizer", ALL, ids=names)
def test_a_delta_that_covers_the_release_of_a_row_is_refused(optimizer, run):
    with pytest.raises(InvalidInputError, match=r"delta=0.01 below 1 / n = 0.00333"):
        run(optimizer, accountant=SingleReleaseAccountant.from_budget(1.0, 0.01))


@pytest.mark.parametrize(
    "options",
    [
        {"epochs": 0},
        {"tau": 0},
        {"batch_size": 0},
        {"step_size": math.nan},
        {"step_size": -1.0},
        {"clip": 0.0},
        {"row_bound": math.inf},
        {"l2_share": 0.0},
        {"order": "sorted"},
    ],
)
def test_parameters_out_of_range_are_refused(options):
    with pytest.raises(InvalidInputError, match="out of range"):
        RsgdAr(**options)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-250, 1e-250), (1e-30, 1e-30)])
def test_a_budget_without_use_is_refused(epsilon, delta, run):
    with pytest.raises(DpcoreError, match="too small"):
        run(RsgdAr(), accountant=SingleReleaseAccountant.from_budget(epsilon, delta))
