"""Whoever builds a pass of SGD chooses among proven bounds, and states no bound of its own."""

import dataclasses
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import InvalidInputError
from dpcore.plugin import Gaussian, NeighboringRelation, Settings
from dpcore.plugin.commands import Run, make_plan
from dpcore.plugin.parts import (
    LocalEngine,
    Logistic,
    SeededNoise,
    TableSession,
    dataset_from_arrays,
)
from dpcore_baselines.losses.hinge import HingeSvm
from dpcore_lab.checks import make_rows
from dpcore_lab.made_tables.tables import make_problem
from dpcore_rsgd_ar.closed_forms import CLOSED_FORMS, decreasing_steps, largest_fixed_step
from dpcore_rsgd_ar.published import PublishedPass
from dpcore_rsgd_ar.release import Release
from dpcore_rsgd_ar.rsgd_ar import RsgdAr
from dpcore_rsgd_ar.schedule import Facts, Schedule
from dpcore_rsgd_ar.sgd_pass import SgdPass

REPLACE = NeighboringRelation.REPLACE_ONE
ROWS = make_rows(30)
PROBLEM = make_problem(ROWS, REPLACE, Logistic(), l2=0.1)
FACTS = Facts.of(PROBLEM)
FIXED = largest_fixed_step(FACTS)
USUAL = decreasing_steps(FACTS, 2, 5)


def steps(size, shape=(3, 1)):
    return np.full(shape, size)


def bound(schedule, problem=PROBLEM, bits=30, **how):
    return SgdPass(problem, schedule, bits, **how).sensitivity(REPLACE).bound


def test_nothing_that_a_claim_rests_on_is_handed_in():
    # A bound of 0, and facts of another loss, were taken once, unnamed.
    given = {field.name for field in dataclasses.fields(SgdPass) if field.init}
    held = {
        "clip",
        "row_bound",
    }  # which make rows and slopes smaller, and are never above the rows'
    assert given - held == {"problem", "schedule", "grid_bits", "randomized", "rule", "norm"}
    schedule = Schedule(30, 30, steps(FIXED))
    assert bound(schedule, clip=1e9, row_bound=1e9) == bound(schedule)
    for name in (*CLOSED_FORMS, "lemma-3", ""):
        with pytest.raises(InvalidInputError, match="Expected"):
            bound(Schedule(30, 30, steps(5.0)), rule=name)


class Wavy(Logistic):
    """Not convex, as far as it says; a base's word does not count."""

    name: ClassVar[str] = "wavy"


@pytest.mark.parametrize("loss", [Wavy(), HingeSvm()])
@pytest.mark.parametrize("rule", ["lemma-2", "bolt-on", "proposition-2"])
def test_a_loss_on_which_no_step_contracts_is_refused(loss, rule):
    with pytest.raises(InvalidInputError, match=f"convex loss of bounded.*{loss.name} is none"):
        bound(Schedule(30, 30, steps(0.1)), replace(PROBLEM, loss=loss), rule=rule)


@pytest.mark.parametrize(
    ("rule", "l2", "schedule"),
    [
        ("bolt-on", 0.1, Schedule(30, 6, USUAL * 0.99)),
        ("bolt-on", 0.1, Schedule(30, 6, np.tile(USUAL[:1], (2, 1)))),
        ("bolt-on", 0.1, Schedule(30, 6, USUAL, average_every=2)),
        ("bolt-on", 0.0, Schedule(30, 6, np.array([[0.1], [0.2]]))),
        ("bolt-on", 0.0, Schedule(30, 6, steps(2.01 / (0.25 * PROBLEM.row_norm**2)))),
        ("proposition-2", 0.1, Schedule(30, 30, steps(FIXED * (1 + 1e-12)))),
        ("proposition-2", 0.1, Schedule(30, 20, steps(FIXED))),
        ("proposition-2", 0.1, Schedule(30, 30, steps(FIXED), average_every=3)),
        ("proposition-2", 0.0, Schedule(30, 30, steps(0.1))),
        ("zhang", 0.1, Schedule(30, 15, steps(FIXED))),
    ],
)
def test_a_closed_form_is_refused_to_schedules_it_is_not_proven_for(rule, l2, schedule):
    with pytest.raises(InvalidInputError, match="closed form is"):
        bound(schedule, replace(PROBLEM, l2=l2), rule=rule)


