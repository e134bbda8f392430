"""A class whose metaclass says that it equals another is not taken for it: neither by name nor by a
cache.
"""

from types import FunctionType

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin import Gaussian, NeighboringRelation, RowCount
from dpcore.plugin.parts import (
    GaussianDpEvent,
    LocalEngine,
    SeededNoise,
    Sensitivity,
    TableSession,
    load_registry,
)
from dpcore.privacy.first_party import part_of
from dpcore_accounting.samples import PoissonSample
from dpcore_lab.checks import make_rows

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
ROWS = make_rows(32)


class Posing(type):
    """The metaclass of classes that equal the one they pose as."""

    __hash__ = lambda cls: hash(vars(cls)["poses_as"])  # noqa: E731
    __eq__ = lambda cls, other: other is cls or other is vars(cls)["poses_as"]  # noqa: E731


def session(name="zcdp"):
    accountant = load_registry().load("accountant", name).from_budget(50.0, 1e-6)
    return TableSession(LocalEngine(ROWS.table()), accountant, ADD, SeededNoise(1))


@pytest.mark.parametrize("kind", [tuple, list, set, frozenset, dict])
def test_what_equals_a_container_is_named(kind):
    class Quiet(metaclass=Posing):
        """Adds nothing, and goes for an empty container."""

        poses_as = kind
        name, needs = "quiet", "l2"
        __iter__ = lambda self: iter(())  # noqa: E731
        values = __iter__
        event = lambda self, sensitivity: GaussianDpEvent(1000.0)  # noqa: E731

        def release(self, exact, sensitivity, noise):
            return exact * 2.0**-sensitivity.grid_bits

    assert type(Quiet()) in (kind,)  # which a comparison by == would take it for
    opened = session()
    opened.release(RowCount(), Quiet())
    assert opened.foreign_parts == (part_of(Quiet()),)


def test_what_equals_a_function_is_named_by_its_class():
    class Called(metaclass=Posing):
        """A query under the name of one of dpcore's."""

        __slots__ = ("__qualname__",)
        poses_as, kind = FunctionType, "sum"
        __module__ = property(lambda self: RowCount.__module__)

        def __init__(self):
            self.__qualname__ = "RowCount"

        def start(self):
            return np.zeros(1, np.int64)

        def answer_block(self, block):
            return self.start()

        def sensitivity(self, relation):
            return Sensitivity("l2", 2.0**-20, relation, grid_bits=20)

    assert type(Called()) in (FunctionType,)
    opened = session()
    opened.release(RowCount(), Gaussian(1000.0))
    assert not opened.foreign_parts
    opened.release(Called(), Gaussian(1000.0))
    assert opened.foreign_parts == (part_of(Called()),)


def test_what_dpcores_parts_hold_is_found_whatever_was_looked_at_before():
    class Bare(metaclass=Posing):
        __slots__ = ()
        poses_as = PoissonSample.__mro__[1]

    class Empty(Bare):
        """Of a class and bases that equal those of dpcore's sample, and holds nothing."""

        __slots__ = ()
        __module__ = PoissonSample.__module__
        poses_as, kind = PoissonSample, "count"
        sensitivity = lambda self, relation: RowCount().sensitivity(relation)  # noqa: E731

    class Peek(RowCount):
        pass

    assert {Empty: "taken"}.get(PoissonSample) == "taken"  # as a cache by == would have it
    opened = session("rdp")
    with pytest.raises(InvalidInputError, match="calls itself"):
        opened.release(Empty(), Gaussian(1000.0))
    opened.release(PoissonSample(Peek(), 0.5), Gaussian(1000.0))
    assert opened.foreign_parts == (part_of(Peek),)


def test_a_name_of_ours_leads_into_no_other_module(monkeypatch):
    class Exactly(RowCount):
        __module__ = RowCount.__module__
        __qualname__ = "np.Exactly"

    monkeypatch.setattr(np, "Exactly", Exactly, raising=False)
    assert np.Exactly is Exactly  # where the twin, which follows every dot, would find it
    assert part_of(Exactly) == f"?{RowCount.__module__}:np.Exactly"
