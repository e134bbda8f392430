"""Privacy losses out of the range of ordinary runs: a value from above, whatever the event."""

import itertools
import math

import numpy as np
import pytest

from dpcore.errors import BudgetExceededError, DpcoreError, InvalidInputError
from dpcore.plugin import FixedSchedule, NeighboringRelation
from dpcore.plugin.parts import (
    AdditiveAccountant,
    DominatingPairDpEvent,
    ExponentialMechanismDpEvent,
    GaussianDpEvent,
    LaplaceDpEvent,
    PoissonSampledDpEvent,
    PureDpEvent,
    RandomizedSensitivityGaussian,
)
from dpcore_accounting import privacy_loss_composition, privacy_loss_curves
from dpcore_accounting.pld import PldAccountant
from dpcore_accounting.privacy_loss_composition import composed_delta_up
from dpcore_accounting.rdp import RdpAccountant

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
LITTLE = [
    GaussianDpEvent(2.0**600),
    GaussianDpEvent(1e300),
    PoissonSampledDpEvent(0.1, GaussianDpEvent(2.0**600), ADD),
    PoissonSampledDpEvent(1e-300, GaussianDpEvent(1.0), ADD),
    LaplaceDpEvent(1e200),
    PureDpEvent(1e-300),
]
MUCH = [
    GaussianDpEvent(2.0**-600),
    LaplaceDpEvent(1e-200),
    PureDpEvent(1e5),
    ExponentialMechanismDpEvent(1e5),
    DominatingPairDpEvent((1, 0), (0, 1)),
]


@pytest.mark.parametrize("event", LITTLE, ids=str)
def test_next_to_nothing_adds_next_to_nothing(event):
    alone = composed_delta_up(((GaussianDpEvent(2.0), 3),), 1.0, 1e-2)
    both = composed_delta_up(((GaussianDpEvent(2.0), 3), (event, 5)), 1.0, 1e-2)
    assert composed_delta_up(((event, 1),), 1.0, 1e-6) <= 1e-12
    assert alone * (1 - 1e-3) <= both <= alone * (1 + 1e-2)


@pytest.mark.parametrize("event", MUCH, ids=str)
def test_what_tells_all_comes_to_one(event):
    assert composed_delta_up(((event, 1),), 1.0, 1e-6) >= 1 - 1e-12
    assert composed_delta_up(((GaussianDpEvent(2.0), 3), (event, 1)), 1.0, 1e-2) >= 1 - 1e-12


@pytest.mark.parametrize("p", [0.5, 2.0**-40, 2.0**-64])
def test_at_an_epsilon_of_zero_it_is_the_distance_in_variation(p):
    """p (2 Phi(1 / 2) - 1): of a sample's distribution, that of the whole times p."""
    exact = p * math.erf(math.sqrt(0.125))
    found = composed_delta_up(((PoissonSampledDpEvent(p, GaussianDpEvent(1.0), ADD), 1),), 0.0, p)
    assert exact * (1 - 1e-12) <= found <= exact * 1.1


def test_what_no_float_holds_is_refused():
    """They raised OverflowError and ValueError, and leaked NumPy's warnings."""
    with pytest.raises(InvalidInputError, match="less than 2\\^1000"):
        DominatingPairDpEvent((10**309, 1), (1, 10**309))
    with pytest.raises(InvalidInputError, match="2\\^-1022 <= sampling_probability=5e-324"):
        PoissonSampledDpEvent(5e-324, GaussianDpEvent(1.0), ADD)
    with pytest.raises(InvalidInputError, match="epsilon=1e\\+300 <= 2\\^64"):
        PldAccountant.from_budget(1e300, 0.5).compose(GaussianDpEvent(1.0))


@pytest.mark.parametrize("count", [10**15, pytest.param(10**18, marks=pytest.mark.slow)])
def test_a_step_longer_than_any_loss_has_a_bound(count):
    """Of 10^15 releases the grid's step is above the largest loss, where e^x is out of range: an
    empty distribution raised ValueError, and NumPy's warnings leaked."""
    event = PoissonSampledDpEvent(1e-3, GaussianDpEvent(1.0), ADD)
    assert composed_delta_up(((event, count),), 1.0, 1e-6) == 1.0
    wide = PoissonSampledDpEvent(1e-3, GaussianDpEvent(1e15), ADD)
    assert 0 < composed_delta_up(((wide, count),), 1.0, 1e-6) < 1e-6


