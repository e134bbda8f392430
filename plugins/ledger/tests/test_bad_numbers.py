"""Numbers that a ledger is given: refused where they are none, and never worth less than they cost.

Bugs 12 and 30 of other libraries: an average that is charged once for its sum and its count, costs
that fall as epsilon grows, budgets that are negative or no number.
"""

import math
from itertools import pairwise

import pytest
from typer.testing import CliRunner

import dpcore
from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.cli import app
from dpcore.errors import BudgetExceededError, DpcoreError, InvalidInputError
from dpcore.plugin.parts import GdpAccountant, PureAccountant
from dpcore_accounting.single import SingleReleaseAccountant
from dpcore_ledger import TableLedger, Terms
from dpcore_ledger.cost import Run, cost_of
from dpcore_ledger.remaining import epsilon_that_fits
from dpcore_ledger.rendering import remaining
from dpcore_ledger.verify import releases_of, verified
from dpcore_tables.statistics import open_session

ROWS = "add-or-remove-one"
NO_EPSILON = (-1.0, 0.0, -math.inf, math.inf, math.nan, "1", True, None)
NO_DELTA = (-1e-9, 1.0, 1.5, math.inf, math.nan, "0", None)
NO_PART = (-1e-9, 1.5, 2e-6, math.nan)


def refused_budgets():
    yield from ({"epsilon": number, "delta": 1e-6} for number in NO_EPSILON)
    yield from ({"epsilon": 1.0, "delta": number} for number in NO_DELTA)
    yield from ({"epsilon": 1.0, "delta": 1e-6, "aside": number} for number in NO_PART)


@pytest.mark.parametrize("accountant", ["zcdp", "gdp", "pure", "rdp"])
@pytest.mark.parametrize("budget", list(refused_budgets()), ids=str)
def test_no_ledger_has_such_a_budget(budget, accountant):
    with pytest.raises(InvalidInputError):
        Terms.of(**budget, accountant=accountant)


@pytest.mark.parametrize("option", ["--epsilon=-1", "--epsilon=nan", "--delta=2", "--delta=nan"])
def test_the_command_line_neither_opens_nor_raises_one(tmp_path, option):
    run, path = CliRunner().invoke, str(tmp_path / "table.ledger")
    asked = ["--epsilon", "1", option]  # The last of two counts.
    assert run(app, ["ledger", "init", path, *asked]).exit_code == 2
    ledger = TableLedger.create(path, Terms.of(1.0, 1e-6))
    assert run(app, ["ledger", "raise", path, *asked]).exit_code == 2
    assert len(verified(ledger.path)) == 1


@pytest.mark.parametrize("numbers", [{"epsilon": e} for e in NO_EPSILON[:5]], ids=str)
def test_no_run_of_such_a_budget_is_charged(tmp_path, numbers):
    ledger = TableLedger.create(tmp_path / "table.ledger", Terms.of(1.0, 1e-6))
    with pytest.raises(InvalidInputError):
        dpcore.fit([[0.0], [1.0]], [0, 1], classes=(0, 1), ledger=ledger.path, **numbers)
    assert len(verified(ledger.path)) == 1


KINDS = (ZcdpAccountant, GdpAccountant, PureAccountant, SingleReleaseAccountant)


def costs(kind, terms, budgets):
    own = (kind.from_budget(epsilon, delta) for epsilon, delta in budgets)
    return [cost_of(Run(filter, ROWS, None), terms) for filter in own]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("relation", [ROWS, "replace-one"])
def test_a_larger_budget_costs_more(kind, relation):
    terms = Terms.of(9.0, 1e-6, relation=relation)
    delta = 0.0 if kind is PureAccountant else 1e-8
    grown = costs(kind, terms, [(10.0**power, delta) for power in range(-4, 2)])
    assert all(0 < small.ticks < large.ticks for small, large in pairwise(grown))
    if kind is not PureAccountant:
        # At one epsilon a larger delta lets more through, be it in the unit or in delta itself.
        grown = costs(kind, terms, [(1.0, 10.0**power) for power in range(-12, -7)])
        pairs = [(cost.ticks, cost.aside_ticks) for cost in grown]
        assert all(small < large for small, large in pairwise(pairs))


