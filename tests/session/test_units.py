"""Units of several rows in a session: what k rows can do to an answer, and what is refused."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest

from dpcore.accountants.zcdp import ZcdpAccountant
from dpcore.errors import InvalidInputError
from dpcore.plugin import ClippedGradientSum, Gaussian, NeighboringRelation, RowCount
from dpcore.plugin.parts import (
    GdpAccountant,
    LocalEngine,
    Logistic,
    PureAccountant,
    SeededNoise,
    Sensitivity,
    Table,
)
from dpcore.session.session import TableSession
from dpcore.session.unit_sensitivity import sensitivity_of_units
from dpcore_a_ddp.fixed_size_sample import FixedSizeSample
from dpcore_accounting.samples import PoissonSample
from dpcore_accounting.selections.exponential import Exponential
from dpcore_baselines.dp_gd import DpGd
from dpcore_baselines.privgene import PrivGene
from dpcore_baselines.queries.moments import ColumnMoments
from dpcore_dp_agd.batch import Batch, PublishedBatch
from dpcore_dp_agd.loss_line import ClippedLossLine
from dpcore_dp_agd.optimizer import DpAgd
from dpcore_lab.checks import make_rows
from dpcore_lab.made_tables.tables import make_problem
from dpcore_tables.statistics import NumericColumn, QuantileScores
from dpcore_tables.statistics.part_session import WholeSession

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL
K = 3
ROWS = make_rows(60)
UNITS = np.arange(60) // K
PROBLEMS = {
    relation: replace(make_problem(ROWS, relation, Logistic()), n=None, rows_per_unit=K)
    for relation in (ADD, REPLACE)
}


def table_of(mask):
    whole = ROWS.table()
    (block,) = whole.blocks
    places = np.flatnonzero(mask)
    part = block.take(places)
    part.units = np.unique(UNITS[places], return_inverse=True)[1]
    return whole.with_blocks([part])


def session(relation=ADD, kind=TableSession, accountant=ZcdpAccountant, **options):
    engine = LocalEngine(table_of(UNITS >= 0))
    delta = 0.0 if accountant is PureAccountant else 1e-6
    held = accountant.from_budget(1.0, delta)
    return kind(engine, held, relation, SeededNoise(1), problem=PROBLEMS[relation], **options)


def sums(problem):
    point = np.linspace(-1, 1, problem.n_features)
    return [
        RowCount(),
        ClippedGradientSum(problem, point, 0.5),
        ColumnMoments(problem, 1.5),
        ClippedLossLine(problem, point, -point, np.arange(4) / 4, 2.0),
    ]


def test_a_derived_answer_whose_class_says_so_is_taken_k_times():
    column = NumericColumn(0, 0.0, 1.0)
    query = QuantileScores(column, 0.5, (0.25, 0.75))
    assert sensitivity_of_units(query, REPLACE, K).change_range == 2 * K * 1.0


def sizes(change, sensitivity):
    """Return the norm and the range of a change of an answer, in its own unit."""
    values = np.ldexp(change.astype(float), -sensitivity.grid_bits)
    order = {"l1": 1, "l2": 2, "linf": np.inf}[sensitivity.norm]
    return np.linalg.norm(values, order), np.ptp(np.append(values, 0.0))


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_no_unit_moves_a_sum_by_more_than_is_stated(relation):
    whole = LocalEngine(table_of(UNITS < 15))
    for query in sums(PROBLEMS[relation]):
        stated = sensitivity_of_units(query, relation, K)
        assert stated.relation is relation
        least = 0.0
        for unit in range(15):
            others = UNITS < 15
            others &= UNITS != unit
            if relation is REPLACE:  # by a unit of one row
                others[np.flatnonzero(UNITS == 15 + unit % 5)[0]] = True
            change = whole.answer(query) - LocalEngine(table_of(others)).answer(query)
            norm, spread = sizes(change, stated)
            assert norm <= stated.bound
            assert stated.change_range is None or spread <= stated.change_range
            least = max(least, norm)
        if isinstance(query, RowCount):
            # A broken twin, a count that ignores k, is found at once.
            assert query.sensitivity(relation).bound < least


@pytest.mark.parametrize(("relation", "times"), [(ADD, K), (REPLACE, 2 * K)])
def test_every_value_of_a_row_is_taken_k_times_once_for_each_side(relation, times):
    for query in sums(PROBLEMS[relation]):
        of_row, of_unit = query.sensitivity(ADD), sensitivity_of_units(query, relation, K)
        assert of_unit.bound == times * of_row.bound
        assert (of_unit.norm, of_unit.grid_bits) == (of_row.norm, of_row.grid_bits)
        if of_row.change_range is not None:
            assert of_unit.change_range == times * of_row.change_range


def test_a_product_is_rounded_up():
    @dataclass(frozen=True)
    class Odd:
        def answer_block(self, block): ...

        def sensitivity(self, relation):
            return Sensitivity("l2", 1 / 3, relation)

    bound = sensitivity_of_units(Odd(), ADD, 11).bound
    assert Fraction(bound) >= 11 * Fraction(1 / 3)
    assert bound == pytest.approx(11 / 3)


@pytest.mark.parametrize(("relation", "times"), [(ADD, K), (REPLACE, 2 * K)])
def test_noise_follows_the_unit_and_the_cost_stays(relation, times):
    """The same mechanism costs the same, and draws ``times`` the noise of one row's."""
    seen = []

    class Noisy(Gaussian):
        def release(self, exact, sensitivity, noise):
            seen.append(sensitivity.bound)
            return super().release(exact, sensitivity, noise)

    opened = session(relation)
    opened.release(RowCount(), Noisy(20.0))
    assert seen == [times]
    of_rows = TableSession(
        LocalEngine(ROWS.table()), ZcdpAccountant.from_budget(1.0, 1e-6), ADD, SeededNoise(1)
    )
    of_rows.release(RowCount(), Noisy(20.0))
    assert opened.ledger[0].cost == pytest.approx(of_rows.ledger[0].cost, rel=1e-9)


