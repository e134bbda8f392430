"""A third party's accountant, installed like any other: chosen, held to a schedule, and named."""

import sys
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from typer.testing import CliRunner

from dpcore import fit
from dpcore.errors import BudgetExceededError, UnsupportedEventError
from dpcore.plugin import FixedSchedule, NeighboringRelation, RowCount
from dpcore.plugin.parts import (
    DominatingPairDpEvent,
    LocalEngine,
    PureAccountant,
    PureDpEvent,
    SeededNoise,
    Sensitivity,
    TableSession,
    load_registry,
)
from dpcore_accounting.smallest_epsilon import smallest_epsilon
from dpcore_lab.checks import make_rows

MODULE = '''
from dataclasses import dataclass
from typing import ClassVar

from dpcore_accounting.rdp import RdpAccountant
from dpcore.plugin import hookimpl


@dataclass(frozen=True, kw_only=True)
class Generous(RdpAccountant):
    """Broken on purpose: costs a quarter, so that any schedule takes the least noise under it."""

    name: ClassVar[str] = "generous"

    def _leaf_cost(self, event):
        return super()._leaf_cost(event) / 4


@hookimpl
def register_accountants(register):
    register("generous", "acme_accounts:Generous", summary="A quarter of the cost.")
'''


@pytest.fixture
def installed(tmp_path, monkeypatch):
    (tmp_path / "acme_accounts.py").write_text(MODULE)
    info = tmp_path / "acme_accounts-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-accounts\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[dpcore]\nacme = acme_accounts\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    load_registry.cache_clear()
    yield
    load_registry.cache_clear()
    sys.modules.pop("acme_accounts", None)


def fitted(**asked):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (60, 3)), rng.integers(0, 2, 60)
    return fit(X, y, classes=(0, 1), epsilon=2.0, delta=1e-6, n0=60, **asked).privacy


@pytest.mark.slow
@pytest.mark.parametrize("accountant", ["best", "generous"])
def test_the_statement_names_it_whoever_chose_it(installed, accountant):
    privacy = fitted(algo="sgd-ma", accountant=accountant)
    assert privacy["accountant"] == "generous"
    assert "acme_accounts:Generous" in privacy["parts_not_from_dpcore"]
    assert "not from dpcore, are right: acme_accounts:Generous" in privacy["sentence"]


@pytest.mark.slow
def test_the_statement_of_users_names_it_too(installed):
    params = {"noise": "filter", "rounds": 3, "rate": 0.5}
    privacy = fitted(algo="a-ddp", accountant="best", relation="replace-special", params=params)
    assert privacy["accountant"] == "generous"
    assert "acme_accounts:Generous" in privacy["parts_not_from_dpcore"]


def test_the_command_marks_whose_it_is(installed):
    from dpcore.cli import app

    for more in ([], ["--rounds", "9"]):
        shown = CliRunner().invoke(app, ["account", *more])
        assert "generous (of" in shown.stdout and "zcdp (of" not in shown.stdout


@dataclass(frozen=True, kw_only=True)
class Convolving:
    """Convolves dominating pairs, exactly: a theorem about releases that were fixed beforehand."""

    name: ClassVar[str] = "convolving"
    unit: ClassVar[str] = "epsilon at the budget's delta"
    fully_adaptive: ClassVar[bool] = False

    epsilon: float
    delta: float
    conversion: str = "pld"
    distributions: tuple = ((Fraction(1), Fraction(1)),)

    @classmethod
    def from_budget(cls, epsilon, delta, conversion=None):
        return cls(epsilon=epsilon, delta=delta)

    @classmethod
    def supports(cls, event):
        return type(event) is DominatingPairDpEvent

    def compose(self, event):
        if not self.supports(event):
            raise UnsupportedEventError("Dominating pairs only.")
        total_p, total_q = sum(event.p), sum(event.q)
        masses = {}
        for a, b in self.distributions:
            for p, q in zip(event.p, event.q, strict=True):
                x, y = a * Fraction(p, total_p), b * Fraction(q, total_q)
                ratio = x / y
                old = masses.get(ratio, (0, 0))
                masses[ratio] = old[0] + x, old[1] + y
        after = replace(self, distributions=tuple(masses.values()))
        if after.get_epsilon(self.delta) > self.epsilon:
            raise BudgetExceededError("Too much.")
        return after

    def get_epsilon(self, delta):
        def holds(epsilon):
            return sum(max(0.0, a - np.exp(epsilon) * b) for a, b in self.distributions) <= delta

        return smallest_epsilon(holds, 1.0, 1e-9)

    def cost(self, event):
        return Fraction(self.compose(event).get_epsilon(self.delta) - self.spent)

    @property
    def budget(self):
        return self.epsilon

    @property
    def spent(self):
        return self.get_epsilon(self.delta) if len(self.distributions) > 1 else 0.0

    @property
    def remaining(self):
        return self.budget - self.spent


RESPONSE = DominatingPairDpEvent((11, 9), (9, 11))


@dataclass(frozen=True)
class Coin:
    """A coin that leans to the truth; its answer is of no interest here."""

    needs: ClassVar[str] = "l2"
    noise_multiplier: float = 1.0
    name: ClassVar[str] = "coin"

    def event(self, sensitivity: Sensitivity):
        return RESPONSE

    def release(self, exact, sensitivity, noise):
        return 1.0


def test_one_for_fixed_schedules_holds_the_pairs_that_were_stated():
    empty = Convolving.from_budget(1.5, 0.05)
    pure = PureAccountant.from_budget(1.5, 0.0)
    assert not pure.holds({RESPONSE: 20})  # 20 ln(11/9) is 4
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    engine, schedule = LocalEngine(make_rows(60).table()), FixedSchedule({RESPONSE: 20})
    session = TableSession(engine, empty, relation, SeededNoise(1), schedule=schedule)
    for _ in range(20):
        session.release(RowCount(), Coin())
    assert 0 < session.accountant.spent <= 1.5 and len(session.ledger) == 20
    with pytest.raises(UnsupportedEventError, match="not on the schedule"):
        session.release(RowCount(), Coin())
    with pytest.raises(UnsupportedEventError):
        FixedSchedule({RESPONSE: 1}).take(PureDpEvent(0.1))
