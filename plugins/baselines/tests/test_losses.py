from fractions import Fraction

import naive
import numpy as np
import pytest

from dpcore_baselines.losses import hinge, huber, quantile
from dpcore_baselines.losses.hinge import HingeSvm
from dpcore_baselines.losses.huber import HuberSvm
from dpcore_baselines.losses.quantile import Quantile
from dpcore_lab.checks import check_loss

MARGINS = np.concatenate(
    [
        [0.0, 1e-12, -1e-12, 0.5, -0.5, 1.0, 1.5, 36.7, -36.7, 699.9, -699.9, 700.0, -700.0],
        np.linspace(-30, 30, 241),
        np.geomspace(1e-6, 700, 100),
        -np.geomspace(1e-6, 700, 100),
    ]
)
WIDTHS = [HuberSvm(half_width=0.3), HuberSvm(half_width=2.0**-6), HuberSvm(half_width=1.0)]
QUANTILES = [
    Quantile(),
    Quantile(tau=0.9),
    Quantile(tau=0.02, half_width=0.3),
    Quantile(tau=0.1, half_width=2.0),
    Quantile(tau=1e-9, half_width=0.3),
]


def filled(function, z, y):
    out = np.empty_like(z)
    function(z, y, out)
    return out


@pytest.mark.some_fast
@pytest.mark.parametrize("loss", [HingeSvm(), HuberSvm(), *WIDTHS, *QUANTILES])
def test_constants_and_rows_on_their_own(loss):
    check_loss(loss)


@pytest.mark.parametrize(
    ("value", "slope", "parameters"),
    [
        (hinge.hinge, hinge.hinge_slope, ()),
        (huber.huber, huber.huber_slope, (0.5,)),
        (quantile.pinball, quantile.pinball_slope, (0.9, 0.25)),
        (quantile.pinball, quantile.pinball_slope, (0.1, 0.0)),
    ],
)
def test_a_slope_is_that_of_the_value_as_both_are_written(value, slope, parameters):
    # The functions themselves: what is compiled, or run without the compiler, is made of them.
    given, step = np.array(parameters), 2.0**-20
    for z in np.linspace(-3.03, 3.03, 40):
        for y in (-1.0, 1.0):
            rise = value(z + step, y, given) - value(z - step, y, given)
            assert slope(z, y, given) == pytest.approx(rise / (2 * step), abs=1e-6)


@pytest.mark.parametrize("loss", [HuberSvm(), *WIDTHS])
def test_the_huberised_hinge_of_a_width_is_its_formula(loss):
    y = np.where(np.arange(MARGINS.size) % 2, 1.0, -1.0)
    expected = [naive.huber(z, s, loss.half_width) for z, s in zip(MARGINS, y, strict=True)]
    np.testing.assert_allclose(filled(loss.value, MARGINS, y), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_the_hinge_is_its_formula_on_both_tails(label):
    y = np.full_like(MARGINS, label)
    expected = [naive.hinge(z, label) for z in MARGINS]
    assert np.array_equal(filled(HingeSvm().value, MARGINS, y), expected)


@pytest.mark.parametrize("loss", QUANTILES)
def test_the_quantile_loss_is_its_formula(loss):
    y = np.resize([-1.0, 0.3, 1.0], MARGINS.size)
    expected = [
        naive.quantile(z, t, loss.tau, loss.half_width) for z, t in zip(MARGINS, y, strict=True)
    ]
    np.testing.assert_allclose(filled(loss.value, MARGINS, y), expected, rtol=1e-12, atol=1e-12)


def test_bounds_of_slopes_are_reached_and_never_passed():
    for loss in (*QUANTILES, *WIDTHS):
        z, y = np.linspace(-9, 9, 20_001), np.ones(20_001)
        assert np.abs(filled(loss.dvalue, z, y)).max() == loss.lipschitz
    assert HuberSvm().smoothness == 1.0 and Quantile().smoothness == np.inf
    # Rounded up: a tenth of a float is none.
    assert Fraction(Quantile(half_width=0.3).smoothness) * 2 * Fraction(0.3) >= 1


def test_what_ours_state_is_what_they_are():
    for loss in (HingeSvm(), HuberSvm(), Quantile()):
        assert loss.convex and loss.thread_safe
    assert HingeSvm.nonincreasing and HuberSvm.nonincreasing
    assert not hasattr(Quantile, "nonincreasing")
