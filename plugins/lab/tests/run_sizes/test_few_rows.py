"""Runs over few rows, rows in one weak direction and grids of a run, each with a leaking part."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from leaks_at_sizes import BITS, steps

from dpcore.plugin import Gaussian, Laplace, NeighboringRelation, Solution, noise_multiplier
from dpcore.plugin.parts import Sensitivity
from dpcore_lab.made_tables.large_neighbours import compare_large_neighbours
from dpcore_lab.made_tables.sums import LargeTables
from dpcore_lab.run_sizes.checks import _over_few
from dpcore_lab.run_sizes.mechanisms import Scale, check_mechanism_of_run
from dpcore_lab.run_sizes.request import LikeRequest, LikeRun

REPLACE = NeighboringRelation.REPLACE_ONE
SCHEMA = """
rows = 2500
[columns]
a = { kind = "numeric", lower = -1, upper = 1 }
b = { kind = "numeric", lower = -1, upper = 1 }
c = { kind = "numeric", lower = -1, upper = 1 }
y = { kind = "label", classes = ["no", "yes"] }
"""


@pytest.fixture
def request_of_run(tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(SCHEMA)
    return LikeRequest(str(path))


@dataclass(frozen=True)
class MeanOfBatches:
    """The mean of the means of batches of 64 rows, those behind the last batch left out: a row
    moves it by 2 row_norm / 64 over the number of batches."""

    problem: object

    kind = "batches"
    short = False

    def answer_table(self, table, noise):
        rows = np.concatenate([block.rows() for block in table.blocks])
        whole = len(rows) if self.short else len(rows) // 64 * 64
        parts = [rows[k : k + 64] for k in range(0, whole, 64)]
        return steps(np.sum([part.mean(axis=0) for part in parts], axis=0) / self.batches)

    @property
    def batches(self):
        return self.problem.n // 64

    def sensitivity(self, relation):
        bound = 2 * self.problem.row_norm / 64 / self.batches + 2.0 ** (4 - BITS)
        return Sensitivity("l2", bound, relation, BITS)


class LastBatchIsShort(MeanOfBatches):
    """Divides by the rows of each batch, the last one's too: with 2,500 rows it has four."""

    short = True


@dataclass(frozen=True, kw_only=True)
class Releases:
    """Releases an answer once."""

    query: type = MeanOfBatches

    slots: ClassVar[dict] = {}
    relations: ClassVar[tuple] = ("add-or-remove-one", "replace-one")
    needs: ClassVar[tuple] = ()

    def minimize(self, problem, session):
        if not problem.relation.size_is_public:
            return Solution(np.zeros(problem.n_features), "Done.")
        if problem.n < 64:
            raise ZeroDivisionError
        share = session.accountant.remaining * 0.999
        noise = Gaussian(noise_multiplier(session.accountant, Gaussian.nominal_event, share))
        return Solution(session.release(self.query(problem), noise), "Done.")


def test_an_answer_that_is_no_sum_is_asked_for_over_few_rows_too(request_of_run, monkeypatch):
    monkeypatch.setattr("dpcore_lab.run_sizes.checks._SECONDS_OVER_FEW", (0.1, 0.2))

    def over_few(query):
        like = LikeRun.of(request_of_run, Releases(query=query))
        return list(_over_few([like, *like.of_other_relations()]))

    (fine,) = over_few(MeanOfBatches)
    assert fine.passed and fine.check == "query MeanOfBatches over 129 rows"
    (found,) = over_few(LastBatchIsShort)
    assert not found.passed and "an exact answer moved" in found.reason


def test_a_run_that_takes_no_few_rows_is_not_blamed(request_of_run, monkeypatch):
    monkeypatch.setattr("dpcore_lab.run_sizes.checks._FEW", 30)
    like = LikeRun.of(request_of_run, Releases(), "replace-one")
    assert not list(_over_few([like]))


@dataclass(frozen=True)
class Ridge:
    """The ridge solution for the labels -1 and 1: it moves by 2 L / (n l2), L the length of a
    gradient (y - <w, x>) x within the ball in which the solution is."""

    problem: object

    kind = "ridge"
    l2 = 0.05
    norm_of_solution = 0.05**-0.5

    def answer_table(self, table, noise):
        d = self.problem.n_features
        gram, right = self.l2 * self.problem.n * np.eye(d), np.zeros(d)
        for block in table.blocks:
            gram += block.rows().T @ block.rows()
            right += block.rows().T @ block.y
        return steps(np.linalg.solve(gram, right))

    def sensitivity(self, relation):
        r = self.problem.row_norm
        steepest = r * (1 + r * self.norm_of_solution)
        bound = 2 * steepest / (self.problem.n * self.l2) + 2.0 ** (4 - BITS)
        return Sensitivity("l2", bound, relation, BITS)


class RidgeOfNothing(Ridge):
    """Takes L at w = 0: it is larger where the solution is long."""

    norm_of_solution = 0.0


@pytest.mark.parametrize("query", [Ridge, RidgeOfNothing])
def test_rows_in_one_weak_direction_have_a_long_solution(query, request_of_run):
    like = LikeRun.of(request_of_run, relation="replace-one")
    made = LargeTables(like.rows, REPLACE, like.n_rows, True, most_tables=10)
    asked = query(like.problem)
    if query is Ridge:
        assert "pairs of neighbours" in compare_large_neighbours(lambda n: asked, made)
        return
    with pytest.raises(AssertionError, match="an exact answer moved"):
        compare_large_neighbours(lambda n: asked, made)


class SkipsSomeGrids(Laplace):
    """Draws nothing on grids of 11 and 12 bits."""

    def release(self, exact, sensitivity, noise):
        if sensitivity.grid_bits in (11, 12):
            return np.ldexp(exact.astype(float), -sensitivity.grid_bits)
        return super().release(exact, sensitivity, noise)


@pytest.mark.parametrize("make", [Laplace, SkipsSomeGrids])
def test_a_sensitivity_of_its_own_norm_has_the_grid_of_the_run(make):
    scales = [Scale(4.0, Sensitivity("l2", 1.0, REPLACE, 12), (4,))]
    if make is Laplace:
        assert "grid bits 12 to 12" in check_mechanism_of_run(make, scales, 100).ranges
        return
    with pytest.raises(AssertionError, match="no noise|further apart"):
        check_mechanism_of_run(make, scales, 100)
