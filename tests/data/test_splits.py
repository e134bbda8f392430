"""Splits: one row more moves one row under add-or-remove; a fixed size where n is public."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dpcore.data.splits import split_rows
from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE


def source(seed):
    return np.random.default_rng(seed).bytes


def words(*values):
    return lambda k: np.array(values, dtype="<u8").tobytes()[:k]


def test_one_row_more_moves_no_other_row_under_add_or_remove():
    less, more = (split_rows(n, 0.2, ADD, source(1)) for n in (1000, 1001))
    assert np.array_equal(less, more[:-1])


def test_a_fixed_size_split_moves_rows_and_so_is_for_replace_one_only():
    less, more = (split_rows(n, 1 / 3, REPLACE, words(5, 3, 1)) for n in (2, 3))
    assert less.tolist() == [False, True] and more.tolist() == [False, False, True]


@pytest.mark.parametrize("fraction", [0.2, 0.5, 1 / 3, 2.0**-64, 1 - 2.0**-53])
def test_the_coin_is_exact(fraction):
    edge = math.floor(Fraction(fraction) * 2**64)
    mask = split_rows(3, fraction, ADD, words(edge - 1, edge, 0))
    assert mask.tolist() == [True, False, True]


def test_a_share_below_the_coin_is_never_drawn():
    assert split_rows(1, 1e-30, ADD, words(0)).tolist() == [False]


def test_the_held_out_share_is_the_fraction():
    # 20,000 coins of 0.2: 6 standard deviations of 57 are a false alarm in 10^8 (fixed seed).
    assert abs(split_rows(20_000, 0.2, ADD, source(2)).sum() - 4000) < 6 * 57


@pytest.mark.parametrize("n", [0, 1, 2, 5, 10, 1001])
def test_the_fixed_size(n):
    assert split_rows(n, 0.2, REPLACE, source(3)).sum() == math.floor(0.2 * n + 0.5)


def test_every_subset_is_equally_likely():
    rng = source(4)
    counts = {}
    for _ in range(6000):
        key = tuple(np.flatnonzero(split_rows(4, 0.5, REPLACE, rng)))
        counts[key] = counts.get(key, 0) + 1
    # chi-squared with 5 degrees of freedom: above 35 once in a million (fixed seed).
    assert len(counts) == 6
    assert sum((k - 1000) ** 2 / 1000 for k in counts.values()) < 35


def test_equal_keys_are_drawn_again():
    draws = iter([words(5, 5, 1), words(3, 2, 1)])
    assert split_rows(3, 0.4, REPLACE, lambda k: next(draws)(k)).tolist() == [False, False, True]


def test_entropy_is_fresh_by_default():
    assert not np.array_equal(split_rows(200, 0.5, ADD), split_rows(200, 0.5, ADD))


@pytest.mark.parametrize("fraction", [0.0, 1.0, -1.0, math.nan, math.inf])
def test_a_fraction_outside_its_range_is_refused(fraction):
    with pytest.raises(InvalidInputError, match="fraction"):
        split_rows(3, fraction, ADD)