EDGES = (5e-324, 1e-300, 1e-100, 1.0, 1e100, 1.7e308)
KINDS = [
    GaussianDpEvent,
    LaplaceDpEvent,
    PureDpEvent,
    ExponentialMechanismDpEvent,
    lambda x: PoissonSampledDpEvent(1e-100, GaussianDpEvent(x), ADD),
    lambda x: PoissonSampledDpEvent(1 - 2.0**-53, GaussianDpEvent(x), ADD),
    lambda x: RandomizedSensitivityGaussian((x, 1.0), (1, 10**400), 1.0),
]


@pytest.mark.slow
@pytest.mark.parametrize("edge", EDGES)
def test_values_at_the_edges_of_floats_have_a_bound_or_a_refusal(edge):
    for accountant in AdditiveAccountant.registered():
        for kind, budget in itertools.product(KINDS, [(1.0, 1e-9), (1e6, 1e-300), (1e19, 0.5)]):
            try:
                after = accountant.from_budget(*budget).compose(kind(edge))
            except DpcoreError:
                continue
            assert 0 <= after.spent <= after.budget


def test_a_value_is_never_rounded_to_nothing():
    """Of a sample of next to nobody a divergence is below the smallest float: 0 was charged."""
    event = PoissonSampledDpEvent(2.3e-308, GaussianDpEvent(1.0), ADD)
    assert RdpAccountant.from_budget(1e300, 0.5).cost(event) > 0
    assert composed_delta_up(((event, 1),), 1.0, 1e-9) > 0


def no_number(x):
    return np.full(x.size, np.nan), np.full(x.size, np.nan)


def test_what_is_no_number_counts_as_all(monkeypatch):
    """A bound that is no number held no probability: of a distribution in part of them, it was
    lost."""
    ordinary = privacy_loss_curves.curves_of(GaussianDpEvent(2.0))[0]

    def up(x):
        low, high = ordinary.up(x)
        return low, np.where((x > 1.0) & (x < 2.0), np.nan, high)

    broken = privacy_loss_curves.Curve(
        up, ordinary.down, ordinary.least, ordinary.most, ordinary.spread
    )
    monkeypatch.setattr(privacy_loss_composition, "curves_of", lambda event: (ordinary, broken))
    with np.errstate(invalid="raise"):
        low, high = privacy_loss_curves.Curve(no_number, no_number, -1, 1, 1).bounds(
            np.array([-1.0, 1.0])
        )
    composed_delta_up.cache_clear()
    found = composed_delta_up(((GaussianDpEvent(2.0), 1),), 1.0, 1e-2)
    composed_delta_up.cache_clear()
    assert (low.tolist(), high.tolist()) == ([0.0, 0.0], [1.0, 1.0])
    assert found > 0.5


OTHERS = [
    GaussianDpEvent(50.0),
    PureDpEvent(0.01),
    PoissonSampledDpEvent(0.05, GaussianDpEvent(1.0), ADD),
]


@pytest.mark.parametrize("other", OTHERS, ids=str)
def test_a_planned_budget_holds_nothing_beside_its_plan(other):
    """Releases chosen in the place of planned ones fit by their own value, and have no theorem."""

    def schedule(m):
        return {PoissonSampledDpEvent(0.05, GaussianDpEvent(m), ADD): 100}

    accountant = FixedSchedule.planned_accountant(PldAccountant, 1.0, 1e-6, None, schedule)
    (each,) = schedule(FixedSchedule.noise_multiplier(accountant, schedule))
    for before in (accountant, accountant.compose(each)):
        with pytest.raises(BudgetExceededError, match="fixed beforehand"):
            before.compose(other)


@pytest.mark.parametrize(("m", "least"), [(1.0, 1.0), (5e7, 1e-12)])
def test_a_million_million_rounds_have_a_value(m, least):
    # A step grew until a float held it no more: an OverflowError ended `dpcore account`.
    assert least <= composed_delta_up(((GaussianDpEvent(m), 10**12),), 1.0, 1e-8) <= 1.0
