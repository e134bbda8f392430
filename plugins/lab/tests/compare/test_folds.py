"""Folds: one permutation for benchmarks; for private rows, one row more moves no other."""

from itertools import pairwise

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore_lab.compare.folds import fold_key, fold_numbers

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_a_benchmark_is_cut_into_equal_parts_the_same_every_time(relation):
    first, second = (fold_numbers("x", 103, 5, relation, key=None) for _ in range(2))
    assert np.array_equal(first, second)
    assert sorted(np.bincount(first)) == [20, 20, 21, 21, 21]


def test_a_private_row_more_moves_no_other_under_add_or_remove():
    # Of folds of a fixed size, a row more moves no other once in five: 40 do once in 10^27.
    key = fold_key(None)
    each = [fold_numbers("x", n, 5, ADD, key=key) for n in range(1000, 1041)]
    assert all(np.array_equal(less, more[:-1]) for less, more in pairwise(each))
    # The control: under a seeded permutation many rows move.
    less, more = (fold_numbers("x", n, 5, ADD, key=None) for n in (1000, 1001))
    assert (less != more[:-1]).sum() > 100


def test_private_folds_are_fresh_and_even_in_size_where_the_size_is_public():
    first, second = (fold_numbers("x", 103, 5, REPLACE, key=fold_key(None)) for _ in range(2))
    # Equal by chance once in more than 5^80.
    assert not np.array_equal(first, second)
    assert sorted(np.bincount(first)) == [20, 20, 21, 21, 21]


def test_coins_are_fair():
    # 5 counts of 100,000 draws with standard deviation 126: 6 of them are a false alarm in 10^8
    # (fixed seed).
    counts = np.bincount(fold_numbers("x", 100_000, 5, ADD, key=fold_key(1)), minlength=5)
    assert np.abs(counts - 20_000).max() < 6 * 127


def test_two_tables_have_independent_folds():
    first, second = (fold_numbers(name, 1000, 5, ADD, key=b"k") for name in ("x", "y"))
    # Matches of 1000 with chance 1/5: 200, standard deviation 12.6 (fixed key).
    assert abs((first == second).sum() - 200) < 6 * 12.7


def test_more_folds_than_rows_are_refused_only_where_that_tells_nothing():
    for relation, key in ((REPLACE, b"k"), (ADD, None)):
        with pytest.raises(InvalidInputError, match="Expected folds=7 <= 6, the rows of x"):
            fold_numbers("x", 6, 7, relation, key=key)
    assert fold_numbers("x", 6, 7, ADD, key=b"k").shape == (6,)
    assert fold_numbers("x", 0, 7, ADD, key=b"k").shape == (0,)
