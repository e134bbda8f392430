"""Losses of two functions of one row: run by the core, and their claims checked."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from dpcore.errors import InvalidInputError, KernelError
from dpcore.plugin import option
from dpcore_baselines.losses.row_loss import RowLoss, is_by_rows
from dpcore_lab.checks import check_loss


def huber(z, y, parameters):
    r = abs(y - z)
    bend = parameters[0]
    return 0.5 * r * r / bend if r < bend else r - 0.5 * bend


def huber_slope(z, y, parameters):
    return min(1.0, max(-1.0, (z - y) / parameters[0]))


def steeper(z, y, parameters):
    return 2.0 * min(1.0, max(-1.0, (z - y) / parameters[0]))


@dataclass(frozen=True, slots=True)
class Huber(RowLoss, value=huber, slope=huber_slope):
    bend: float = option(0.5, "half of the stretch on which it bends", range=(0.25, 1.0))

    name = "huber"
    classification = False
    convex = True
    lipschitz = 1.0
    precise_dvalue = RowLoss.dvalue

    @property
    def smoothness(self):
        return 1.0 / self.bend


class Facts:
    name = "other"
    classification = False
    lipschitz = 1.0
    smoothness = 2.0


def test_it_computes_both_functions_with_its_parameters():
    z, y = np.linspace(-2.0, 2.0, 9), np.linspace(1.0, -1.0, 9)
    value, slope = np.empty(9), np.empty(9)
    for bend in (0.5, 1.0):
        loss = Huber(bend)
        loss.value(z, y, value)
        loss.dvalue(z, y, slope)
        assert value.tolist() == [huber(*row, [bend]) for row in zip(z, y, strict=True)]
        assert slope.tolist() == [huber_slope(*row, [bend]) for row in zip(z, y, strict=True)]


class Cooling:
    """Another number each time that it is asked: it would count the blocks."""

    def __init__(self):
        self.t = 1.0

    def __float__(self):
        self.t *= 0.5
        return self.t


class Asked(RowLoss, value=huber, slope=huber_slope):
    name, classification, convex, lipschitz, smoothness = "asked", False, True, 1.0, 1.0

    @property
    def bend(self):
        raise AssertionError("code of the class was asked for a parameter")


@pytest.mark.parametrize("value", [Cooling(), "1", np.float32(1.0), 1j])
def test_a_parameter_that_is_no_plain_number_is_refused(value):
    loss, z = Huber.__new__(Huber), np.zeros(1)
    object.__setattr__(loss, "bend", value)
    assert not is_by_rows(loss) and is_by_rows(Huber(0.5))
    with pytest.raises(KernelError, match="bend of Huber to be plain numbers or None"):
        loss.value(z, z, np.empty(1))


def test_no_code_of_the_class_is_asked_for_a_parameter():
    kind = dataclass(frozen=True)(type("Asked", (Asked,), {"__annotations__": {"bend": float}}))
    with pytest.raises(KernelError, match="plain numbers"):
        kind.value(object.__new__(kind), np.zeros(1), np.zeros(1), np.empty(1))


def test_none_is_nothing_to_a_function():
    @dataclass(frozen=True, slots=True)
    class Shifted(RowLoss, value=shifted, slope=huber_slope):
        by: float | None = None

    out = np.empty(1)
    for by, expected in ((None, 1.0), (0.5, 0.25), (-0.0, 1.0), (0.0, 1.0)):
        Shifted(by).value(np.ones(1), np.zeros(1), out)
        assert out.tolist() == [expected]


def shifted(z, y, parameters):
    return (z - parameters[0]) ** 2


def test_an_honest_one_passes_the_check_of_a_loss():
    check_loss(Huber())
    assert is_by_rows(Huber())


@pytest.mark.parametrize(
    ("claims", "told"),
    [
        ({"smoothness": 1.0}, "smoothness"),
        ({"lipschitz": 0.5}, "lipschitz"),
        ({"slope": steeper, "lipschitz": 2.0, "smoothness": 4.0}, "dvalue"),
    ],
)
def test_a_wrong_claim_is_found(claims, told):
    slope = claims.pop("slope", huber_slope)

    @dataclass(frozen=True)
    class Wrong(RowLoss, value=huber, slope=slope):
        bend: float = 0.5
        name = "wrong"
        classification = False
        lipschitz = claims.get("lipschitz", 1.0)
        smoothness = claims.get("smoothness", 2.0)

    with pytest.raises(AssertionError, match=told):
        check_loss(Wrong())
    assert is_by_rows(Wrong())  # of each row alone, all the same


SEEN = []


def test_code_of_its_own_for_rows_is_refused():
    with pytest.raises(InvalidInputError, match="and no value, dvalue"):

        class Remembers(RowLoss, value=huber, slope=huber_slope):
            def dvalue(self, z, y, out):
                SEEN.append(z)
                super().dvalue(z, y, out)

    with pytest.raises(InvalidInputError, match=r"Expected Half\(RowLoss, value=..., slope=...\)"):

        class Half(RowLoss, value=huber):
            pass

    with pytest.raises(InvalidInputError, match="made of RowLoss alone"):

        class Mixed(RowLoss, Facts, value=huber, slope=huber_slope):
            pass

    class Below(Huber):
        pass

    assert not is_by_rows(Below())

    def waits(z, y, parameters):
        while z > 0.0:
            z -= 1.0
        return z

    with pytest.raises(InvalidInputError, match=r"\(While\)"):

        class Waits(RowLoss, value=huber, slope=waits):
            pass


def test_what_is_altered_later_is_by_rows_no_more():
    class Plain(Facts):
        pass

    class Alone(RowLoss, value=huber, slope=huber_slope):
        pass

    assert not is_by_rows(Plain())
    loss = Alone()
    assert is_by_rows(loss)
    with pytest.raises(AttributeError, match="is not to be set"):
        loss.dvalue = print
    loss.__dict__["dvalue"] = print
    assert not is_by_rows(loss)
    Alone.dvalue = lambda self, z, y, out: SEEN.append(z)
    assert not is_by_rows(Alone())


def test_it_states_what_is_infinite():
    class Corner(RowLoss, value=huber, slope=huber_slope):
        name = "corner"
        classification = False
        lipschitz = 1.0
        smoothness = math.inf

    assert vars(Corner)["thread_safe"] is True
