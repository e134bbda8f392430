import mpmath
import naive
import numpy as np
import pytest

from dpcore.losses.squared import Squared
from dpcore.plugin.parts import Logistic
from dpcore_lab.checks import check_loss

MARGINS = np.concatenate(
    [
        [0.0, 1e-12, -1e-12, 0.5, -0.5, 1.0, 1.5, 36.7, -36.7, 699.9, -699.9, 700.0, -700.0],
        np.linspace(-30, 30, 241),
        np.geomspace(1e-6, 700, 100),
        -np.geomspace(1e-6, 700, 100),
    ]
)


def filled(function, z, y):
    out = np.empty_like(z)
    function(z, y, out)
    return out


@pytest.mark.parametrize("label", [-1.0, 1.0])
@pytest.mark.parametrize(
    ("function", "twin"),
    [
        (Logistic().value, naive.logistic),
        (Logistic().dvalue, naive.logistic_slope),
    ],
)
def test_against_the_formula_on_both_tails(function, twin, label):
    y = np.full_like(MARGINS, label)
    expected = np.array([twin(z, label) for z in MARGINS])
    # The error bound that dpcore/losses/logistic.py states.
    np.testing.assert_allclose(filled(function, MARGINS, y), expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("loss", [Logistic(), Squared()])
def test_constants_and_rows_on_their_own(loss):
    check_loss(loss)


class MeanMargin(Logistic):
    """Broken on purpose: one row moves every other row's loss."""

    def value(self, z, y, out):
        super().value(z - z.mean(), y, out)


class Steep(Logistic):
    lipschitz = 0.5


class WrongSlope(Logistic):
    def dvalue(self, z, y, out):
        super().dvalue(z, y, out)
        out *= 0.5


@pytest.mark.parametrize(
    ("loss", "reason"),
    [
        (MeanMargin(), "depends on the other rows"),
        (Steep(), "exceeds the declared lipschitz"),
        (WrongSlope(), "not the slope"),
    ],
)
def test_a_broken_loss_is_caught(loss, reason):
    with pytest.raises(AssertionError, match=reason):
        check_loss(loss)


def test_infinite_margins_give_finite_slopes():
    z = np.array([np.inf, -np.inf])
    y = np.ones(2)
    np.testing.assert_allclose(filled(Logistic().dvalue, z, y), [0.0, -1.0], atol=1e-11)


def test_precise_slopes_are_within_their_error():
    z = np.concatenate([np.linspace(-40, 40, 801), [-800.0, -700.0, 700.0, 800.0, 1e-9, 0.0]])
    with mpmath.workdps(40):
        for y in (-1.0, 1.0):
            found = filled(Logistic().precise_dvalue, z, np.full(z.size, y))
            for margin, value in zip(z, found, strict=True):
                exact = -y / (1 + mpmath.exp(y * mpmath.mpf(float(margin))))
                assert abs(mpmath.mpf(float(value)) - exact) < mpmath.mpf(2) ** -46
