"""The map of rows to standardised rows: exact on sums, and bounded row by row."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcore.errors import InvalidInputError
from dpcore_baselines.queries.standardization import SCALE_BITS, Standardization
from dpcore_lab.checks import make_rows
from dpcore_lab.made_tables.tables import Rows

WIDTH = 5
whole = st.integers(-(2**14), 2**14)


def make(scales, shifts, constant=WIDTH - 1):
    shifts = np.array(shifts, dtype=np.int64)
    if constant is not None:
        shifts[constant] = 0
    return Standardization(np.array(scales, dtype=np.int64), shifts, constant)


def exact_square(map_, x):
    """||phi||^2 of a raw row, in rational numbers, straight from the formula."""
    x = [Fraction(float(v)) for v in x]
    centre = x[map_.constant] if map_.constant is not None else Fraction(0)
    pairs = zip(map_.scales.tolist(), map_.shifts.tolist(), x, strict=True)
    return sum((a * v - r * centre) ** 2 for a, r, v in pairs) / 4**SCALE_BITS


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.just(0) | st.integers(2**6, 2**14), min_size=WIDTH, max_size=WIDTH),
    st.lists(whole, min_size=WIDTH, max_size=WIDTH),
    st.lists(st.integers(-(2**16), 2**16), min_size=WIDTH, max_size=WIDTH),
    st.booleans(),
)
def test_the_bound_of_a_row_is_never_below_its_norm(scales, shifts, steps, centred):
    map_ = make(scales, shifts if centred else [0] * WIDTH, WIDTH - 1 if centred else None)
    row = np.ldexp(np.array([steps], dtype=np.float64), -16)
    block = Rows(row, np.ones(1)).table().blocks[0]
    bound = Fraction(float(block.standardized_norms(map_)[0]))
    exact = exact_square(map_, block.rows()[0] / block.factor[0])
    assert bound**2 >= exact
    assert bound**2 <= exact * Fraction(10**6 + 1, 10**6) + Fraction(1, 2**6)


def test_the_plain_formula_in_floats_is_the_positive_control():
    # A row that its own shift takes to next to nothing: the three terms cancel, and what is left of
    # them in floats is below the real norm about half of the time.
    rng = np.random.default_rng(0)
    below = 0
    for _ in range(200):
        map_ = make([2**14 - 1] * WIDTH, rng.integers(-(2**14), 2**14, WIDTH))
        x = np.append(np.ldexp(map_.shifts[:-1], -14) * 0.7, 0.7)
        x = np.ldexp(np.trunc(np.ldexp(x, 16)), -16)
        a, r = (np.ldexp(v.astype(float), -SCALE_BITS) for v in (map_.scales, map_.shifts))
        plain = a * a @ (x * x) - 2 * x[-1] * (a * r @ x) + x[-1] ** 2 * (r @ r)
        below += Fraction(float(plain)) < exact_square(map_, x)
    assert below > 0


def test_a_row_of_which_next_to_nothing_is_left_is_bounded_too():
    # Without the constant column's own part, what rounding takes off is most of what is left.
    rng = np.random.default_rng(0)
    for _ in range(200):
        map_ = make([2**14 - 1] * (WIDTH - 1) + [0], rng.integers(-(2**14), 2**14, WIDTH))
        x = np.append(np.ldexp(map_.shifts[:-1], -14) * 0.7, 0.7)
        x = np.ldexp(np.trunc(np.ldexp(x, 16)), -16)
        block = Rows(x[np.newaxis], np.ones(1)).table().blocks[0]
        bound = Fraction(float(block.standardized_norms(map_)[0]))
        assert bound**2 >= exact_square(map_, block.rows()[0] / block.factor[0])


def test_sums_are_mapped_exactly_also_modulo_two_to_the_64():
    map_ = make([64, 100, 300, 2**14, 64], [-50, 7, 2**14, 3, 0])
    rng = np.random.default_rng(1)
    rows = rng.integers(-(2**62), 2**62, size=(7, WIDTH))
    mapped = sum((map_.map_sums(row) for row in rows), np.zeros(WIDTH, dtype=np.int64))
    assert np.array_equal(map_.map_sums(rows.sum(axis=0)), mapped)
    for row in rows.tolist():
        by_hand = [
            a * x - r * row[-1]
            for a, r, x in zip(map_.scales.tolist(), map_.shifts.tolist(), row, strict=True)
        ]
        got = map_.map_sums(np.array(row)).tolist()
        assert all((g - h) % 2**64 == 0 for g, h in zip(got, by_hand, strict=True))


def test_margins_agree_with_those_of_the_standardised_rows():
    rows = make_rows(20, WIDTH).X
    map_ = Standardization.nearest(np.array([1.0, 2, 3, 4, 5]), np.full(WIDTH, 0.3), WIDTH - 1)
    phi = np.array([np.ldexp(map_.map_sums(np.rint(x * 2**16).astype(int)), -22) for x in rows])
    v = np.array([0.3, -1.0, 0.2, 0.7, 2.0])
    assert np.allclose(rows @ map_.pull_back(v), phi @ v, atol=1e-3)
    # The gradient of a function of w, in v, by the chain rule.
    g = np.array([1.0, -2.0, 0.5, 0.0, 3.0])
    steps = [map_.pull_back(np.eye(WIDTH)[j]) @ g for j in range(WIDTH)]
    assert np.allclose(map_.map_gradient(g), steps)


@pytest.mark.parametrize("constant", [WIDTH - 1, None])
def test_parameters_are_lengthened_by_no_more_than_the_stretch(constant):
    rng = np.random.default_rng(8)
    for _ in range(20):
        scales, means = np.exp(rng.uniform(0, 5, WIDTH)), rng.normal(size=WIDTH)
        map_ = Standardization.nearest(scales, means, constant)
        matrix = np.array([map_.pull_back(unit) for unit in np.eye(WIDTH)])
        most = np.linalg.norm(matrix, 2) ** 2
        assert most <= map_.squared_stretch * (1 + 1e-12) <= 3.1 * most


def test_a_column_of_ones_is_centred_by_its_shift():
    map_ = Standardization.nearest(np.array([2.0, 1.0]), np.array([0.25, 0.9]), 1)
    assert map_.map_sums(np.array([2**14, 2**16])).tolist() == [0, 2**22]
    assert map_.shifts.tolist() == [32, 0]


@pytest.mark.parametrize(
    ("scales", "shifts", "constant", "message"),
    [
        ([63, 64], [0, 0], None, "scales from 1 to 256"),
        ([2**14 + 1, 64], [0, 0], None, "scales from 1 to 256"),
        ([64, 64], [2**14 + 1, 0], 1, "shifts of size"),
        ([64, 64], [1, 1], 1, "no shift of the constant"),
        ([64, 64], [1, 0], None, "or without one"),
        ([64, 64], [0], None, "vectors of one length"),
    ],
)
def test_what_is_no_such_map_is_refused(scales, shifts, constant, message):
    with pytest.raises(InvalidInputError, match=message):
        Standardization(np.array(scales), np.array(shifts), constant)


def test_extreme_values_are_held_to_what_the_map_can_be():
    map_ = Standardization.nearest(np.array([1e9, 1e-9, 1.0]), np.array([-1e9, 1e9, 1.0]), 2)
    assert map_.scales.tolist() == [2**14, 2**6, 2**6]
    assert map_.shifts.tolist() == [-(2**14), 2**14, 0]


def test_what_a_map_was_made_of_may_change_but_not_the_map():
    scales, shifts = np.full(WIDTH, 2**6), np.zeros(WIDTH, dtype=np.int64)
    map_ = Standardization(scales[:], shifts[:], None)
    block = make_rows(6).table().blocks[0]
    norms = block.standardized_norms(map_)
    scales[:], shifts[:] = 2**14, 2**14
    assert (map_.scales == 2**6).all() and not map_.shifts.any()
    exact = [exact_square(map_, row) for row in block._unfolded()]
    assert all(Fraction(float(v)) ** 2 >= e for v, e in zip(norms, exact, strict=True))
    with pytest.raises(ValueError, match="read-only"):
        map_.scales[0] = 2**7
