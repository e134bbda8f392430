"""The search over neighbouring tables: where it starts, and that it climbs."""

import numpy as np
import pytest

from dpcore_lab.made_tables.search import climb, start_pairs
from dpcore_lab.made_tables.special_rows import special_rows
from dpcore_lab.made_tables.tables import RAW_NORM_BOUND


@pytest.mark.parametrize("replace_one", [False, True])
def test_pairs_are_neighbours_within_the_bound(replace_one):
    sizes = set()
    for pair in start_pairs(5, replace_one):
        first, second = pair.tables
        assert len(first.y) - len(second.y) == (not replace_one)
        assert np.linalg.norm(first.X, axis=1).max() <= RAW_NORM_BOUND * (1 + 1e-12)
        sizes.add(len(second.y))
        assert len(pair.filled_up(40).tables[0].y) == 40
    assert min(sizes) == int(replace_one)  # an empty table, where the number is private


def height(pair):
    """Highest where the changed row is (1, 1, 1, 1, 1) / 2 with label -1."""
    return -float(np.abs(pair.rows[0] - 0.5).sum()) - (pair.labels[0] > 0)


def test_it_climbs():
    pairs = start_pairs(5, replace_one=True)
    best = max(map(height, pairs))
    reached = climb(height, pairs, 300)
    assert reached > best / 2 and reached == climb(height, pairs, 300)


def test_special_rows_are_within_the_bound_and_have_what_is_special():
    rows = special_rows(5, n_classes=0)
    assert np.linalg.norm(rows.X, axis=1).max() <= RAW_NORM_BOUND * (1 + 1e-12)
    for value in (0.0, 0.125, -0.125, 2.0**-16, 1.5):
        assert (rows.X == value).any(axis=0).all()
    assert {-1.0, 0.0, 0.125, 1.0} <= set(rows.y)
    assert set(special_rows(5, n_classes=2).y) == {-1.0, 1.0}
    assert set(special_rows(5, n_classes=4).y) == {0.0, 1.0, 2.0, 3.0}


def test_pairs_of_several_classes_get_all_labels():
    seen = set()

    def labels(pair):
        for table in pair.tables:
            assert table.n_margins == 4
            seen.update(table.y)
        return 0.0

    climb(labels, start_pairs(5, replace_one=True, n_classes=4), 100)
    assert seen == {0.0, 1.0, 2.0, 3.0}