def test_an_average_is_charged_for_its_sum_and_its_count(tmp_path):
    """Every release that a session made is in the file, and the run counts for their sum, by the
    formula of the normal distribution: 1 / (2 m^2) each (Bun & Steinke 2016, Proposition 1.6)."""
    ledger = TableLedger.create(tmp_path / "table.ledger", Terms.of(2.0, 1e-6))
    X = [[k / 100, 1 - k / 100] for k in range(100)]
    asked = {"classes": (0, 1), "bounds": (0, 1), "row_norm": None, "ledger": ledger.path}
    with open_session(X, [0, 1] * 50, epsilon=1.0, **asked) as session:
        session.mean("x1", "x2", share=0.5)
        made = session.ledger
    (run,) = ledger.state().runs.values()
    (entry,) = (entry for entry in verified(ledger.path) if entry.kind == "reserved")
    assert len(made) == len(releases_of(ledger.path, entry)) >= 1
    expected = sum(1 / (2 * release.event.noise_multiplier**2) for release in made)
    assert run.ticks / 2**120 == pytest.approx(expected, rel=1e-9)
    assert expected == pytest.approx(session.accountant.spent, rel=1e-9)


def test_a_number_below_nought_is_not_written(tmp_path):
    """Costs in the file are read back as they were reserved: a closing entry can take away from
    its own run alone, and no more than all of it."""
    ledger = TableLedger.create(tmp_path / "table.ledger", Terms.of(2.0, 1e-6))
    own = Run(ZcdpAccountant.from_budget(0.5, 1e-8), ROWS, None)
    stated = {"analyst": "", "algorithm": "test", "epsilon": 0.5, "delta": 1e-8}
    number = ledger.reserve(own, stated).reference["entry"]
    numbers = {"ticks": "-5", "aside_ticks": "0", "outcome": "finished"}
    found = {"why_not_private": [], "most_rows": None, "typed_by": None, "parts": []}
    with pytest.raises(DpcoreError, match="below nought"):
        ledger.add(lambda _: ("closed", "", {"run": number, **numbers, **found}))


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("gdp", "zcdp", ZcdpAccountant),
        ("zcdp", "gdp", GdpAccountant),
        ("gdp", "pure", PureAccountant),
    ],
)
def test_a_raise_by_another_filter_holds_what_it_was_opened_for(tmp_path, first, second, kind):
    """A filter that holds no run of such a kind had hidden the budgets after it."""
    ledger = TableLedger.create(tmp_path / "table.ledger", Terms.of(0.2, 1e-6, accountant=first))
    ledger.raise_cap(Terms.of(1.0, 1e-6, accountant=second))
    stated = {"analyst": "", "algorithm": "test", "epsilon": 0.5, "delta": 1e-8}
    own = Run(kind.from_budget(0.5, 0.0 if kind is PureAccountant else 1e-8), ROWS, None)
    ledger.reserve(own, stated)
    (run,) = ledger.state().runs.values()
    assert run.budget == 1
    with pytest.raises(BudgetExceededError, match="would fit"):
        for _ in range(10):
            ledger.reserve(own, stated)


def test_each_budget_says_what_fits_into_it(tmp_path):
    ledger = TableLedger.create(tmp_path / "table.ledger", Terms.of(2.0, 1e-6))
    ledger.raise_cap(Terms.of(0.1, 1e-6, accountant="gdp"))
    state = ledger.state()
    fits = [
        epsilon_that_fits(state, Run(terms.filter, ROWS, None), place)
        for place, terms in enumerate(state.budgets)
    ]
    assert 1.5 < fits[0] <= 2.0
    assert 0.09 < fits[1] <= 0.1
    said = remaining(state)
    assert any("zcdp accountant fits up to epsilon" in line for line in said)
    assert any("gdp accountant fits up to epsilon" in line for line in said)


def test_a_budget_of_no_unit_by_name_is_refused():
    with pytest.raises(InvalidInputError, match="name of a column"):
        Terms.of(1.0, 1e-6, unit="")
