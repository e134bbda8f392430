"""The authors' code as it behaves, and that a run of it is marked."""

import dataclasses

import numpy as np
import pytest
from agd_runs import ADD, E0, E1, recorded, scripted

from dpcore.errors import InvalidInputError
from dpcore.plugin import ClippedGradientSum, Settings, round_to
from dpcore.plugin.commands import Run, make_plan
from dpcore.plugin.parts import Logistic, dataset_from_arrays
from dpcore_dp_agd.batch import PublishedBatch
from dpcore_dp_agd.optimizer import DpAgd
from dpcore_dp_agd.published import minimize_as_published
from dpcore_lab.checks import (
    check_mechanisms_and_queries,
    make_rows,
)
from dpcore_lab.made_tables.tables import make_problem


def test_the_published_regulariser_is_in_the_direction_and_not_in_the_scores():
    # As in agd_rho.py: added after the gradient was normalised, at both places; it was left out.
    session, _ = scripted([E0, 4, E1, 0, E1, 2], l2=0.5, as_published=True)
    step = session.queries[1].step_sizes[3]  # The candidate before the selected one.
    for line in (session.queries[3], session.queries[5]):
        assert np.array_equal(line.w, [-step, 0, 0, 0, 0])
        assert np.array_equal(line.direction, [round_to(-0.5 * step, 14), 1, 0, 0, 0])
        assert not line.start().any()


def test_a_published_regulariser_that_would_diverge_is_refused_uncharged():
    assert scripted([E0, 4, E1], l2=1.0, as_published=True)[1].w.any()
    with pytest.raises(InvalidInputError, match="l2=1.01 to be at most 1 with --as-published"):
        scripted([], l2=1.01, as_published=True)


@pytest.mark.slow
def test_the_published_run_tells_its_constants():
    _, solution = recorded(DpAgd(as_published=True), make_rows(300), l2=0.0)
    expected = {"splits": 60, "candidates": 20, "max_step": 2.0, "clip": 3.0, "gamma": 0.1}
    assert expected.items() <= solution.details.items()


@pytest.mark.slow
def test_the_published_selection_is_not_what_runs_by_default():
    session, _ = recorded(DpAgd(as_published=True), make_rows(300), l2=0.0)
    assert "dpcore_dp_agd.published:PublishedNoisyMin" in session.trusted_parts
    default, _ = recorded(DpAgd(), make_rows(300))
    assert not any("published" in part for part in default.trusted_parts)


class Unmarked(DpAgd):
    """Releases the authors' selection as if it were private."""

    multiclass = False

    def minimize(self, problem, session):
        return minimize_as_published(problem, session)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [None, 3])
def test_the_published_selection_voids_the_statement_whoever_releases_it(seed):
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.resize([-1.0, 1.0], 60)
    plan = make_plan(Settings(algo="dp-agd", delta=1e-6, l2=0.0, seed=seed))
    plan = dataclasses.replace(plan, optimizer=Unmarked())
    told = Run(plan, dataset_from_arrays(X, y)).model().privacy
    assert told["private"] is False and told["why_not_private"][1 if seed else 0] == (
        "parts that promise no privacy were released: dpcore_dp_agd.published:PublishedNoisyMin"
    )


@pytest.mark.slow
def test_the_published_selection_is_found_by_the_check():
    with pytest.raises(AssertionError, match="releases parts that are not: .*PublishedNoisyMin"):
        check_mechanisms_and_queries(Unmarked())


def test_the_published_batch_is_one_for_all_releases_of_a_step():
    session, _ = scripted([E0, 0, E1, 4, E1, 2], as_published=True, batch_size=2)
    assert all(isinstance(query, PublishedBatch) for query in session.queries)
    seeds = [query.seed for query in session.queries]
    assert seeds == [(2018, 0)] * 4 + [(2018, 1)] * 2 and session.queries[0].size == 2


@pytest.mark.parametrize("size", [1, 7, 30, 50])
def test_the_published_batch_sums_so_many_rows(size):
    rows = make_rows(30)
    problem = make_problem(rows, ADD, Logistic())
    query = ClippedGradientSum(problem, np.zeros(5), 1.0)
    table = rows.table()
    answer = PublishedBatch(query, size, (1,)).answer_table(table, None)
    places = np.random.default_rng((1,)).choice(30, min(size, 30), replace=False)
    parts = [query.answer_block(table.blocks[0].take(np.array([place]))) for place in places]
    assert np.array_equal(answer, sum(parts))


@pytest.mark.slow
def test_the_published_code_takes_a_batch_size_and_nothing_else():
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.resize([-1.0, 1.0], 60)
    asked = Settings(algo="dp-agd", delta=1e-6, as_published=True, params={"batch-size": "20"})
    told = Run(make_plan(asked), dataset_from_arrays(X, y)).model()
    assert told.privacy["private"] is False
    assert told.algo["parameters"] == {"batch_size": 20}
    with pytest.raises(InvalidInputError, match="without --set"):
        make_plan(dataclasses.replace(asked, params={"clip": 2.0}))
