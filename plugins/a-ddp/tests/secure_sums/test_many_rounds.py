"""A hundred users in one process, of whom thirty are lost at random steps of twenty rounds."""

import pytest
from sum_users import MORE_NEIGHBOURS, light_primitives, run_rounds

from dpcore_a_ddp.secure_sums.parameters import SumParameters


def test_every_sum_of_a_few_users_is_right_or_not_opened(monkeypatch):
    light_primitives(monkeypatch)
    few = SumParameters.complete(12, 1, 8)
    opened = [run_rounds(seed, 12, 6, 6, few) for seed in range(3)]
    assert sum(opened) >= 9


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_every_sum_is_right_or_not_opened(seed, monkeypatch):
    light_primitives(monkeypatch)
    assert run_rounds(seed) >= 15


@pytest.mark.slow
def test_and_so_with_the_primitives_themselves():
    assert run_rounds(1, rounds=1, parameters=MORE_NEIGHBOURS) == 1
