"""The losses by themselves: the checks of any plugin, statsmodels' deviances, their constants."""

import math

import numpy as np
import pytest

from dpcore.plugin.parts import LossFacts
from dpcore_baselines.losses.row_loss import RowLoss
from dpcore_counts.exponential import mean
from dpcore_counts.gamma import LEAST, Gamma
from dpcore_counts.negative_binomial import NegativeBinomial
from dpcore_counts.poisson import Poisson, deviance
from dpcore_lab.checks import check_loss

LOSSES = [Poisson(), Gamma(), NegativeBinomial(), NegativeBinomial(overdispersion=0.5)]
TARGETS, MEANS = np.array([0.0, 0.25, 1.0, 2.0]), np.array([0.5, 0.25, 0.1, 3.0])
DEVIANCES = {
    # statsmodels 0.15.0: family.deviance(t, m) of genmod.families Poisson(), NegativeBinomial(
    # alpha=0.5) and Gamma(), row by row.
    Poisson(): [1.0, 0.0, 2.805170185988092, 0.37813956756734224],
    NegativeBinomial(overdispersion=0.5): [
        *(0.8925742052568388, 0.0, 2.4651205223556976, 0.1632879780810199)
    ],
    Gamma(): [None, 0.0, 13.394829814011908, 0.14426354954966225],
}

FACTORS = {Poisson: 1.0, NegativeBinomial: 1.125, Gamma: 0.25}


def filled(function, z, y):
    out = np.empty_like(z)
    function(z, y, out)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_facts_hold_row_by_row(loss):
    check_loss(loss)


def half_a_target_off(z, y, parameters):
    return mean(z) - 0.5 - y


class Halved(RowLoss, value=deviance, slope=half_a_target_off):
    """Broken on purpose: the slope of another target."""

    name, classification, log_link = "halved", False, True
    lipschitz = smoothness = math.inf


@pytest.mark.slow
def test_a_slope_of_another_target_is_caught():
    with pytest.raises(AssertionError, match="dvalue is not the slope of value"):
        check_loss(Halved())


@pytest.mark.some_fast
@pytest.mark.parametrize("loss", DEVIANCES, ids=repr)
def test_a_value_is_half_the_deviance_of_statsmodels_times_its_factor(loss):
    # A factor makes the slope at a mean of 1/4 that of a Poisson loss, m - t.
    halves = filled(loss.value, np.log(MEANS), TARGETS - 1.0) / FACTORS[type(loss)]
    usual = np.full(4, np.log(0.25)), np.maximum(TARGETS, LEAST) - 1.0
    np.testing.assert_allclose(filled(loss.dvalue, *usual), -0.75 - usual[1], atol=1e-12)
    for half, whole in zip(halves, DEVIANCES[loss], strict=True):
        assert whole is None or half == pytest.approx(whole / 2, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_loss_is_least_where_the_mean_is_the_target(loss):
    t = np.linspace(0.01, 2.0, 200)
    at = np.log(t), t - 1.0
    assert np.abs(filled(loss.value, *at)).max() < 1e-14
    assert np.abs(filled(loss.dvalue, *at)).max() < 1e-14
    assert (filled(loss.value, np.log(t) + 0.1, t - 1.0) > 0).all()


def test_no_bound_is_stated_where_there_is_none():
    for loss in (Poisson(), Gamma()):
        assert (loss.lipschitz, loss.smoothness) == (math.inf, math.inf)
        facts = LossFacts.of(loss)
        assert facts.log_link and facts.convex and facts.self_concordance is None
    steep = [filled(Poisson().dvalue, np.array([z]), np.array([0.0]))[0] for z in (5.0, 20.0, 40.0)]
    assert steep[0] > 100 and steep[1] > 1e8 and np.isfinite(steep[2]) and steep[2] > 1e13
    assert filled(Gamma().dvalue, np.array([-20.0]), np.array([1.0]))[0] < -2e7


@pytest.mark.parametrize("a", [2.0**-6, 0.1, 0.5, 1.0, 30.0])
def test_the_slopes_of_a_negative_binomial_are_within_their_bounds_and_reach_them(a):
    loss = NegativeBinomial(overdispersion=a)
    z = np.linspace(-40, 60, 20_001)
    slopes = np.array([filled(loss.dvalue, z, np.full(z.size, y)) for y in (-1.0, 0.0, 1.0)])
    assert 0.999 * loss.lipschitz < np.abs(slopes).max() <= loss.lipschitz
    assert 0.99 * loss.smoothness < np.diff(slopes).max() / (z[1] - z[0]) <= loss.smoothness


def test_a_negative_binomial_nears_a_poisson_one_as_its_overdispersion_goes():
    z, y = np.linspace(-2, 1, 50), np.linspace(-1, 1, 50)
    near, far = (filled(NegativeBinomial(overdispersion=a).value, z, y) for a in (2.0**-6, 1.0))
    poisson = filled(Poisson().value, z, y)
    assert np.abs(near - poisson).max() < 0.05 < np.abs(far - poisson).max()


def test_an_amount_of_nothing_counts_as_the_least():
    z = np.linspace(-5, 2, 20)
    none, least = (np.full(20, t - 1.0) for t in (0.0, LEAST))
    assert np.array_equal(filled(Gamma().value, z, none), filled(Gamma().value, z, least))
    assert np.isfinite(filled(Gamma().value, z, none)).all()