def test_selections_are_by_k_times_the_range():
    opened = session(accountant=PureAccountant)
    opened.release(sums(PROBLEMS[ADD])[-1], Exponential(40.0))
    assert len(opened.ledger) == 1


@dataclass(frozen=True)
class Derived:
    kind: ClassVar[str] = "derived"

    def derive(self, ask, noise):
        return ask(RowCount())

    def sensitivity(self, relation):
        return Sensitivity("l2", 1.0, relation)


@dataclass(frozen=True)
class Whole:
    kind: ClassVar[str] = "whole"

    def answer_table(self, table: Table, noise):
        return np.zeros(1, dtype=np.int64)

    def sensitivity(self, relation):
        return Sensitivity("l2", 1.0, relation)


@dataclass(frozen=True)
class Random(RowCount):
    def sensitivity(self, relation):
        return Sensitivity("l2", 1.0, relation).randomized(deltas=(1.0,), weights=(1,))


@pytest.mark.parametrize(
    "query",
    [Derived(), Whole(), Random(), FixedSizeSample(RowCount(), 3, 60)]
    + [PublishedBatch(RowCount(), 3, (0,))],
    ids=lambda query: type(query).__name__,
)
def test_what_rests_on_a_theorem_for_one_row_is_refused_uncharged(query):
    opened = session()
    with pytest.raises(InvalidInputError, match="guarantee for one row.*units of several rows"):
        opened.release(query, Gaussian(20.0))
    assert opened.ledger == ()


def test_mechanisms_of_several_questions_and_rows_in_parts_are_refused():
    class Interactive:
        kind = "interactive"

    opened = session(kind=TableSession)
    with pytest.raises(InvalidInputError, match="Interactive has a guarantee for one row"):
        opened.start(Interactive())
    assert opened.ledger == ()
    whole = WholeSession(
        LocalEngine(table_of(UNITS >= 0)),
        ZcdpAccountant.from_budget(1.0, 1e-6),
        ADD,
        SeededNoise(1),
        PROBLEMS[ADD],
    )
    with pytest.raises(InvalidInputError, match="units of one row"):
        whole.part("x", "a", LocalEngine(ROWS.table()), PROBLEMS[ADD])


