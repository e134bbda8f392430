"""What a foreign author of noise or of a sample needs, from public pages alone."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from dpcore.plugin import Gaussian, NeighboringRelation, Problem, RowCount, Solution
from dpcore.plugin.parts import (
    ContributionSum,
    LocalEngine,
    PoissonSampledDpEvent,
    PureAccountant,
    RowFunction,
    SeededNoise,
    Table,
    TableSession,
    load_registry,
)
from dpcore_accounting.distributions import IntegerDistribution, TableNoise
from dpcore_accounting.samples import PoissonSample
from dpcore_lab.checks import check_mechanisms_and_queries
from dpcore_tables.statistics import CategoricalColumn, Histogram

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
X = np.linspace(0, 1, 400).reshape(-1, 1)
TABLE = Table.from_matrix(X, np.ones(400), row_norm=1.0, raw_norm_bound=1.0)


def large(x, y, parameters, out):
    """An author's function of one row."""
    out[0] = 1.0 if x[0] > 0.5 else 0.0


def problem():
    loss = load_registry().load("loss", "logistic")()
    return Problem(loss, 0.0, 1, row_norm=1.0, raw_norm_bound=1.0, relation=ADD)


def test_a_sampler_is_a_probability_and_names_nobody():
    """The author states 1/4, and a function of one row; coins, sums and cost are dpcore's."""
    sample = PoissonSample(
        ContributionSum(problem(), RowFunction.contribution(large), 1, 1.0), 0.25
    )
    accountant = load_registry().load("accountant", "rdp").from_budget(5.0, 1e-6)
    opened = TableSession(LocalEngine(TABLE), accountant, ADD, SeededNoise(1), problem=problem())
    drawn = [opened.release(sample, Gaussian(20.0))[0] for _ in range(20)]
    assert opened.foreign_parts == ()
    assert type(opened.ledger[0].event) is PoissonSampledDpEvent
    assert opened.ledger[0].event.sampling_probability == 0.25
    # A mean of 50 in the sample, with coins and noise of 20 and 6 beside it, over 20 releases.
    assert np.mean(drawn) == pytest.approx(50, abs=6 * math.hypot(20, 6.2) / math.sqrt(20))


def test_noise_is_a_table_and_names_nobody():
    distribution = IntegerDistribution.of(
        [math.exp(-abs(z) / 3) for z in range(-100, 101)], -100, bits=60
    )
    counts = Histogram(CategoricalColumn((), ("no", "yes")), norm="l1")
    accountant = PureAccountant.with_reserve(1.0, 1e-9, 1e-9)
    opened = TableSession(LocalEngine(TABLE), accountant, ADD, SeededNoise(1))
    no, yes = opened.release(counts, TableNoise(distribution, 2, delta=4e-10))
    assert abs(no) < 100 and abs(yes - 400) < 100
    assert opened.foreign_parts == ()
    # A row is in one bin, so that one of the two counts moves.
    assert opened.accountant.spent == pytest.approx(1 / 3, abs=1e-6)


@dataclass(frozen=True)
class CountsTwice:
    """An optimizer of a foreign author, whose schedule says which part of delta is kept."""

    name = "counts-twice"
    relations = ("add-or-remove-one",)
    needs = ()
    slots: ClassVar[dict] = {}
    distribution = IntegerDistribution.of(
        [math.exp(-abs(z) / 20) for z in range(-500, 501)], -500, bits=60
    )

    def noise(self):
        return TableNoise(self.distribution, 1, delta=1e-9)

    def schedule(self, problem, noise_multiplier):
        return {self.noise().event(RowCount().sensitivity(problem.relation)): 2}

    def minimize(self, problem, session):
        for _ in range(2):
            session.release(RowCount(), self.noise())
        return Solution(np.zeros(problem.n_features), "done")


@pytest.mark.slow
def test_a_check_of_an_optimizer_looks_at_the_noise_and_says_what_it_leaves_out():
    tested = str(check_mechanisms_and_queries(CountsTwice()))
    assert "the noise of 4 of 4 releases" in tested
    assert tested.endswith("TableNoise by check_mechanism: it has no noise multiplier")
