"""The check of a loss of several classes, beside broken twins of ours; values beside SciPy's."""

import math
import time
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from dpcore.losses.logistic import Softmax
from dpcore.plugin.parts import Logistic
from dpcore_lab.checks import check_loss


class Own:
    """Stands for a plugin's: the facts of ours, each stated by the class itself."""

    name, classification, multiclass, convex = "own", True, True, True
    lipschitz, smoothness = math.sqrt(2), 0.5

    def value(self, z, y, out):
        Softmax().value(z, y, out)

    def dvalue(self, z, y, out):
        Softmax().dvalue(z, y, out)


def twin(**changed):
    return type("Twin", (), {k: v for k, v in vars(Own).items() if k[0] != "_"} | changed)()


def of_all_rows(self, z, y, out):
    Softmax().dvalue(np.ascontiguousarray(z - z.mean(axis=1, keepdims=True)), y, out)


def without_label(self, z, y, out):
    Softmax().dvalue(z, np.full_like(y, -1.0), out)


def writing(self, z, y, out):
    Softmax().dvalue(z, y, out)
    z[:] = 0.0


def steeper(self, z, y, out):
    Softmax().dvalue(z, y, out)
    out *= 1.1


def of_full_blocks(self, z, y, out):
    Softmax().value(z, y, out)
    out += y.size == 8192


def swapped(self, z, y, out):
    other = np.empty_like(out)
    Softmax().dvalue(z, y, other)
    out[:] = other[::-1]


def one_class_short(self, z, y, out):
    Softmax().dvalue(z, y, out)
    out[-1] = np.nan


def shared_scratch(self, z, y, out):
    self.scratch = z - 1.0
    time.sleep(1e-4)
    Softmax().value(self.scratch + 1.0, y, out)


def below_zero(self, z, y, out):
    Softmax().value(z, y, out)
    out -= 1.0


def concave(self, z, y, out):
    Softmax().value(z, y, out)
    np.sqrt(1.0 + out, out=out)


def concave_slope(self, z, y, out):
    value = np.empty(y.size)
    Softmax().value(z, y, value)
    Softmax().dvalue(z, y, out)
    out /= 2 * np.sqrt(1.0 + value)


@dataclass(frozen=True)
class Tempered:
    """The softmax of margins times a number, whose constants are those of the least of them."""

    heat: float = field(default=1.0, metadata={"range": (1.0, 4.0)})

    name: ClassVar[str] = "tempered"
    classification: ClassVar[bool] = True
    multiclass: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    lipschitz = math.sqrt(2)
    smoothness = 0.5

    def value(self, z, y, out):
        Softmax().value(z * self.heat, y, out)

    def dvalue(self, z, y, out):
        Softmax().dvalue(z * self.heat, y, out)
        out *= self.heat


@pytest.mark.slow
def test_a_parameter_whose_range_is_stated_is_tried_at_its_ends():
    with pytest.raises(AssertionError, match=r"With Tempered\(heat=.*lipschitz"):
        check_loss(Tempered())


def test_ours_and_a_plain_one_pass():
    check_loss(Softmax())
    # The largest -z dvalue of 40 classes: W(39 / e), where W solves x = W e^W.
    check_loss(twin(radial_slope=1.99))


@pytest.mark.some_fast
@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"value": of_full_blocks}, "depends on the other rows"),
        ({"dvalue": swapped}, "not the slope"),
        ({"dvalue": one_class_short}, "gives no number"),
        pytest.param(
            {"value": shared_scratch, "thread_safe": True},
            "where calls overlap",
            marks=pytest.mark.slow,
        ),
        ({"value": below_zero}, "never negative"),
        ({"value": concave, "dvalue": concave_slope, "smoothness": 9.0}, "not convex"),
        ({"radial_slope": 0.1}, "declared radial_slope"),
        ({"precise_dvalue": without_label}, "precise_dvalue is not dvalue"),
        ({"nonincreasing": True}, "It states nonincreasing"),
        ({"line_totals": lambda self, line, y, step, count, clip, scale: None}, "line_totals"),
        ({"lipschitz": 1.0}, "lipschitz"),
        ({"smoothness": 0.25}, "smoothness"),
        ({"dvalue": of_all_rows}, "depends on the other rows"),
        ({"dvalue": writing}, "writes on"),
        ({"dvalue": without_label}, "not the slope"),
        ({"dvalue": steeper}, "lipschitz"),
        ({"lipschitz": 1.2}, "lipschitz"),
        ({"smoothness": 0.4}, "smoothness"),
    ],
)
def test_a_broken_twin_is_caught(changed, match):
    with pytest.raises(AssertionError, match=match):
        check_loss(twin(**changed))


@dataclass(frozen=True)
class LargestMargin:
    """The hinge of several classes (Crammer & Singer 2001): max(0, 1 + max of the others - z_y).

    Where others tie, the slope is that of the first of them, ``shared`` out or ``left_out``."""

    shared: bool = False
    left_out: bool = False

    name: ClassVar[str] = "largest-margin"
    classification: ClassVar[bool] = True
    multiclass: ClassVar[bool] = True
    convex: ClassVar[bool] = True
    lipschitz = math.sqrt(2)
    smoothness = math.inf

    def value(self, z, y, out):
        places = np.arange(y.size)
        others = z.copy()
        others[y.astype(int), places] = -np.inf
        out[:] = np.maximum(0.0, 1.0 + others.max(axis=0) - z[y.astype(int), places])

    def dvalue(self, z, y, out):
        value, places = np.empty(y.size), np.arange(y.size)
        self.value(z, y, value)
        others = z.copy()
        others[y.astype(int), places] = -np.inf
        top = others == others.max(axis=0)
        ties = top.sum(axis=0)
        out[:] = top / ties if self.shared else top & (top.cumsum(axis=0) == 1)
        out[y.astype(int), places] = -1.0
        out *= (value > 0.0) & (~(self.left_out & (ties > 1)))


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
def test_a_tie_of_classes_has_any_slope_of_a_convex_loss(shared):
    check_loss(LargestMargin(shared))


@pytest.mark.slow
def test_a_slope_that_is_none_at_a_tie_is_found():
    with pytest.raises(AssertionError, match="not the slope"):
        check_loss(LargestMargin(left_out=True))


@pytest.mark.parametrize("n_classes", [3, 11])
def test_values_and_slopes_are_those_of_scipy(n_classes):
    # SciPy's scipy.special.logsumexp and softmax.
    rng, n = np.random.default_rng(n_classes), 3000
    z = rng.normal(size=(n_classes, n)) * rng.choice([0.01, 1.0, 40.0, 500.0], n)
    y = rng.integers(0, n_classes, n)
    value, slope = np.empty(n), np.empty((n_classes, n))
    Softmax().value(z, y.astype(float), value)
    Softmax().dvalue(z, y.astype(float), slope)
    expected = softmax(z, axis=0)
    expected[y, np.arange(n)] -= 1.0
    np.testing.assert_allclose(value, logsumexp(z, axis=0) - z[y, np.arange(n)], atol=1e-11)
    np.testing.assert_allclose(slope, expected, atol=1e-11)


def test_of_two_classes_it_is_the_logistic_loss():
    rng = np.random.default_rng(2)
    z, y = rng.normal(size=(2, 500)) * 4, rng.integers(0, 2, 500).astype(float)
    several, one = np.empty(500), np.empty(500)
    Softmax().value(z, y, several)
    Logistic().value(np.ascontiguousarray(z[1] - z[0]), 2 * y - 1, one)
    np.testing.assert_allclose(several, one, atol=2e-11)
