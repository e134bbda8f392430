"""Losses of two functions of one row: run by the core, and their claims checked."""

import math
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from dpcore.errors import InvalidInputError, KernelError
from dpcore.plugin import option
from dpcore_baselines.losses import row_loss
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


def turned(z, y, parameters):
    return parameters[0] * y


@dataclass(frozen=True)
class Turned(RowLoss, value=turned, slope=turned):
    sign: float = 1.0
    name, classification, lipschitz = "turned", True, 1.0

    @property
    def smoothness(self):
        object.__setattr__(self, "sign", -self.sign)
        return 1.0


class OtherDictionary:
    @property
    def __dict__(self):
        return {"sign": 1.0}


class OtherClass:
    @property
    def __class__(self):
        object.__setattr__(self, "sign", -1.0)
        return Turned


class OtherWord(str):
    __slots__ = ()


def sums(loss, n=3):
    """Return what a block of one row gives, each after code of the class was asked for a fact."""
    found, one = [], np.ones(1)
    for _ in range(n):
        assert loss.smoothness == 1.0
        out = np.empty(1)
        loss.dvalue(one, one, out)
        found += out.tolist()
    return found


def test_a_field_that_changes_after_the_check_changes_nothing(monkeypatch):
    loss = Turned()
    assert is_by_rows(loss)
    assert sums(loss) == [1.0] * 3
    other = Turned(-1.0)
    assert other == Turned(-1.0) and sums(other) == [1.0] * 3  # as it was at the first block
    # The broken twin reads the fields again for each block. A loss that ended under it would be
    # left in the dictionary itself, and be taken for the next one of its id.
    with monkeypatch.context() as patch:
        patch.setattr(row_loss, "_READ", Forgetful())
        assert sums(loss) == [1.0, -1.0, 1.0]


class Forgetful(dict):
    def get(self, key, default=None):
        return default

    def setdefault(self, key, value):
        return value


def test_parameters_are_kept_as_long_as_their_loss():
    before = len(row_loss._READ)
    losses = [Turned(sign) for sign in (1.0, -1.0)]
    assert [sums(loss, 1) for loss in losses] == [[-1.0], [1.0]]
    assert len(row_loss._READ) == before + 2
    del losses
    assert len(row_loss._READ) == before


@pytest.mark.parametrize("code", [OtherDictionary, OtherClass])
def test_a_class_with_code_where_python_holds_fields_is_refused(code):
    (name,) = {"__dict__", "__class__"} & {
        key for key, value in vars(code).items() if isinstance(value, property)
    }
    own = {name: vars(code)[name], "smoothness": 1.0, "__annotations__": {"sign": float}}
    made = type(RowLoss)("Other", (RowLoss,), own, value=turned, slope=turned)
    loss = object.__new__(dataclass(frozen=True)(made))
    object.__setattr__(loss, "sign", 1.0)
    assert not is_by_rows(loss)
    with pytest.raises(KernelError, match="Expected Other to leave __class__, __dict__ and"):
        sums(loss, 1)


@pytest.mark.parametrize("fields", [{OtherWord("sign"): 1}, {"sign": 1}, OtherDictionary()])
def test_fields_that_are_not_a_dataclass_s_are_refused(fields, monkeypatch):
    loss = Turned()
    monkeypatch.setattr(Turned, "__dataclass_fields__", fields)
    assert not is_by_rows(loss)
    with pytest.raises(KernelError, match="and __dataclass_fields__ as Python makes them"):
        sums(loss, 1)
    monkeypatch.undo()
    assert is_by_rows(loss)


def test_what_the_dictionary_itself_holds_is_seen():
    loss = Turned()
    vars(loss)["dvalue"] = print
    assert not is_by_rows(loss)


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


@pytest.mark.parametrize("name", ["__reduce__", "__reduce_ex__", "__setstate__", "__copy__"])
def test_a_loss_that_is_another_in_each_process_is_refused(name):
    """Each worker of a cluster has its own copy of a query: one that is made otherwise there would
    count what the assignment of partitions is."""
    own = {name: lambda self, *given: (huber, ())}
    with pytest.raises(InvalidInputError, match="and no value, dvalue"):
        type("Turns", (RowLoss,), {**vars(Facts), **own}, value=huber, slope=huber_slope)
    twin = type("Turns", (Huber,), own)(0.5)
    assert not is_by_rows(twin)
    again = pickle.loads(pickle.dumps(Huber(0.75)))
    assert is_by_rows(again) and again == Huber(0.75)
