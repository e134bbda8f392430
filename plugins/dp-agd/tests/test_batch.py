"""Mini-batches of secret coins, charged in full."""

import numpy as np
import pytest
from agd_runs import ADD, REPLACE, recorded

from dpcore.plugin import ClippedGradientSum, RowCount
from dpcore.plugin.parts import SeededNoise
from dpcore_dp_agd.batch import Batch, PublishedBatch
from dpcore_dp_agd.loss_line import first_line
from dpcore_dp_agd.optimizer import DpAgd
from dpcore_lab.checks import check_query, make_rows, parametrize_with_checks


@pytest.mark.slow
@parametrize_with_checks([DpAgd(batch_size=30, steps=6)])
def test_a_run_with_batches_is_admitted(optimizer, check, monkeypatch):
    # The same mechanisms are audited without batches.
    monkeypatch.setattr("dpcore_lab.checks.parts.check_mechanism", lambda *arguments: None)
    if check.__name__ != "check_huge_epsilon_limit":  # Six steps do not come that far.
        check(optimizer)


def gradient(problem):
    return ClippedGradientSum(problem, np.full(problem.n_features, 0.25), 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("make", [gradient, first_line])
def test_what_a_batch_declares_holds_on_neighbours(make):
    # The same coins for both tables: a fixed-size batch would move by another row's part as well.
    check_query(lambda problem: Batch(make(problem), 0.5), evaluations=60)


def test_a_batch_of_a_fixed_size_is_caught():
    with pytest.raises(AssertionError, match="PublishedBatch under add-or-remove-one"):
        check_query(lambda problem: PublishedBatch(gradient(problem), 2, (5,)), evaluations=60)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_a_batch_is_charged_as_all_rows_are(relation):
    rows = make_rows(200)
    options = {"steps": 5, "clip": 1.0, "gamma": 0.5}
    whole, _ = recorded(DpAgd(**options), rows, relation, n0=200)
    batch, _ = recorded(DpAgd(**options, batch_size=40), rows, relation, n0=200)
    assert [entry.cost for entry in batch.ledger][:2] == [entry.cost for entry in whole.ledger][:2]
    assert batch.records[0].sensitivity == whole.records[0].sensitivity
    assert {type(query) for query, _ in batch.parts} == {Batch}
    assert {query.sampling_probability for query, _ in batch.parts} == {0.2}
    assert batch.accountant.spent <= batch.accountant.budget


def test_a_batch_has_as_many_rows_as_its_probability_says():
    n, p = 4000, 0.25
    batch = Batch(RowCount(), p)
    drawn = int(batch.answer_table(make_rows(n).table(), SeededNoise(1))[0])
    assert abs(drawn - p * n) < 6 * (n * p * (1 - p)) ** 0.5


def test_a_batch_of_no_fewer_rows_than_there_are_is_all_of_them():
    rows = make_rows(100)
    sessions = [
        recorded(DpAgd(steps=5, batch_size=size), rows, n0=100)[0] for size in (None, 100, 900)
    ]
    first = sessions[0].records
    for session in sessions[1:]:
        assert [record.query for record in session.records] == [r.query for r in first]


def test_the_regulariser_is_that_of_the_rows_expected_in_a_batch():
    rows = make_rows(100)
    _, whole = recorded(DpAgd(steps=5, batch_size=50), rows, l2=0.1, n0=100)
    session, _ = recorded(DpAgd(steps=5, batch_size=50), rows, l2=0.1, n0=100)
    lines = [query.query for query, _ in session.parts if query.kind == "selection"]
    moved = next(line for line in lines if line.w.any())
    points = moved.w - moved.step_sizes[:, None] * moved.direction
    expected = 0.5 * 0.1 * 50 * np.square(points).sum(axis=1)
    np.testing.assert_allclose(-np.ldexp(moved.start(), -moved.bits), expected, atol=2.0**-18)


def test_rows_are_counted_for_a_batch_where_no_public_number_exists():
    session, _ = recorded(DpAgd(steps=5, clip=1.0, batch_size=30), make_rows(100), l2=0.0, n0=None)
    assert session.releases["count"] == 1
