"""What a run told has one form for equal values alone."""

import struct

import numpy as np
import pytest

from dpcore_lab.replay.canonical import canonical


class Listed(list):
    """Items, and what an instance holds beside them."""


def listed(items, held):
    one = Listed(items)
    one.held = held
    return one


def nan_of(payload):
    return struct.unpack("<d", struct.pack("<Q", 0x7FF8 << 48 | payload))[0]


DIFFERENT = {
    "a shape": (np.zeros((2, 3)), np.zeros((3, 2))),
    "a type of array": (np.zeros(2), np.zeros(2, dtype=np.int64)),
    "a bit": (np.array([0.0]), np.array([-0.0])),
    "a sign of zero": (0.0, -0.0),
    "a payload": (nan_of(1), nan_of(2)),
    "a truth value": (True, 1),
    "a value of a mapping": ({"a": 1}, {"a": 2}),
    "an order": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "what items hold beside": (listed([1], 2.0), listed([1], 3.0)),
    "items beside what is held": (listed([1], 2.0), listed([4], 2.0)),
    "an object in an array": (np.array([{1}], object), np.array([{2}], object)),
}


@pytest.mark.parametrize("name", DIFFERENT)
@pytest.mark.parametrize("within", [lambda value: value, lambda value: [{"told": (value,)}]])
def test_values_that_differ_have_two_forms(name, within):
    one, other = (canonical(within(value)) for value in DIFFERENT[name])
    assert one != other


def test_equal_values_have_one_form():
    fortran = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert canonical(fortran) == canonical(np.ascontiguousarray(fortran))
    assert canonical({8, 0}) == canonical({0, 8})
    assert canonical(listed([1], 2.0)) == canonical(listed([1], 2.0))
