"""A hundred users in one process, of whom thirty are lost at random steps of twenty rounds."""

import numpy as np
import pytest
from sum_users import Group, light_primitives

from dpcore_a_ddp.secure_sums.driver import STEPS, run_round
from dpcore_a_ddp.secure_sums.journal import RoundJournal
from dpcore_a_ddp.secure_sums.parameters import SumParameters
from dpcore_a_ddp.secure_sums.server import SumServer

# Fewer neighbours than a deployment takes: 100 users of 12 each, for the time that it takes.
PARAMETERS = SumParameters(
    users=100, colluding=0, threshold=67, neighbours=12, shares=4, present=4, failure_bits=1
)


def run_rounds(seed, users=100, lost=30, rounds=20, parameters=PARAMETERS):
    """Run rounds in which users are lost at random steps, of whom a half restarts after one round;
    return how many sums were opened, each of which was right."""
    rng = np.random.default_rng(seed)
    group = Group(users, parameters=parameters, seed=seed)
    journals = [RoundJournal() for _ in range(users)]
    ends = np.full(users, rounds * STEPS)
    ends[rng.choice(users, lost, replace=False)] = rng.integers(0, rounds * STEPS, lost)
    back = np.where(rng.random(users) < 0.5, (ends // STEPS + 2) * STEPS, rounds * STEPS)
    opened = 0
    for index in range(rounds):

        def carry(step, place, data, index=index):
            now = index * STEPS + step
            return None if ends[place] <= now < back[place] else data

        context, before = group.context(index), group.contributions.copy()
        there = {
            place: group.user(place, context, journals[place])
            for place in range(users)
            if not ends[place] <= index * STEPS < back[place]
        }
        server = SumServer(context)
        total = run_round(there, server, carry)
        charged = group.contributions - before
        assert charged.max() <= 1  # no ledger twice, whatever happens
        if total is not None:
            opened += 1
            assert len(total.places) >= parameters.threshold
            assert total.total.tolist() == group.total(total.places).tolist()
            assert charged[list(total.places)].all()
        # A user that restarted is asked the round again, and does not answer.
        again = group.user(int(rng.integers(users)), context, journals[0])
        assert index not in (journals[0].last,) or again.begin() is None
    return opened


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
    assert run_rounds(1, rounds=1) == 1
