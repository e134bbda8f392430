"""The public bins of the number line: ascending, without a gap, and of a number's bits alone."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore_tables.bounds.bins import LARGEST, LEAVES, edge, leaves_of

EDGES = [edge(place) for place in range(LEAVES + 1)]


def test_edges_ascend_from_end_to_end():
    assert EDGES == sorted(set(EDGES)) and len(EDGES) == LEAVES + 1
    assert (EDGES[0], EDGES[LEAVES // 2], EDGES[-1]) == (-LARGEST, 0.0, LARGEST)
    assert EDGES == [-e for e in reversed(EDGES)]
    above = [Fraction(e) for e in EDGES[LEAVES // 2 + 1 :]]
    assert max((b - a) / a for a, b in zip(above, above[1:], strict=False)) == Fraction(1, 32)


@given(st.floats(allow_nan=False))
def test_a_number_is_within_its_leaf_or_beyond_the_last(x):
    (leaf,) = leaves_of(np.array([x]))
    if abs(x) >= LARGEST:
        assert leaf == (0 if x < 0 else LEAVES - 1)
    elif x < 0:
        assert EDGES[leaf] <= x <= EDGES[leaf + 1]
    else:
        assert EDGES[leaf] <= x < EDGES[leaf + 1]
    assert leaves_of(np.array([7.0, x, math.nan]))[1] == leaf


@pytest.mark.parametrize("place", [1, 100, 2000, 2049, 2050, 3000, 4095])
def test_edges_are_told_apart_to_the_last_bit(place):
    at = EDGES[place]
    near = np.array([math.nextafter(at, -math.inf), at, math.nextafter(at, math.inf)])
    expected = [place - 1, place, place] if at > 0 else [place - 1, place - 1, place]
    assert leaves_of(near).tolist() == expected


def test_both_zeros_and_the_least_numbers_are_in_the_middle():
    middle = LEAVES // 2
    assert leaves_of(np.array([0.0, -0.0, 5e-324, -5e-324])).tolist() == [
        *(middle, middle, middle, middle - 1)
    ]