@pytest.mark.parametrize(
    ("rule", "l2", "schedule"),
    [
        ("bolt-on", 0.1, Schedule(30, 6, USUAL)),
        ("bolt-on", 0.0, Schedule(30, 6, steps(0.5))),
        ("proposition-2", 0.1, Schedule(30, 30, steps(FIXED, (400, 1)))),
        ("zhang", 0.1, Schedule(30, 30, steps(FIXED, (400, 1)))),
    ],
)
def test_a_closed_form_is_never_below_the_recurrence(rule, l2, schedule):
    problem = replace(PROBLEM, l2=l2)
    numeric = bound(schedule, problem, randomized=False)
    assert bound(schedule, problem, randomized=False, rule=rule) >= numeric * (1 - 1e-9)


@pytest.mark.parametrize("held", [{"clip": -1.0}, {"clip": 0.0}, {"row_bound": float("nan")}])
def test_a_slope_or_row_held_to_no_bound_is_refused(held):
    with pytest.raises(InvalidInputError, match="finite and > 0"):
        bound(Schedule(30, 30, steps(0.1)), **held)


@pytest.mark.parametrize("odd", [{"average_every": -1}, {"radius": float("nan")}, {"radius": -1.0}])
def test_a_schedule_whose_numbers_are_none_is_refused(odd):
    with pytest.raises(InvalidInputError, match="tau=.*radius="):
        Schedule(30, 30, steps(0.1), **odd)


def test_steps_of_half_precision_are_counted_in_doubles():
    # Products of float16 steps were rounded to 11 bits, and the contraction with them.
    narrow = np.full((300, 1), 2.0**-12, dtype=np.float16)
    assert bound(Schedule(30, 30, narrow)) == bound(Schedule(30, 30, narrow.astype(np.float64)))


def test_a_grid_on_which_the_result_wraps_around_has_no_sensitivity():
    with pytest.raises(InvalidInputError, match="fits 64 bits"):
        bound(Schedule(30, 30, steps(0.1)), bits=66)


@pytest.mark.parametrize("other", [{"row_norm": 1e-6}, {"n_features": 4}, {"n": 29}])
def test_a_pass_about_other_rows_is_refused_uncharged(other):
    accountant = ZcdpAccountant.from_budget(1.0, 1e-6)
    engine, noise = LocalEngine(ROWS.table()), SeededNoise(1)
    session = TableSession(engine, accountant, REPLACE, noise, problem=PROBLEM)
    problem = replace(PROBLEM, **other)
    query = SgdPass(problem, Schedule(problem.n, 10, steps(0.1)), 30, randomized=False)
    with pytest.raises(InvalidInputError, match=f"states {next(iter(other))}="):
        session.release(query, Gaussian(5.0))
    assert not session.ledger
    with pytest.raises(InvalidInputError, match="table of other rows"):
        SgdPass(PROBLEM, Schedule(29, 10, steps(0.1)), 30)


@dataclass(frozen=True, kw_only=True)
class Unmarked(RsgdAr):
    """Releases the authors' pass as if it were private."""

    def minimize(self, problem, session):
        return self._minimize(problem, session, Release(self, query=PublishedPass))


def test_the_published_pass_voids_the_statement_whoever_releases_it():
    plan = make_plan(Settings(algo="rsgd-ar", relation="replace-one"))
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.resize([-1.0, 1.0], 60)
    data = dataset_from_arrays(X, y)
    assert Run(plan, data).model().privacy["private"] is True
    told = Run(replace(plan, optimizer=Unmarked()), data).model().privacy
    assert told["private"] is False and "NOT" in told["sentence"]
    assert told["why_not_private"] == [
        "parts that promise no privacy were released: dpcore_rsgd_ar.published:PublishedPass"
    ]
