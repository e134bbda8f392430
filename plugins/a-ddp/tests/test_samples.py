"""Rows that are drawn for many users at once are each user's own."""

import numpy as np
import pytest
from pool_users import make_data, make_rules

from dpcore.plugin.parts import SeededNoise
from dpcore_a_ddp.pools.samples import Samples

SIZES = np.array([3, 1, 4, 2])


@pytest.mark.parametrize("joined", [[0, 1, 2, 3], [1, 3], [2], [0, 3]])
@pytest.mark.parametrize("changes", [{"sampling": "poisson", "rate": 1.0}, {"sampling": "one-row"}])
def test_users_draw_rows_of_their_own(joined, changes):
    """At a rate of 1 these are all of its rows, each once: none is taken for a neighbour's."""
    rules, joined = make_rules(make_data(), **changes), np.array(joined)
    drawn = Samples(SIZES).draw(rules, joined, np.zeros_like(joined), SeededNoise(1))
    owners = np.repeat(np.arange(SIZES.size), SIZES)
    assert owners[drawn[0]].tolist() == joined[drawn[1]].tolist()
    counts = SIZES[joined] if rules.rate else np.ones_like(joined)
    assert drawn[0].size == np.unique(drawn[0]).size
    assert np.bincount(drawn[1], minlength=joined.size).tolist() == counts.tolist()
