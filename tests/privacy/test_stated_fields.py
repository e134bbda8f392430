"""What a session copies of a part is what its fields are stated to be, and shared with nobody."""

from dataclasses import dataclass

import numpy as np
import pytest

from dpcore.plugin import Gaussian, NeighboringRelation
from dpcore.plugin.parts import (
    LocalEngine,
    SeededNoise,
    TableSession,
    constant,
    load_registry,
    sealed,
)
from dpcore.privacy.immutable import private_copy
from dpcore_lab.checks import make_rows
from dpcore_tables.statistics import NumericColumn, NumericSums

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE


@sealed
@dataclass(frozen=True, slots=True)
class Stated:
    truth: bool = True
    count: int = 1
    figure: float = 1.0
    least: "float | None" = None
    values: object = ()


class Lying(float):
    as_integer_ratio = lambda self: (10**6, 1)  # noqa: E731


@pytest.mark.parametrize(
    ("given", "held"),
    [
        ({"truth": -1.2499}, {"truth": True}),
        ({"truth": 2}, {"truth": True}),
        ({"count": np.int64(3)}, {"count": 3}),
        ({"figure": Lying(2.0)}, {"figure": 2.0}),
        ({"figure": np.array(2.0)}, {"figure": 2.0}),
        ({"figure": 2**70 + 1}, {"figure": 2**70 + 1}),
        ({"least": np.float32(0.5)}, {"least": 0.5}),
        ({"values": (Lying(2.0), None)}, {"values": (2.0, None)}),
    ],
)
def test_a_copy_holds_what_its_fields_are_stated_to_be(given, held):
    copy = private_copy(Stated(**given))
    for name, value in held.items():
        found = getattr(copy, name)
        assert type(found) is type(value) and found == value
    assert private_copy(Stated()) == Stated()


def test_what_is_no_number_is_refused():
    for given in ({"count": 0.5}, {"count": np.float32(0.5)}, {"figure": "x"}):
        with pytest.raises((TypeError, ValueError)):
            private_copy(Stated(**given))


def test_arrays_are_shared_with_nobody():
    shared = np.array(2.0**40)
    copy = private_copy(Stated(values=(shared, [np.ones(3)])))
    shared[...] = 1.0
    assert copy.values[0] == 2.0**40 != Stated(values=shared).values
    for array in (copy.values[0], copy.values[1][0]):
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
    assert constant(np.zeros((0, 2))).shape == (0, 2)


def test_a_sum_of_products_has_the_grid_of_products_whatever_is_true():
    columns = NumericColumn(0, 0, 1), NumericColumn(1, 0, 1)
    odd, plain = NumericSums(columns, products=-1), NumericSums(columns, products=True)
    assert odd.sensitivity(ADD) != plain.sensitivity(ADD)  # of the twin that is not copied
    rows = make_rows(64)
    accountant = load_registry().load("accountant", "zcdp").from_budget(1.0, 1e-6)
    released = [
        TableSession(LocalEngine(rows.table()), accountant, ADD, SeededNoise(1)).release(
            each, Gaussian(50.0)
        )
        for each in (odd, plain)
    ]
    assert np.array_equal(*released)
