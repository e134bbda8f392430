"""No part is a dataclass whose fields anyone can set: sessions, loading and checks refuse one."""

from dataclasses import dataclass

import numpy as np
import pytest

from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import InvalidInputError
from dpcore.plugin import ClippedGradientSum, Gaussian
from dpcore.plugin.parts import LocalEngine, Logistic, LossFacts, SeededNoise, TableSession
from dpcore.privacy.sensitivity import NeighboringRelation, Sensitivity
from dpcore.registry.tables.optimizer_spec import fault_of_part
from dpcore_lab.checks import check_loss, check_mechanism, check_query, check_sampler, make_rows
from dpcore_lab.made_tables.tables import make_problem

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
ROWS = make_rows(64)
TOLD = r"is a dataclass that is not frozen, .* Write @dataclass\(frozen=True\)\."


class Counts:
    kind = "count"

    def start(self):
        return np.zeros(1, dtype=np.int64)

    def answer_block(self, block):
        return np.array([block.n_rows], dtype=np.int64)

    def sensitivity(self, relation):
        return Sensitivity("l2", self.bound, relation)


@dataclass
class Loose(Counts):
    """Its bound can be set between the charge and the noise."""

    bound: float = 1.0


@dataclass(frozen=True)
class Firm(Counts):
    bound: float = 1.0


class Noise:
    name, needs = "noise", "l2"

    def event(self, sensitivity):
        return Gaussian(self.noise_multiplier).event(sensitivity)

    def release(self, exact, sensitivity, noise):
        return Gaussian(self.noise_multiplier).release(exact, sensitivity, noise)


@dataclass
class LooseNoise(Noise):
    noise_multiplier: float = 20.0


@dataclass(frozen=True)
class FirmNoise(Noise):
    noise_multiplier: float = 20.0


class Scaled:
    name, classification, lipschitz, smoothness = "scaled", True, 1.0, 0.25

    def value(self, z, y, out):
        Logistic().value(z, y, out)

    def dvalue(self, z, y, out):
        Logistic().dvalue(z, y, out)


@dataclass
class LooseLoss(Scaled):
    scale: float = 1.0


@dataclass(frozen=True)
class FirmLoss(Scaled):
    scale: float = 1.0


@pytest.mark.parametrize(
    ("query", "mechanism"),
    [
        (Loose(), FirmNoise()),
        (Firm(), LooseNoise()),
        (ClippedGradientSum(make_problem(ROWS, ADD, LooseLoss()), np.zeros(5), 1.0), FirmNoise()),
    ],
    ids=["query", "mechanism", "loss of a query"],
)
def test_a_session_refuses_one_uncharged(query, mechanism):
    # It was released, and what the session had checked could be set before the noise was drawn.
    session = TableSession(
        LocalEngine(ROWS.table()), ZcdpAccountant.from_budget(50.0, 1e-6), ADD, SeededNoise(1)
    )
    with pytest.raises(InvalidInputError, match=TOLD):
        session.release(query, mechanism)
    assert session.ledger == ()
    session.release(Firm(), FirmNoise())
    assert session.releases == {"count": 1}


def test_a_loss_is_refused_wherever_its_facts_are_read():
    with pytest.raises(InvalidInputError, match=f"The loss LooseLoss {TOLD}"):
        LossFacts.of(LooseLoss())
    assert LossFacts.of(FirmLoss()).lipschitz == 1.0


@pytest.mark.parametrize("kind", ["optimizer", "mechanism", "accountant", "loss"])
def test_loading_refuses_one_of_any_kind_but_engines_and_pools(kind):
    loose = dataclass(type("Loose", (), {}))
    assert "Write @dataclass(frozen=True)" in fault_of_part(kind, loose)
    assert "frozen" not in fault_of_part("engine", loose)


def test_so_do_the_checks():
    sampler = dataclass(type("Loose", (), {"sampled_event": None}))()
    for check, part in (
        (check_query, lambda problem: Loose()),
        (check_mechanism, LooseNoise),
        (check_loss, LooseLoss()),
        (check_sampler, sampler),
    ):
        with pytest.raises((AssertionError, InvalidInputError), match=TOLD):
            check(part)
