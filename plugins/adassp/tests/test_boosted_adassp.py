"""Boosted AdaSSP: what its rounds cost, what moves them, and what they bring."""

from dataclasses import dataclass

import numpy as np
import pytest

from dpcore import fit
from dpcore.errors import InvalidInputError
from dpcore.losses.squared import Squared
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import Sensitivity
from dpcore_adassp.boosted_adassp import BoostedAdaSsp
from dpcore_adassp.penalty import Penalised, added_penalty
from dpcore_adassp.products import Products
from dpcore_adassp.row_map import RowMap
from dpcore_lab.checks import make_rows
from dpcore_lab.checks.queries import check_contributions
from dpcore_lab.made_tables.tables import make_problem
from dpcore_lab.replay.recorded import record_run

PUBLIC = {"loss": "ridge", "algo": "boosted-adassp", "bounds": (-1, 1), "target_bounds": (-1, 1)}
PUBLIC |= {"delta": 1e-6, "row_norm": None, "seed": 1}
RELATIONS = list(NeighboringRelation)[:2]


def table(n):
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (n, 4))
    return X, X @ [0.4, -0.3, 0.1, 0.0] + 0.1 + 0.05 * rng.normal(size=n)


@pytest.mark.parametrize("relation", RELATIONS)
def test_every_round_is_paid_for(relation):
    for optimizer, squares, rounds in (
        (BoostedAdaSsp(), 0.3, [0.15] * 4),
        (BoostedAdaSsp(**BoostedAdaSsp.presets["paper"]), 1 / 3, [1 / 300] * 100),
    ):
        session, _ = record_run(optimizer, make_rows(80, seed=5), relation, 1.0)
        paid = [(entry.kind, entry.event.noise_multiplier**-2) for entry in session.ledger]
        assert sum(cost for _, cost in paid) == pytest.approx(session.accountant.budget, rel=1e-9)
        costs = np.array([cost for kind, cost in paid if kind != "count"])
        shares = [optimizer.eigenvalue_share, squares, *rounds]
        assert costs / costs.sum() == pytest.approx(shares, rel=1e-6)


@dataclass(frozen=True)
class InTargets(Products):
    """A broken twin: what is summed in units of the clip, declared in those of targets."""

    def sensitivity(self, relation):
        stated = super().sensitivity(relation)
        bits = stated.grid_bits
        return Sensitivity("l2", stated.bound * self.clip, relation, grid_bits=bits)


@pytest.mark.parametrize("relation", RELATIONS)
def test_no_row_moves_a_rounds_sum_by_more_than_is_charged(relation):
    rows = make_rows(30)
    problem = make_problem(rows, relation, Squared())
    for at in (np.zeros(5), np.full(5, 0.5)):
        words = {"part": "targets", "at": at, "clip": 0.25}
        right, twin = (
            kind(problem, RowMap(5, False), 1.5, **words) for kind in (Products, InTargets)
        )
        assert check_contributions(right, relation) <= 1
        with pytest.raises(AssertionError):
            check_contributions(twin, relation)


def test_rounds_undo_what_the_penalty_takes_away():
    X, y = table(1000)
    errors = [
        np.mean((fit(X, y, params={"rounds": rounds}, epsilon=5.0, **PUBLIC).predict(X) - y) ** 2)
        for rounds in (1, 4)
    ]
    assert errors[1] < 0.5 * errors[0]


def test_the_penalty_is_the_noise_beyond_the_smallest_eigenvalue():
    noise = added_penalty(-5.0, 1.0, 2.0, 4, 0.05, 1e-6)
    assert noise == pytest.approx(2 * (4 * np.log(32 / 0.05)) ** 0.5)
    certain = 10 - np.log(6e6) ** 0.5
    assert added_penalty(10.0, 1.0, 2.0, 4, 0.05, 1e-6) == pytest.approx(noise - certain)
    assert added_penalty(100.0, 1.0, 2.0, 4, 0.05, 1e-6) == 0.0


def test_directions_without_an_eigenvalue_get_no_coefficient():
    solved = Penalised.of(np.diag([3.0, -1.0]), 1.0, 0.01).solve(np.array([8.0, 8.0]))
    assert solved == pytest.approx([2.0, 0.0])


def test_shares_that_leave_nothing_are_refused():
    with pytest.raises(InvalidInputError, match="leave a share"):
        BoostedAdaSsp(eigenvalue_share=0.5, squares_share=0.5)
