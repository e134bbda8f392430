"""Exact values in the details of a solution are caught, wherever they are."""

import numpy as np
import pytest
from honest import Honest

from dpcore.plugin import Solution
from dpcore_lab.checks import check_outputs_released


class TellsInDetails(Honest):
    """Puts the exact number of rows where ``repr`` shows nothing of it."""

    def minimize(self, problem, session):
        solution = super().minimize(problem, session)
        values = self.values(session._engine._table.n_rows)
        return Solution(solution.w, "Done.", {"values": values})

    def values(self, n):
        return 1.0 + np.array([n * 2.0**-50])


class TellsALot(TellsInDetails):
    def values(self, n):
        return np.where(np.arange(2_000) == 1_000, n, 0)


@pytest.mark.parametrize(
    ("cheat", "reason"),
    [
        (TellsInDetails(), "status or details depend on more"),
        (TellsALot(), "left out of a report: they hold more than 1,000"),
    ],
)
def test_a_count_that_repr_does_not_show_is_caught(cheat, reason):
    # The replay compared repr(): eight digits of an array, and not the middle of a long one.
    assert repr(cheat.values(300)) == repr(cheat.values(20_000))
    with pytest.raises(AssertionError, match=reason):
        check_outputs_released(cheat)
