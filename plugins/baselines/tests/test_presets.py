"""The presets of the baselines: the formulas of their sources, and what they cost."""

import math

import mpmath as mp
import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import (
    PoissonSampledDpEvent,
    PureAccountant,
    SeededNoise,
    load_registry,
    optimizer_facts,
)
from dpcore_accounting.advanced_composition import AdvancedCompositionAccountant
from dpcore_accounting.events.objective_perturbation import ObjectivePerturbationDpEvent
from dpcore_accounting.rdp import RdpAccountant
from dpcore_accounting.single import SingleReleaseAccountant
from dpcore_baselines.objpert import ObjPert
from dpcore_baselines.outpert import OutPert
from dpcore_baselines.sgd_adv import SgdAdv
from dpcore_baselines.sgd_ma import SgdMa
from dpcore_lab.checks import RecordingSession, make_rows
from dpcore_lab.made_tables.tables import make_problem

LOGISTIC = load_registry().load("loss", "logistic")()
ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE


def preset(kind):
    """Return the optimizer of the preset, and what it says of accountant and slots."""
    values = dict(kind.presets["paper"])
    accountant = {k: values.pop(k) for k in list(values) if k.startswith("accountant")}
    use = {k: values.pop(k) for k in list(values) if k in optimizer_facts(kind).slots}
    return kind(**values, use=use), accountant


def run(optimizer, relation, accountant, l2=0.0, n0=400):
    """Return the session and the solution of a run on 60 rows."""
    rows = make_rows(60)
    problem = make_problem(rows, relation, LOGISTIC, l2=l2, n0=n0)
    session = RecordingSession(rows.table(), accountant, relation, SeededNoise(3))
    return session, optimizer.minimize(problem, session)


@pytest.mark.parametrize("kind", [SgdMa, SgdAdv])
def test_samples_are_of_the_root_of_the_public_number(kind):
    optimizer, _ = preset(kind)
    problem = Problem(LOGISTIC, 0.0, 5, 1.5, 2.0, ADD, n0=40_000, capacity=2**20)
    ((event, count),) = optimizer.schedule(problem, 3.0).items()
    assert type(event) is PoissonSampledDpEvent and event.sampling_probability == 1 / 200
    assert count == optimizer.steps


@pytest.mark.parametrize("kind", [SgdMa, SgdAdv])
def test_where_no_number_is_public_there_is_no_root(kind):
    # A rate that followed the rows would tell how many there are.
    optimizer, _ = preset(kind)
    with pytest.raises(InvalidInputError, match=r"public number of rows: give the schema rows"):
        run(optimizer, ADD, RdpAccountant.from_budget(1.0, 1e-6), n0=None)


def test_a_step_is_as_large_and_clipped_as_the_preset_says():
    optimizer, _ = preset(SgdAdv)
    accountant = AdvancedCompositionAccountant.from_budget(1.0, 1e-6, "dwork-roth")
    session, solution = run(optimizer, ADD, accountant)
    assert solution.details["clip"] == 3.0 and solution.details["expected_batch_size"] == 20.0
    assert {q.sensitivity(ADD).bound for q, _ in session.parts} == {3.0}
    assert 0.999 < session.accountant.spent / session.accountant.budget <= 1


def exact_delta(mu, epsilon):
    a = mp.mpf(epsilon) / mu - mp.mpf(mu) / 2
    return mp.ncdf(-a) - mp.exp(epsilon) * mp.ncdf(-a - mu)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize("epsilon", [0.05, 8.0])
def test_the_published_objective_perturbation_is_within_its_budget(epsilon, relation):
    optimizer, said = preset(ObjPert)
    assert said == {"accountant": "single"}
    accountant = SingleReleaseAccountant.from_budget(epsilon, 1e-8)
    session, solution = run(optimizer, relation, accountant)
    row = 1.5  # of made rows; the logistic slope is at most 1, its curvature 1/4
    noise = row * relation.rows_changed * math.sqrt(8 * math.log(2e8) + 4 * epsilon) / epsilon
    assert solution.details["noise_scale"] == pytest.approx(noise)
    assert solution.details["regularisation"] == pytest.approx(2 * 0.25 * row**2 / epsilon)
    (entry,) = session.ledger
    assert type(entry.event) is ObjectivePerturbationDpEvent
    left = epsilon - entry.event.log_determinant
    with mp.workdps(40):
        delta = sum(exact_delta(shift, left) for shift in entry.event.shifts)
    assert delta <= 1e-8
    # The least noise by the curve is less, and so the published values waste budget.
    _, least = run(ObjPert(), relation, accountant)
    assert least.details["noise_scale"] < solution.details["noise_scale"]


def test_the_published_rule_is_for_normal_noise():
    optimizer = ObjPert(rule="kifer-smith-thakurta", use={"noise": "gamma"})
    with pytest.raises(InvalidInputError, match="is for normal noise and delta > 0; --set rule"):
        run(optimizer, ADD, PureAccountant.from_budget(1.0, 0.0))
    with pytest.raises(InvalidInputError, match="out of range"):
        ObjPert(rule="kifer")


def test_the_published_output_perturbation_is_pure():
    optimizer, said = preset(OutPert)
    assert said == {"accountant": "pure"} and optimizer.use == {"noise": "gamma"}
    session, _ = run(optimizer, REPLACE, PureAccountant.from_budget(1.0, 0.0), l2=0.1)
    assert session.accountant.delta == 0 and 0.999 < float(session.accountant.spent) <= 1
