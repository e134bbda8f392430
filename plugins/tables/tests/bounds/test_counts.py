"""The counts of bins: a cell counts once at each level, and neighbours are no farther apart."""

from itertools import product

import numpy as np
import pytest

from dpcore.plugin import NeighboringRelation
from dpcore.privacy.immutable import require_untouched
from dpcore_tables.bounds.counts import SIZES, BinCounts
from dpcore_tables.bounds.unbounded_rows import UnboundedCells

ADD, REPLACE, SPECIAL = (
    NeighboringRelation.ADD_OR_REMOVE_ONE,
    NeighboringRelation.REPLACE_ONE,
    NeighboringRelation.REPLACE_SPECIAL,
)
CELLS = (np.nan, 0.0, -0.0, 1.0, 1.01, 1.5, -1.0, 1e300, -np.inf)


def counts(rows, n_columns=2, query=BinCounts):
    cells = np.array(rows, dtype=np.float64).reshape(-1, n_columns)
    return query(n_columns).answer_block(UnboundedCells(cells.T))


def apart(norm, relation, query=BinCounts):
    """Return how far apart the counts of neighbouring tables of few rows are at most."""
    order = {"l1": 1, "l2": 2}[norm]
    some = list(product(CELLS, repeat=2))
    others = [(2.0, np.nan)]
    found = [counts([*others, one], query=query) for one in some]
    none = counts(others, query=query)
    pairs = [(one, none) for one in found]
    if relation is REPLACE:
        pairs += [(one, other) for one in found for other in found[::7]]
    return max(np.linalg.norm(one - other, order) for one, other in pairs)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("relation", [ADD, REPLACE, SPECIAL])
def test_neighbours_are_as_far_apart_as_stated_and_no_farther(norm, relation):
    stated = BinCounts(2, norm).sensitivity(relation)
    assert (stated.norm, stated.relation, stated.grid_bits) == (norm, relation, 0)
    assert apart(norm, relation) == pytest.approx(stated.bound, rel=1e-15)
    columns, changed = 7, 2 if relation is REPLACE else 1
    exact = 2 * columns * changed
    bound = BinCounts(columns, norm).sensitivity(relation).bound
    assert bound == exact if norm == "l1" else exact <= bound**2 <= exact * (1 + 1e-15)


class OneLevel(BinCounts):
    """A broken twin: it states what a row does to one level of one column."""

    def sensitivity(self, relation):
        return BinCounts(1, self.norm).sensitivity(relation)


def test_a_twin_that_forgets_columns_is_found():
    assert apart("l2", ADD) > OneLevel(2, "l2").sensitivity(ADD).bound


class Scaled(BinCounts):
    """A broken twin: which bin a cell is in rests on the other rows."""

    def _of_column(self, cells):
        spread = np.nanmax(np.abs(np.append(cells, 1.0)).clip(max=1e300))
        return BinCounts._of_column(self, cells / spread)


def test_a_twin_whose_bins_rest_on_other_rows_is_found():
    assert apart("l1", ADD, Scaled) > BinCounts(2, "l1").sensitivity(ADD).bound
    require_untouched(BinCounts(2))


def test_a_cell_counts_once_at_each_level_and_an_empty_one_nowhere():
    answer = counts([(3.0, np.nan), (-2.0, 0.0), (np.nan, np.nan)])
    per_level = np.split(answer.reshape(2, -1), np.cumsum(SIZES)[:-1], axis=1)
    assert [level.sum(axis=1).tolist() for level in per_level] == [[2, 1]] * 2
    coarse, fine = (level[0] for level in per_level)
    assert fine.reshape(SIZES[0], -1).sum(axis=1).tolist() == coarse.tolist()
    assert answer.dtype == np.int64 and answer.shape == BinCounts(2).start().shape