def test_no_rule_is_made_up_for_other_relations():
    with pytest.raises(InvalidInputError, match="units of several rows"):
        sensitivity_of_units(RowCount(), SPECIAL, K)


def test_a_query_about_rows_is_refused_in_a_run_about_units():
    of_rows = make_problem(ROWS, ADD, Logistic())
    opened = session()
    with pytest.raises(InvalidInputError, match="rows_per_unit=None"):
        opened.release(ClippedGradientSum(of_rows, np.zeros(5), 1.0), Gaussian(20.0))
    assert opened.ledger == ()


@pytest.mark.parametrize("sampler", [PoissonSample, Batch])
def test_a_sample_takes_all_rows_of_a_unit_or_none(sampler):
    table, noise = table_of(UNITS >= 0), SeededNoise(5)
    query = sampler(RowCount(), 0.25)
    counts = np.array([query.answer_table(table, noise)[0] for _ in range(300)])
    assert (counts % K == 0).all()
    # 20 units: means of 300 draws of K Binomial(20, 1/4), of deviation .34.
    assert abs(counts.mean() - K * 5) < 1.7
    assert sensitivity_of_units(query, ADD, K).bound == K


def test_bounding_after_sampling_would_take_units_too_often():
    """A positive control: of rows that are sampled, then bounded, a unit of many rows is in the
    sample with more than the probability that is charged."""
    noise, weight, units = SeededNoise(6), 2**62, np.repeat(np.arange(200), 8)
    joined = noise.coins(units.size, weight)
    broken = np.unique(units[joined]).size / 200
    table = Table.from_matrix(
        np.ones((units.size, 1)), np.ones(units.size), row_norm=1.0, raw_norm_bound=1.0, units=units
    )
    places = PoissonSample(RowCount(), 0.25).places(table, SeededNoise(6))
    # 200 coins of chance 1/4: a deviation of .031.
    assert abs(np.unique(units[places]).size / 200 - 0.25) < 0.16
    assert broken > 0.8  # 1 - (3/4)^8 = .9


class Recorded(TableSession):
    """A session that keeps the questions of a run; of a sample, the sum that it is of."""

    def _exact(self, query, known=()):
        self.asked = [*getattr(self, "asked", ()), getattr(query, "query", query)]
        return super()._exact(query, known)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
@pytest.mark.parametrize(
    "optimizer",
    [DpGd(steps=4), DpGd(steps=4, clip_unit=True), DpAgd(steps=4), DpAgd(steps=4, batch_size=30)]
    + [PrivGene(generations=3)],
    ids=["dp-gd", "clipped units", "dp-agd", "batches", "privgene"],
)
def test_no_release_of_an_algorithm_moves_further_than_its_noise_hides(optimizer, relation):
    accountant = ZcdpAccountant.from_budget(5.0, 1e-6)
    if isinstance(optimizer, DpGd):
        accountant = GdpAccountant.from_budget(5.0, 1e-6)
    engine, problem = LocalEngine(table_of(UNITS < 15)), PROBLEMS[relation]
    opened = Recorded(engine, accountant, relation, SeededNoise(2), problem=problem)
    optimizer.minimize(problem, opened)
    assert len(opened.asked) >= 3
    for unit in (0, 7, 14):
        kept = (UNITS < 15) & (UNITS != unit)
        if relation is REPLACE:
            kept |= UNITS == 16
        for query in opened.asked:
            stated = sensitivity_of_units(query, relation, K)
            change = engine.answer(query) - LocalEngine(table_of(kept)).answer(query)
            norm, spread = sizes(change, stated)
            assert norm <= stated.bound
            assert stated.change_range is None or spread <= stated.change_range


@pytest.mark.parametrize("k", [3, 8, 1000])
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_what_a_sum_is_made_for_has_room_for_the_noise_of_a_unit(relation, k):
    """A sum whose own grid was too fine for it was refused after others had been charged."""
    problem = replace(PROBLEMS[relation], rows_per_unit=k)
    for multiplier in 2.0 ** np.arange(0, 36 - np.log2(k), 0.37):
        query = ColumnMoments(problem, 1.0, float(multiplier))
        Gaussian(float(multiplier)).event(sensitivity_of_units(query, relation, k))
