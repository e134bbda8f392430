"""Sums over a sample: the coins, the rows they choose, what is charged, and who is refused."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from dpcore.errors import InvalidInputError, UnsupportedEventError
from dpcore.plugin import ClippedGradientSum, Gaussian, NeighboringRelation, RowCount
from dpcore.plugin.parts import (
    GaussianDpEvent,
    GdpAccountant,
    LocalEngine,
    Logistic,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
    SeededNoise,
    Sensitivity,
    Table,
    TableSession,
)
from dpcore_a_ddp.fixed_size_sample import FixedSizeSample
from dpcore_accounting.samples import PoissonSample
from dpcore_dp_agd.loss_line import ClippedLossLine
from dpcore_lab.checks import check_query, make_rows
from dpcore_lab.made_tables.tables import Rows, make_problem
from dpcore_tables.coded import CodedLayout, CodedRows

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE
ROWS = make_rows(200)


@dataclass(frozen=True, kw_only=True)
class Unamplified(GdpAccountant):
    """Charges a sampled release as if every row took part, which is never too little."""

    events: ClassVar[tuple] = (
        GaussianDpEvent,
        PoissonSampledDpEvent,
        SampledWithoutReplacementDpEvent,
    )

    def _leaf_cost(self, event):
        return super()._leaf_cost(getattr(event, "event", event))


def gradient(rows=ROWS, relation=ADD, clip=1.0):
    return ClippedGradientSum(make_problem(rows, relation, Logistic()), np.ones(5), clip)


def of_units(table):
    """Return a session of a run whose units have up to two rows."""
    problem = replace(make_problem(ROWS, ADD, Logistic()), n=None, rows_per_unit=2)
    held = Unamplified.from_budget(1e6, 1e-6)
    return TableSession(LocalEngine(table), held, ADD, SeededNoise(1), problem=problem)


def with_units(rows, n_blocks=2, known=2):
    """Return a table of so many blocks, the first of which have units of two rows."""
    whole = rows.table()
    (block,) = whole.blocks
    parts = [block.take(part) for part in np.split(np.arange(block.n_rows), n_blocks)]
    for part in parts[:known]:
        part.units = np.arange(part.n_rows) // 2
    return whole.with_blocks(parts)


def test_no_coin_is_tossed_for_a_row_where_units_have_several():
    sample = PoissonSample(RowCount(), 0.5)
    for table in (ROWS.table(), with_units(ROWS, known=1)):
        session = of_units(table)
        with pytest.raises(InvalidInputError, match="built without them|of all blocks, or of none"):
            session.release(sample, Gaussian(2.0))
        assert session.ledger == ()
    assert of_units(with_units(ROWS)).release(sample, Gaussian(2.0)).shape == (1,)


def test_all_rows_of_a_unit_are_in_a_sample_or_none():
    sample, table, noise = PoissonSample(RowCount(), 0.5), with_units(ROWS), SeededNoise(2)
    counts = {int(sample.answer_table(table, noise)[0]) for _ in range(40)}
    # Four rows of each unit: two in either block.
    assert len(counts) > 1 and {count % 4 for count in counts} == {0}


def test_an_empty_table_is_answered_like_any_other():
    nothing = ROWS.table().with_blocks([])
    sample = PoissonSample(RowCount(), 0.5)
    assert of_units(nothing).release(sample, Gaussian(2.0)).shape == (1,)
    assert open_session(table=nothing).release(sample, Gaussian(2.0)).shape == (1,)


def open_session(rows=ROWS, relation=ADD, noise=None, table=None):
    accountant = Unamplified.from_budget(1e6, 1e-6)
    engine = LocalEngine(table or rows.table())
    return TableSession(engine, accountant, relation, noise or SeededNoise(5))


class Places:
    """A query that tells which rows it was asked of: row i has a 1 at place i."""

    kind = "places"

    def __init__(self, n):
        self.n = n

    def start(self):
        return np.zeros(self.n, dtype=np.int64)

    def answer_block(self, block):
        return block.rows()[:, : self.n].sum(axis=0).astype(np.int64)

    def sensitivity(self, relation):
        return Sensitivity("l2", 1.0 * relation.rows_changed, relation)


def drawn(sample, n, draws):
    """Return which rows joined each of so many samples, bool of shape (draws, n)."""
    noise, joined, table = SeededNoise(3), np.zeros((draws, n), dtype=bool), numbered(n)
    for k in range(draws):
        joined[k, sample.places(table, noise)] = True
    return joined


def numbered(n):
    return Table.from_matrix(np.eye(n), np.ones(n), row_norm=1.5, raw_norm_bound=1.0)


@pytest.mark.slow
def test_a_row_joins_with_the_odds_asked_for_and_no_pair_together():
    # 100,000 samples of 6 rows at p = .3: the standard errors of a mean and of a product of two
    # centred coins are .00145 and .00067; one of these 21 values is 6 of them off by chance once
    # in 2e7 runs.
    coins = drawn(PoissonSample(Places(6), 0.3), 6, 100_000) - 0.3
    products = coins.T @ coins / len(coins)
    off_diagonal = products[~np.eye(6, dtype=bool)]
    assert np.all(np.abs(coins.mean(axis=0)) < 6 * 0.00145)
    assert np.all(np.abs(off_diagonal) < 6 * 0.00067)


def test_the_pairwise_test_sees_a_fixed_size():
    # Positive control: two of six rows, no more and no less, repel each other.
    chosen = drawn(FixedSizeSample(Places(6), 2, 6), 6, 20_000)
    assert set(chosen.sum(axis=1)) == {2}
    coins = chosen - 1 / 3
    products = coins.T @ coins / len(coins)
    # Cov = -p (1 - p) / (n - 1) = -.0444, standard error .0016 at most.
    assert products[~np.eye(6, dtype=bool)] == pytest.approx(-2 / 45, abs=6 * 0.0016)
    assert np.all(np.abs(coins.mean(axis=0)) < 6 * 0.0034)


def layouts():
    """The same rows in every layout, over more than one block."""
    rng = np.random.default_rng(8)
    n = 9000
    layout = CodedLayout(7, np.array([0, 6]), np.array([1, 2, 7, 3, 4, 5, 7]), np.array([0, 3, 7]))
    numeric = np.stack([rng.random(n), np.ones(n)], axis=1)
    numeric = (np.trunc(numeric * 2**16) / 2**16).astype(np.float32)
    codes = np.stack([rng.integers(0, 3, n), rng.integers(3, 7, n)], axis=1).astype(np.uint8)
    rows = CodedRows(layout, numeric, codes)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    return {"coded": rows, "csr": rows.tocsr(), "dense": rows.toarray()}, y


@pytest.mark.parametrize("layout", ["coded", "csr", "dense"])
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_sample_answers_as_a_table_of_its_rows(layout, norm):
    forms, y = layouts()
    table = Table.from_matrix(forms[layout], y, row_norm=1.25, raw_norm_bound=2.0)
    problem = make_problem(make_rows(4, 7), ADD, Logistic())
    w, direction = np.linspace(-1, 1, 7), np.ones(7)
    queries = [
        ClippedGradientSum(problem, w, 0.5, norm=norm),
        ClippedLossLine(problem, w, direction, np.arange(5) / 16, 2.0),
    ]
    coins = SeededNoise(1).coins(9000, 2**62)
    dense = Table.from_matrix(forms["dense"][coins], y[coins], row_norm=1.25, raw_norm_bound=2.0)
    for query in queries:
        sampled = PoissonSample(query, 0.25).answer_table(table, SeededNoise(1))
        assert np.array_equal(sampled, LocalEngine(dense).answer(query))


@pytest.mark.parametrize("layout", ["coded", "csr", "dense"])
def test_some_of_the_rows_of_a_block_are_its_own_rows(layout):
    forms, y = layouts()
    block = Table.from_matrix(forms[layout], y, row_norm=1.25, raw_norm_bound=2.0).blocks[1]
    places = np.array([0, 5, 17, block.n_rows - 1])
    for norm in ("l1", "l2"):
        part = block.take(places)
        assert np.array_equal(part.row_norms(norm), block.row_norms(norm)[places])
        assert np.array_equal(part.rows(), block.rows()[places])
        assert np.array_equal(part.factor, block.factor[places])
        assert np.array_equal(part.y, block.y[places])
    w = np.linspace(-1, 1, 7)
    assert np.array_equal(part.margins(w), block.margins(w)[places])
    again = part.take(np.array([2]))
    assert np.array_equal(again.rows(), block.rows()[[17]])
    empty = block.take(np.array([], dtype=np.int64))
    assert empty.n_rows == 0 and empty.margins(w).size == 0
    assert np.array_equal(empty.weighted_sum(np.empty(0)), np.zeros(7))


@pytest.mark.parametrize("n", [0, 3])
def test_an_empty_sample_gets_noise_and_is_charged(n):
    session = open_session(Rows(ROWS.X[:n], ROWS.y[:n]))
    query = PoissonSample(gradient(), 1e-9)
    values = [session.release(query, Gaussian(3.0)) for _ in range(40)]
    assert len(session.ledger) == 40 and session.releases == {"gradient": 40}
    assert session.accountant.spent == pytest.approx(40 / 9, rel=1e-9)
    # 200 normal deviates of standard deviation 3: the mean square is within 6 standard errors.
    assert np.mean(np.square(values)) == pytest.approx(9, rel=6 * np.sqrt(2 / 200))


def test_the_sampler_makes_the_event():
    session = open_session(relation=ADD)
    session.release(PoissonSample(gradient(), 0.1), Gaussian(2.0))
    event = session.ledger[0].event
    assert event == PoissonSampledDpEvent(0.1, GaussianDpEvent(2.0), ADD)
    other = open_session(relation=REPLACE)
    other.release(PoissonSample(gradient(relation=REPLACE), 0.1), Gaussian(2.0))
    other.release(FixedSizeSample(gradient(relation=REPLACE), 1, 200), Gaussian(2.0))
    inner = GaussianDpEvent(2.0)
    assert [entry.event for entry in other.ledger] == [
        PoissonSampledDpEvent(0.1, inner, REPLACE),
        SampledWithoutReplacementDpEvent(200, 1, inner, REPLACE),
    ]


def test_the_noise_is_scaled_to_two_rows_under_replace_one():
    # A gradient of norm clip replaced by its opposite: the multiplier is relative to 2 clip.
    query = PoissonSample(gradient(relation=REPLACE, clip=0.5), 0.1)
    assert query.sensitivity(REPLACE).bound == 1.0
    assert PoissonSample(gradient(clip=0.5), 0.1).sensitivity(ADD).bound == 0.5


def test_every_release_draws_another_sample():
    table = Table.from_matrix(np.eye(64), np.ones(64), row_norm=1.5, raw_norm_bound=1.0)
    session = open_session(table=table)
    query = PoissonSample(Places(64), 0.5)
    first, second = (session.release(query, Gaussian(1e-2)) for _ in range(2))
    assert not np.array_equal(first.round(), second.round())


def test_a_probability_of_one_is_a_full_pass():
    session, whole = open_session(noise=SeededNoise(2)), open_session(noise=SeededNoise(2))
    value = session.release(PoissonSample(gradient(), 1.0), Gaussian(1.0))
    assert np.array_equal(value, whole.release(gradient(), Gaussian(1.0)))


@pytest.mark.parametrize("p", [0.0, -0.1, 1.5, float("nan"), 1, 2.0**-65])
def test_a_probability_out_of_range_is_refused(p):
    with pytest.raises(InvalidInputError, match="sampling_probability"):
        PoissonSample(gradient(), p)


@pytest.mark.parametrize(("size", "n"), [(0, 5), (6, 5), (1.0, 5)])
def test_a_size_out_of_range_is_refused(size, n):
    with pytest.raises(InvalidInputError, match="sample_size"):
        FixedSizeSample(gradient(), size, n)


def test_a_fixed_size_is_refused_where_the_number_of_rows_is_private():
    session = open_session(relation=ADD)
    with pytest.raises(InvalidInputError, match="PoissonSample"):
        session.release(FixedSizeSample(gradient(), 3, 200), Gaussian(1.0))
    assert not session.ledger


def test_only_a_sum_over_rows_can_be_sampled():
    class Derived(RowCount):
        answer_block = None
        derive = None

    problem = make_problem(ROWS, ADD, Logistic())
    for query in (PoissonSample(gradient(), 0.5), Derived(), object()):
        with pytest.raises(InvalidInputError, match="Only a sum over rows"):
            PoissonSample(query, 0.5)
    assert PoissonSample(RowCount(problem.capacity), 0.5).kind == "count"


def test_amplification_compares_with_the_rows_absence():
    class FarFromZero(Places):
        """Replacing a row moves it by 1, removing one by 5."""

        def __init__(self, n, norm="l2"):
            super().__init__(n)
            self.norm = norm

        def sensitivity(self, relation):
            replaced = relation is REPLACE
            return Sensitivity("l2" if replaced else self.norm, 1.0 if replaced else 5.0, relation)

    inner = GaussianDpEvent(1.0)
    for query in (FarFromZero(6), FarFromZero(6, "l1")):
        with pytest.raises(InvalidInputError, match="FarFromZero moves by more"):
            PoissonSample(query, 0.5).sampled_event(inner, REPLACE)
    assert PoissonSample(FarFromZero(6), 0.5).sampled_event(inner, ADD).relation is ADD
    # Losses on a line move by a clip when a row goes, and apart by two when one is replaced.
    problem = make_problem(ROWS, REPLACE, Logistic())
    line = ClippedLossLine(problem, np.ones(5), np.ones(5), np.arange(5) / 16, 2.0)
    assert PoissonSample(line, 0.5).sampled_event(inner, REPLACE).relation is REPLACE


def test_a_table_of_another_size_is_no_table_of_the_sample():
    with pytest.raises(InvalidInputError, match="table of n=7 rows"):
        FixedSizeSample(Places(6), 2, 7).answer_table(numbered(6), SeededNoise(1))


def test_the_sum_of_a_sampled_query_is_checked():
    check_query(lambda problem: PoissonSample(ClippedGradientSum(problem, np.ones(5), 0.7), 0.1))


def test_a_sample_is_released_by_itself():
    class Doubled:
        kind = "doubled"

        def derive(self, ask, noise):
            return 2 * ask(PoissonSample(gradient(), 0.5))

        def sensitivity(self, relation):
            return Sensitivity("l2", 2.0, relation, grid_bits=10)

    with pytest.raises(InvalidInputError, match="released by itself"):
        open_session().release(Doubled(), Gaussian(1.0))


def test_an_accountant_without_a_rule_refuses_before_anything_is_drawn():
    accountant = GdpAccountant.from_budget(1.0, 1e-6)
    session = TableSession(LocalEngine(ROWS.table()), accountant, ADD, SeededNoise(5))
    with pytest.raises(UnsupportedEventError, match="PoissonSampledDpEvent"):
        session.release(PoissonSample(gradient(), 0.5), Gaussian(10.0))
    assert not session.ledger


def test_an_engine_without_a_table_is_refused_uncharged():
    class Streams:
        def answer(self, query):
            raise AssertionError("not asked")

    accountant = Unamplified.from_budget(1e6, 1e-6)
    session = TableSession(Streams(), accountant, ADD, SeededNoise(5))
    with pytest.raises(InvalidInputError, match="no table at hand"):
        session.release(PoissonSample(gradient(), 0.5), Gaussian(10.0))
    assert not session.ledger


def test_a_foreign_query_in_a_sample_is_named_as_trusted():
    session = open_session(table=numbered(6))
    session.release(PoissonSample(Places(6), 0.5), Gaussian(10.0))
    assert any(part.endswith(":Places") for part in session.trusted_parts)


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_the_rows_left_out_leave_no_trace(kind):
    # The same coins over other rows in the places that stay out: the same answer.
    coins = SeededNoise(9).coins(200, 2**62)
    X, y = ROWS.X.copy(), ROWS.y.copy()
    X[~coins], y[~coins] = 0.7, -1.0
    other = Table.from_matrix(kind(X), y, row_norm=1.5, raw_norm_bound=2.0)
    sample = PoissonSample(gradient(), 0.25)
    assert np.array_equal(
        sample.answer_table(ROWS.table(), SeededNoise(9)),
        sample.answer_table(other, SeededNoise(9)),
    )
