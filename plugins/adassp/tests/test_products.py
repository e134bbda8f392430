"""The queries: exact sums, and l2 sensitivities that are reached and never exceeded."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation, Settings
from dpcore.plugin.parts import (
    LocalEngine,
    NoiseSource,
    Sensitivity,
)
from dpcore_adassp.kernels import residual_sums
from dpcore_adassp.products import Products, unpacked
from dpcore_adassp.row_map import RowMap, turn_of
from dpcore_adassp.smallest_eigenvalue import SmallestEigenvalue
from dpcore_lab.checks import check_query, make_rows
from dpcore_lab.checks.queries import check_contributions
from dpcore_lab.made_tables.tables import Rows, make_problem

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
RIDGE = Settings(loss="ridge").make_loss()
PARTS = ("squares", "targets")
AT = np.array([0.5, -1.0, 0.25, 0.0, 2.0])
CENTRED = RowMap(5, True, (0.5, 0.25, 0.0, 1.0), weight=0.25)
SCALED = replace(CENTRED, scales=(1.0, 8.0, 2.5, 3.0))
TURN = np.eye(5) + np.random.default_rng(8).normal(0, 0.4, (5, 5))
TURNED = replace(SCALED, turn=turn_of(TURN))


def problem_of(rows, relation=ADD):
    return make_problem(rows, relation, RIDGE)


def products(rows, row_map, length=1.0, stretch=1.0, part="squares", relation=ADD, **words):
    return Products(problem_of(rows, relation), row_map, length, stretch, part, **words)


def answer(query, rows):
    return LocalEngine(rows.table()).answer(query)


def naive_image(row, row_map):
    """Return phi of one row, from the formula."""
    if not row_map.intercept:
        return row
    middles, scales = row_map.middles, row_map.scales
    pairs = enumerate(row[:-1])
    image = [scales[j] * (x - middles[j] * row[-1]) if middles else x for j, x in pairs]
    image = np.array([*image, row_map.weight * row[-1]])
    return image @ (TURN / abs(TURN).max()) if row_map.turn else image


def naive_sums(rows, row_map, length, stretch, at, clip):
    """Return the matrix and the vector of real numbers, one row at a time."""
    width = rows.X.shape[1]
    matrix, vector = np.zeros((width, width)), np.zeros(width)
    for x, y in zip(rows.X, rows.y, strict=True):
        phi = naive_image(x * min(1.0, rows.row_norm / np.linalg.norm(x)), row_map)
        g = min(1.0, length / np.linalg.norm(phi))
        p = g * phi / length
        matrix += np.outer(p, p)
        vector += np.clip((stretch * g * y - p @ at) / clip, -1, 1) * p
    return matrix, vector


@pytest.mark.parametrize(
    "row_map", [RowMap(5, False), RowMap(5, True, weight=0.25), CENTRED, SCALED, TURNED]
)
@pytest.mark.parametrize(("length", "stretch"), [(1.5, 1.0), (0.4, 2.0)])
def test_sums_are_those_of_the_formula(row_map, length, stretch):
    rows = make_rows(60, seed=3)
    for at, clip in ((None, 1.0), (AT, 0.75)):
        matrix, vector = naive_sums(
            rows, row_map, length, stretch, AT if clip < 1 else 0 * AT, clip
        )
        squares = products(rows, row_map, length, stretch)
        targets = products(rows, row_map, length, stretch, "targets", at=at, clip=clip)
        steps = 2.0 ** -squares.sensitivity(ADD).grid_bits
        assert unpacked(answer(squares, rows) * steps, 5) == pytest.approx(
            matrix, abs=60 * 2.0**-13
        )
        assert answer(targets, rows) * steps == pytest.approx(vector, abs=60 * 2.0**-13)


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_no_row_moves_the_sums_by_more_than_is_declared(part):
    check_query(
        lambda problem: Products(problem, RowMap(problem.n_features, False), 1.2, 1.5, part)
    )


@pytest.mark.slow
def test_no_row_moves_the_residuals_by_more_either():
    check_query(
        lambda problem: Products(
            problem, RowMap(problem.n_features, False), 1.2, 1.5, "targets",
            np.linspace(-2, 2, problem.n_features), 0.25,
        )
    )  # fmt: skip


def test_the_images_of_centred_rows_keep_within_it_too():
    rows = make_rows(10)
    for relation in (ADD, REPLACE):
        for length in (0.3, 2.0):
            for part in PARTS:
                for row_map in (CENTRED, TURNED):
                    query = products(rows, row_map, length, 2.0, part, relation)
                    assert check_contributions(query, relation) <= 1


class Unheld(RowMap):
    """A broken twin: takes the lengths of rows before they are turned."""

    def apply(self, block):
        return RowMap.apply(self, block)[0], RowMap.apply(replace(CENTRED), block)[1]


def test_lengths_of_before_a_turn_do_not_bound_it():
    rows = make_rows(10)
    row_map = Unheld(5, True, SCALED.middles, 0.25, SCALED.scales, TURNED.turn)
    with pytest.raises(AssertionError):
        check_contributions(products(rows, row_map, 0.3), ADD)


def test_a_turned_row_is_the_same_to_the_bit_whatever_stands_beside_it():
    rows = make_rows(200, seed=6)
    together = TURNED.apply(next(iter(rows.table().blocks)))[0]
    for k in (0, 7, 199):
        alone = Rows(rows.X[k : k + 1], rows.y[k : k + 1])
        assert np.array_equal(TURNED.apply(next(iter(alone.table().blocks)))[0][0], together[k])


@dataclass(frozen=True)
class Unweighted(Products):
    """A broken twin: the bound of the sums of add-or-remove-one under replace-one."""

    def sensitivity(self, relation):
        stated = super().sensitivity(relation)
        return Sensitivity("l2", 1.0, relation, grid_bits=stated.grid_bits)


def test_the_bound_of_the_other_relation_is_exceeded():
    rows = make_rows(10)
    for part in PARTS:
        made = Unweighted(problem_of(rows, REPLACE), RowMap(5, False), 1.0, part=part)
        with pytest.raises(AssertionError):
            check_contributions(made, REPLACE)


def test_the_declared_bounds_are_the_proved_ones_and_reached():
    row_map = RowMap(5, False)
    # Rows at a right angle pull the matrix apart most, and opposite ones the vector.
    for part, square, other in (("squares", 2, np.eye(5)[1]), ("targets", 4, -np.eye(5)[0])):
        pair = Rows(np.array([np.eye(5)[0], other]), np.array([1.0, 1.0]))
        query = products(pair, row_map, part=part, relation=REPLACE)
        assert query.sensitivity(ADD).bound == 1.0
        bound = query.sensitivity(REPLACE).bound
        assert bound == pytest.approx(square**0.5, rel=1e-12) and bound >= square**0.5
        steps = 2.0 ** -query.sensitivity(REPLACE).grid_bits
        moved = [answer(query, Rows(pair.X[i : i + 1], pair.y[i : i + 1])) for i in (0, 1)]
        assert 0.99 < np.linalg.norm((moved[0] - moved[1]) * steps) / bound <= 1


@pytest.mark.slow
def test_the_eigenvalue_is_within_its_sensitivity():
    check_query(
        lambda problem: SmallestEigenvalue(
            Products(problem, RowMap(problem.n_features, False), 1.2, part="squares")
        ),
        RIDGE,
        evaluations=60,
    )


def test_the_eigenvalue_is_that_of_the_matrix():
    rows = make_rows(40, seed=5)
    query = SmallestEigenvalue(products(rows, RowMap(5, False), 1.2, part="squares"))
    found = query.derive(LocalEngine(rows.table()).answer, NoiseSource.of_seed())[0] * 2.0**-20
    matrix, _ = naive_sums(rows, RowMap(5, False), 1.2, 1.0, 0 * AT, 1.0)
    assert found == pytest.approx(np.linalg.eigvalsh(matrix)[0], abs=40 * 2.0**-12)
    assert query.most_rows == 2**20
    with pytest.raises(InvalidInputError, match="alone"):
        SmallestEigenvalue(products(rows, RowMap(5, False), part="targets"))


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_the_solvers_error_is_in_the_eigenvalues_sensitivity_twice(relation):
    rows = make_rows(40, seed=5)
    squares = products(rows, RowMap(5, False), part="squares", relation=relation)
    query = SmallestEigenvalue(squares)
    # LAPACK: d^2 2^-50 times the norm of the matrix, which is at most the number of rows.
    least = 1 + 2 * (5**2 * 2.0**-50 * query.most_rows) + 2.0**-20
    assert least <= query.sensitivity(relation).bound <= least * (1 + 2.0**-40)


def test_a_map_and_its_pull_back_agree():
    rng = np.random.default_rng(1)
    for row_map in (RowMap(5, False), RowMap(5, True, weight=0.25), CENTRED, SCALED, TURNED):
        x, v = rng.normal(size=5), rng.normal(size=5)
        kept = v.copy()
        # Images that are turned are truncated to 2^-16 before; all others are as good as exact.
        near = {"rel": 1e-6 if row_map.turn is None else 1e-4}
        assert x @ row_map.pull_back(v) == pytest.approx(naive_image(x, row_map) @ v, **near)
        assert np.array_equal(v, kept)
        assert v @ row_map.squares() @ v == pytest.approx(np.sum(row_map.pull_back(v) ** 2))
        before = replace(row_map, turn=None).pull_back(v)
        assert row_map.pull_back(row_map.turned_back(v)) == pytest.approx(before)


def test_bad_maps_and_lengths_are_refused():
    with pytest.raises(InvalidInputError, match="centred"):
        RowMap(5, False, (0.5,) * 4)
    for middles in ((0.5,) * 5, (0.5, 0.5, 0.5, 1.5)):
        with pytest.raises(InvalidInputError, match="middle"):
            RowMap(5, True, middles)
    for scales in ((2.0,) * 5, (0.5,) * 4, (9.0,) * 4):
        with pytest.raises(InvalidInputError, match="scale from 1 to 8"):
            RowMap(5, True, (0.5,) * 4, scales=scales)
    with pytest.raises(InvalidInputError, match="with a scale"):
        RowMap(5, True, scales=(2.0,) * 4)
    for turn in (((1, 0), (0, 1)), ((2**18 + 1,) * 5,) * 5, ((1,) * 4,) * 5):
        with pytest.raises(InvalidInputError, match="square turn"):
            RowMap(5, True, turn=turn)
    with pytest.raises(InvalidInputError, match="weight"):
        RowMap(5, True, weight=2.0)
    with pytest.raises(InvalidInputError, match="length"):
        products(make_rows(2), CENTRED, length=0.0)
    with pytest.raises(InvalidInputError, match="stretch"):
        products(make_rows(2), CENTRED, stretch=0.5)
    with pytest.raises(InvalidInputError, match="columns"):
        products(make_rows(2), RowMap(4, False))
    with pytest.raises(InvalidInputError, match="clip"):
        products(make_rows(2), CENTRED, part="targets", clip=0.0)
    for at in (np.full(5, np.nan), np.full(5, 2.0**21), np.zeros(4)):
        with pytest.raises(InvalidInputError, match="coefficient"):
            products(make_rows(2), CENTRED, part="targets", at=at)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 9])
def test_the_kernel_of_residuals_has_the_bits_of_one_row_after_the_other(n):
    # It takes four rows at a time.
    rng = np.random.default_rng(n)
    rows, targets = np.trunc(2.0**12 * rng.normal(size=(n, 7))), rng.normal(size=n)
    at, params, sums = rng.normal(size=7) * 2.0**-14, np.array([0.5, 2.0**12]), np.zeros(7)
    residual_sums(rows, targets, at, params, sums)
    whole = []
    for row, residual in zip(rows, targets, strict=True):
        for j in range(7):
            residual -= at[j] * row[j]
        whole.append(np.trunc(2.0**12 * min(max(residual / 0.5, -1.0), 1.0)) * row)
    assert sums.tolist() == np.sum(whole or np.zeros((1, 7)), axis=0).tolist()
    # Its broken twin: the rows that are left over are left out.
    short = np.sum(whole[: n - n % 4] or np.zeros((1, 7)), axis=0)
    assert (sums.tolist() == short.tolist()) == (n % 4 == 0)
