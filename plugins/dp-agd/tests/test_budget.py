"""What DP-AGD spends, and what it refuses before it spends anything."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from agd_runs import ADD, REPLACE, recorded

from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import BudgetExceededError, InvalidInputError, UnsupportedEventError
from dpcore.plugin.parts import LocalEngine, Logistic, PureAccountant, SeededNoise, TableSession
from dpcore_accounting.rdp import RdpAccountant
from dpcore_dp_agd.optimizer import DpAgd
from dpcore_lab.checks import (
    RecordingSession,
    make_rows,
)
from dpcore_lab.made_tables.tables import make_problem


def test_the_ledger_is_what_was_drawn_and_is_charged_once():
    session, solution = recorded(DpAgd(steps=20), make_rows(300))
    assert len(session.ledger) == len(session.records)
    total = sum(entry.cost for entry in session.ledger)
    assert total == pytest.approx(session.accountant.spent, rel=1e-9)
    assert total <= session.accountant.budget
    taken, again = solution.details["steps_taken"], solution.details["gradients_remeasured"]
    assert session.releases["selection"] >= taken
    assert session.releases["gradient"] <= taken + again + 1


def test_a_refused_first_release_leaves_no_model():
    problem = make_problem(make_rows(10), ADD, Logistic())
    session = TableSession(
        LocalEngine(make_rows(10).table()),
        ZcdpAccountant.from_budget(1.0, 1e-6),
        ADD,
        SeededNoise(1),
    )
    with pytest.raises(BudgetExceededError):
        # Paper's rule with so few splits that the first release is over the whole budget.
        DpAgd(splits=1, clip=1.0, use={"selection": "report-noisy-max"}).minimize(
            problem, _spent(session)
        )


def _spent(session):
    """Return the session with next to nothing left of its budget."""
    accountant = session.accountant
    session._account._filter = dataclasses.replace(
        accountant, spent_ticks=accountant.budget_ticks - 1
    )
    return session


def test_a_budget_too_small_for_one_release_says_what_would_do():
    accountant = ZcdpAccountant.from_budget(1e-12, 1e-30)
    with pytest.raises(InvalidInputError, match=r"too small for one release.*would be enough"):
        recorded(DpAgd(), make_rows(10), accountant=accountant)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("accountant", "use"),
    [
        (RdpAccountant, {}),
        (PureAccountant, {"gradient": "laplace", "selection": "permute-and-flip"}),
        (PureAccountant, {"gradient": "laplace", "selection": "exponential"}),
    ],
)
def test_other_accountants_hold_its_releases(accountant, use):
    opened = accountant.from_budget(5.0, 1e-6)
    session, solution = recorded(DpAgd(use=use), make_rows(500), accountant=opened)
    assert solution.details["steps_taken"] > 0
    assert session.accountant.remaining >= 0


REMEDIES = {
    PureAccountant: "dp-agd's slot gradient (gaussian) cannot be held by pure; "
    "choose --use gradient=laplace (use={'gradient': 'laplace'}), or --accountant gdp, zcdp or "
    "rdp (accountant=).",
}


@pytest.mark.parametrize("accountant", [PureAccountant])
def test_an_accountant_that_cannot_hold_a_slot_is_refused_before_any_release(accountant):
    problem = make_problem(make_rows(10), ADD, Logistic())
    session = RecordingSession(
        make_rows(10).table(), accountant.from_budget(1.0, 1e-6), ADD, SeededNoise(1)
    )
    with pytest.raises(UnsupportedEventError) as caught:
        DpAgd().minimize(problem, session)
    assert REMEDIES[accountant] in str(caught.value)
    assert not session.ledger and not session.engine.answers


@pytest.mark.parametrize("options", [{"splits": 60}, {"as_published": True}])
def test_the_papers_rule_needs_a_delta(options):
    accountant = PureAccountant.from_budget(1.0, 0.0)
    with pytest.raises(InvalidInputError, match="delta > 0"):
        recorded(
            DpAgd(use={"gradient": "laplace"}, **options), make_rows(10), accountant=accountant
        )


@pytest.mark.slow
def test_the_fewest_steps_are_warned_of():
    small = ZcdpAccountant.from_budget(1e-3, 1e-6)
    _, solution = recorded(DpAgd(), make_rows(30), accountant=small, n0=30)
    assert solution.details["steps_planned"] == 10 and "noise" in solution.details["warning"]
    for optimizer, accountant in (
        (DpAgd(steps=10), small),
        (DpAgd(), ZcdpAccountant.from_budget(8.0, 1e-6)),
    ):
        _, solution = recorded(optimizer, make_rows(30), accountant=accountant)
        assert "warning" not in solution.details


def test_rows_are_counted_only_where_no_public_number_exists():
    with_n0, _ = recorded(DpAgd(), make_rows(100), n0=100)
    without, _ = recorded(DpAgd(), make_rows(100), n0=None)
    public, _ = recorded(DpAgd(), make_rows(100), REPLACE, n0=None)
    assert "count" not in with_n0.releases and "count" not in public.releases
    assert without.releases["count"] == 1
    share = without.ledger[0].cost / without.accountant.budget
    assert share == pytest.approx(0.02, rel=1e-6)


@pytest.mark.slow
def test_the_papers_preset_has_the_papers_shares():
    fields = {field.name for field in dataclasses.fields(DpAgd)}
    preset = {k: v for k, v in DpAgd.presets["paper"].items() if k in fields}
    optimizer = DpAgd(**preset, use={"selection": "report-noisy-max"})
    accountant = ZcdpAccountant.from_budget(0.4, 1e-8, "bun-steinke")
    session, solution = recorded(optimizer, make_rows(300), accountant=accountant)
    gradient, selection = session.ledger[0].cost, session.ledger[1].cost
    epsilon = 0.4 / 120
    # The paper's eps_nmax = eps_ng = eps_tot / (2 splits), by the classical Gaussian mechanism.
    assert gradient == pytest.approx(epsilon**2 / (4 * np.log(1.25e8)), rel=1e-6)
    assert selection == pytest.approx(epsilon**2 / 2, rel=1e-4)
    assert session.records[0].sensitivity.bound == 3.0
    assert solution.details["clip"] == 3.0


@pytest.mark.parametrize(
    "options",
    [
        {"steps": 0},
        {"clip": -1.0},
        {"clip": float("nan")},
        {"max_step": 0.0},
        {"selection_share": 1.0},
        {"candidates": 0},
        {"loss_clip": float("inf")},
        {"gamma": 0.0},
        {"momentum": 1.0},
        {"averaging": float("nan")},
        {"shrink": 0.0},
    ],
)
def test_parameters_out_of_range_are_refused(options):
    with pytest.raises(InvalidInputError, match="out of range"):
        DpAgd(**options)


def test_defaults_are_functions_of_public_facts():
    problem = SimpleNamespace(row_norm=2.0)
    from dpcore_dp_agd import defaults

    signals = [defaults.signal(n, 0.02, 100) for n in (1e3, 1e4, 1e5, 1e6)]
    steps = [defaults.steps_for(u) for u in signals]
    clips = [defaults.clip_for(u, problem.row_norm) for u in signals]
    assert steps == sorted(steps) and clips == sorted(clips)
    assert clips[-1] <= problem.row_norm
