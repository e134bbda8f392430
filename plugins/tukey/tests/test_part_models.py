"""Models of parts: least squares, exact sums, and one model for one row."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import dpcore
from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import SeededNoise, Table, load_registry
from dpcore_tukey.kernels import add_products, back_substitute, eliminate
from dpcore_tukey.part_models import LARGEST_STEPS, PartModels, middle_of

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
RIDGE = load_registry().load("loss", "ridge")()
M, N, D = 5, 120, 4


def problem_of(d=D, **changed):
    words = {"row_norm": 2.0, "raw_norm_bound": 2.0, "relation": ADD, "capacity": 2**10}
    return Problem(RIDGE, n_features=d, **{"l2": 0.0, **words, **changed})


def rows_of(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = np.trunc(rng.random((n, D)) * 2**16) / 2**16
    X[:, -1] = 1.0
    return X, np.clip(X @ np.array([0.5, -1.0, 0.25, 0.1]) + 0.1 * rng.normal(size=n), -1, 1)


def table_of(X, y):
    return Table.from_matrix(X, y, row_norm=2.0, raw_norm_bound=2.0)


class Dealt(SeededNoise):
    """Coins that deal rows to given parts, each bit by bit."""

    def __init__(self, parts, models):
        super().__init__(0)
        bits = models.bit_length() + 6
        self.value = -(-(np.array(parts, np.int64) << bits) // models)
        self.bit = bits

    def coins(self, n, weight):
        assert weight == 2**63 and n == self.value.size
        self.bit -= 1
        return (self.value >> self.bit & 1).astype(bool)


def models_of(X, y, parts, m=M, **changed):
    query = PartModels(problem_of(X.shape[1], **changed), m)
    return query.answer_table(table_of(X, y), Dealt(parts, m))


def test_each_part_has_its_least_squares():
    X, y = rows_of()
    parts = np.random.default_rng(1).integers(0, M - 1, N)  # the last part is empty
    found = models_of(X, y, parts) * 2.0**-24
    for part in range(M - 1):
        chosen = parts == part
        expected = np.linalg.lstsq(X[chosen], y[chosen], rcond=None)[0]
        assert np.allclose(found[part], expected, atol=2e-5)  # labels are truncated
    assert not found[M - 1].any()


def test_l2_is_of_the_rows_of_a_part():
    (X, y), parts = rows_of(), np.arange(N) % M
    found = models_of(X, y, parts, l2=0.5) * 2.0**-24
    for part in range(M):
        A, b = X[parts == part], y[parts == part]
        expected = np.linalg.solve(A.T @ A + 0.5 * len(A) * np.eye(D), A.T @ b)
        assert np.allclose(found[part], expected, atol=2e-5)


def test_a_row_moves_its_own_model_alone_and_to_the_bit():
    (X, y), parts = rows_of(), np.arange(N) % M
    whole = models_of(X, y, parts)
    for k in (0, 57, N - 1):
        left = np.delete(np.arange(N), k)
        fewer = models_of(X[left], y[left], parts[left])
        other, label = X.copy(), y.copy()
        other[k], label[k] = (1.0, 0.0, 0.5, 1.0), -1.0
        for moved in (fewer, models_of(other, label, parts)):
            assert np.flatnonzero((moved != whole).any(axis=1)).tolist() == [parts[k]]


def test_the_order_and_the_layout_of_rows_do_not_tell():
    (X, y), parts = rows_of(), np.arange(N) % M
    order = np.random.default_rng(2).permutation(N)
    whole = models_of(X, y, parts)
    assert np.array_equal(models_of(X[order], y[order], parts[order]), whole)
    assert np.array_equal(models_of(csr_matrix(X), y, parts), whole)


def test_a_column_that_depends_on_others_has_no_coefficient():
    X, y = rows_of()
    X[:, 0] = 0.5 * X[:, -1]
    X[:, 1] = 0.0
    found = models_of(X, y, np.arange(N) % M)
    assert not found[:, :2].any() and found[:, 2:].all()
    few = models_of(X[:M], y[:M], np.arange(M))  # one row each
    assert np.all(np.count_nonzero(few, axis=1) <= 1)


def test_coefficients_are_held_to_the_grid(monkeypatch):
    monkeypatch.setattr("dpcore_tukey.part_models.LARGEST_STEPS", 2**10)
    (X, y), parts = rows_of(), np.arange(N) % M
    assert np.abs(models_of(X, y, parts)).max() == 2**10
    assert PartModels(problem_of(), M).sensitivity(ADD).bound == 2.0**-13


def test_predictions_at_the_middles_stand_for_the_intercept():
    (X, y), parts = rows_of(), np.arange(N) % M
    plain = models_of(X, y, parts) * 2.0**-24
    numbers = {"intercept": True, "numbers": (0, 2)}
    moved = models_of(X, y, parts, **numbers) * 2.0**-24
    assert np.array_equal(moved[:, :-1], plain[:, :-1])
    assert np.allclose(moved[:, -1], plain[:, -1] + 0.5 * (plain[:, 0] + plain[:, 2]), atol=1e-6)
    assert middle_of(problem_of(**numbers), np.array([1.0, 9.0, 3.0, 9.0])) == 2.0


def test_parts_are_about_even_and_drawn_alike_whatever_the_rows():
    query, n = PartModels(problem_of(), 12), 6000
    drawn = query._parts(n, SeededNoise(1))
    counts = np.bincount(drawn, minlength=12)
    assert counts.size == 12 and np.abs(counts - n / 12).max() < 6 * np.sqrt(n / 12)
    assert np.array_equal(drawn, query._parts(n, SeededNoise(1)))
    exact = np.bincount((np.arange(2**10) * 12) >> 10, minlength=12)
    assert exact.min() >= 85 and exact.max() <= 86


def test_kernels_have_their_twins_answers():
    rng = np.random.default_rng(5)
    rows, parts = rng.integers(-9, 9, (30, 4)), rng.integers(0, 3, 30)
    counts, out = np.zeros(3, np.int64), np.zeros((3, 10), np.int64)
    add_products(rows, parts, counts, out)
    for part in range(3):
        mine = rows[parts == part].astype(object)
        assert out[part].tolist() == (mine.T @ mine)[np.triu_indices(4)].tolist()
        assert counts[part] == len(mine)
    A = rng.normal(size=(8, 4))
    matrix, kept, w = np.triu(A.T @ A), np.empty(3, np.bool_), np.empty(3)
    matrix[3, :3] = np.diagonal(matrix)[:3]
    eliminate(matrix, 1e-9, kept)
    back_substitute(matrix, kept, w)
    assert kept.all() and np.allclose(w, np.linalg.lstsq(A[:, :3], A[:, 3], rcond=None)[0])


@pytest.mark.parametrize("models", [2, 2**16 + 1, 10.0, True])
def test_other_numbers_of_parts_are_refused(models):
    with pytest.raises(InvalidInputError, match="models"):
        PartModels(problem_of(), models)


def test_products_without_room_are_refused():
    with pytest.raises(InvalidInputError, match="fewer columns"):
        PartModels(problem_of(1000), 1000)
    with pytest.raises(InvalidInputError, match="fewer columns"):
        PartModels(problem_of(row_norm=2.0**12, capacity=2**40), 3)


@pytest.mark.parametrize("loss", ["logistic", "quantile"])
def test_another_loss_is_refused(loss):
    problem = Problem(load_registry().load("loss", loss)(), 0.0, 2, 1.0, 1.0, ADD)
    with pytest.raises(InvalidInputError, match="squared loss"):
        PartModels(problem, 10)


def test_rows_with_weights_are_refused_before_a_charge():
    X, y = rows_of()
    words = {"algo": "tukey-em", "loss": "ridge", "bounds": (0, 1), "target_bounds": (-1, 1)}
    with pytest.raises(InvalidInputError, match="weight"):
        dpcore.fit(X, y, sample_weight=np.ones(N), **words)


def test_one_row_may_move_a_model_across_the_grid_and_no_farther():
    bound = PartModels(problem_of(), M).sensitivity(REPLACE)
    assert bound.bound == 2 * LARGEST_STEPS * 2.0**-24 and bound.norm == "linf"
