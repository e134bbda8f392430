"""Every optimizer of the plugin passes the checks of any plugin that asks users."""

import numpy as np
import pytest

from dpcore_a_ddp import descent
from dpcore_a_ddp.a_ddp import ADdp
from dpcore_a_ddp.baselines import SgdAdvLocal, SgdMaj, SgdPass, SgdUsers
from dpcore_a_ddp.checks import (
    check_pool_messages_are_noisy,
    check_pool_never_overspends,
    check_pool_outputs_released,
    check_pool_tiny_budget_refused,
)
from dpcore_lab.checks import parametrize_with_checks

OPTIMIZERS = [
    ADdp(most_rounds=10),
    ADdp(rate=0.05, most_rounds=10),
    ADdp(noise="filter", most_rounds=10),
    SgdMaj(rounds=4),
    SgdPass(rounds=2),
    SgdAdvLocal(rounds=4),
    SgdUsers(rounds=1),
]


@pytest.mark.slow
@parametrize_with_checks(OPTIMIZERS)
def test_the_default_is_admitted(optimizer, check):
    # The size of a step bears on no budget, and the search for the least noise takes seconds.
    of_budgets = check in (check_pool_never_overspends, check_pool_tiny_budget_refused)
    if not (of_budgets and optimizer == OPTIMIZERS[1]):
        check(optimizer)


def test_a_look_at_the_rows_is_caught(monkeypatch):
    # The cheat reads rows behind the pool's back: the last look a server must not have.
    def peeking(problem, signal, radius):
        return 0.01 + 1e-9 * float(np.abs(PEEKED[0]._rows._y).sum() + PEEKED[0]._rows._y[:7].sum())

    PEEKED = []
    begin = descent.descend

    def spying(problem, pool, *rest):
        PEEKED[:] = [pool.pool]
        return begin(problem, pool, *rest)

    monkeypatch.setattr("dpcore_a_ddp.a_ddp.descend", spying)
    monkeypatch.setattr(descent, "default_step", peeking)
    with pytest.raises(AssertionError, match="besides the answers and public facts"):
        check_pool_outputs_released(ADdp(most_rounds=5))


def test_rules_that_are_not_private_are_caught():
    with pytest.raises(AssertionError, match="not private"):
        check_pool_messages_are_noisy(ADdp(as_published=True, most_rounds=5))
