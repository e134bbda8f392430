"""Hessians: the kernel, the formula, and no row moves one by more than is declared."""

import importlib.util
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import (
    ContributionSum,
    LocalEngine,
    RowFunction,
    Sensitivity,
    Table,
)
from dpcore_lab.checks import check_query
from dpcore_newton import hessian as module
from dpcore_newton.curvature import CURVATURES, bound, hessian, upper_bound
from dpcore_newton.hessian import HessianSum, HessianTrace, Standardization, unpacked
from dpcore_newton.kernels import write_roots

_spec = importlib.util.spec_from_file_location("newton_naive", Path(__file__).with_name("naive.py"))
naive = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(naive)

ADD, REPLACE = NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE
SCALES, MEANS = np.array([1.0, 3.0, 8.0, 1.5, 1.0]), np.array([0.2, -0.7, 0.1, 0.9, 0.0])
COLUMNS = Standardization.nearest(SCALES, MEANS, 4)


def negative_and_not_finite(z, y, parameters):
    return -1e300 if y > 0.0 else z / (z - z)


def of_the_label(z, y, parameters):
    return 1e300 if y > 0.0 else 1e-6


def query_of(problem, function=hessian, clip=0.7, kind=HessianSum, columns=COLUMNS):
    w = np.full(problem.n_features, 0.3)
    return kind(problem, w, RowFunction.weight(function), clip, (0.25,), standardization=columns)


def test_the_kernel_writes_what_the_formula_says():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(40, 6)) * 10.0 ** rng.uniform(-4, 2, (40, 1))
    rows[3] = 0.0
    c = rng.uniform(-0.1, 0.3, 40)
    c[:4] = [np.nan, np.inf, -np.inf, 0.2]
    maps, params = rng.normal(size=(2, 6)), np.array([0.7, 2.0**11, 5.0])
    out = np.empty_like(rows)
    write_roots(rows, c, maps, params, out)
    # The two differ in rounding before they truncate.
    assert np.abs(out - naive.roots(rows, c, maps, params)).max() <= 1
    assert (np.square(out).sum(axis=1) <= 0.7 * 4.0**11 * (1 + 1e-12)).all()
    assert not out[:4].any()


@pytest.mark.parametrize("n", [3000, 20_000])
def test_the_sum_is_that_of_the_formula(n, monkeypatch, problem_of):
    monkeypatch.setattr(module, "_CELLS", 4096)  # a block in several pieces, the last one smaller
    rng = np.random.default_rng(2)
    X = np.append(rng.normal(size=(n, 4)), np.ones((n, 1)), axis=1)
    X *= np.minimum(1, 1.5 / np.linalg.norm(X, axis=1))[:, None]
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    table = Table.from_matrix(X, y, raw_norm_bound=2.0, row_norm=1.5)
    query = query_of(problem_of(ADD, capacity=n), clip=2.0)
    answer = LocalEngine(table).answer(query)
    # Features are on a grid of 2^-16.
    x = np.ldexp(np.trunc(np.ldexp(X, 16)), -16)
    phi = x * (COLUMNS.scales / 64) - np.outer(x[:, 4], COLUMNS.shifts / 64)
    p = 1 / (1 + np.exp(-(x @ query.w)))
    expected = naive.hessian(phi, p * (1 - p), 2.0)
    found = unpacked(answer * 2.0 ** -query.sensitivity(ADD).grid_bits, 5)
    np.testing.assert_allclose(found, expected, atol=4 * n * 2.0**-query.steps_bits)
    trace = HessianTrace(query).derive(lambda part: LocalEngine(table).answer(part), None)
    assert trace * 2.0 ** -query.sensitivity(ADD).grid_bits == pytest.approx(np.trace(found))


@pytest.mark.parametrize("function", [hessian, bound, negative_and_not_finite, of_the_label])
def test_no_row_moves_a_hessian_by_more_than_is_declared(function, problem_of, largest_share):
    for relation in (ADD, REPLACE):
        assert largest_share(query_of(problem_of(relation), function), relation) <= 1


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_rows_reach_the_bound(relation, problem_of, largest_share):
    # A row of one feature takes the whole clip, two of two features the root of 2 times that.
    assert largest_share(query_of(problem_of(relation), bound, 0.1), relation) > 0.99


@dataclass(frozen=True)
class ByTheNorm(HessianSum):
    """A broken twin: c ||phi|| is held to the clip, and not c ||phi||^2."""

    def _maps(self):
        maps, params = super()._maps()
        return maps, params * np.array([20.0, 1.0, 1.0])


@dataclass(frozen=True)
class OneRelation(HessianSum):
    """A broken twin: a row replaced moves a Hessian by no more than a row added."""

    def sensitivity(self, relation):
        stated = super().sensitivity(relation)
        return Sensitivity("l2", self.clip, relation, grid_bits=stated.grid_bits)


@pytest.mark.parametrize(("twin", "relation"), [(ByTheNorm, ADD), (OneRelation, REPLACE)])
def test_broken_twins_are_caught(twin, relation, problem_of, largest_share):
    query = query_of(problem_of(relation), of_the_label, kind=twin)
    assert largest_share(query, relation) > 1.4


def test_a_kernel_that_clips_by_the_norm_and_not_its_square_is_caught(
    monkeypatch, problem_of, largest_share
):
    def by_the_norm(rows, c, maps, params, out):
        phi = rows * maps[0] - np.outer(rows[:, int(params[2])], maps[1])
        norms = np.maximum(np.linalg.norm(phi, axis=1), 1e-300)
        root = np.sqrt(np.minimum(np.maximum(c, 0.0), params[0] / norms))
        out[:] = np.trunc(params[1] * root[:, None] * phi)

    monkeypatch.setattr(module, "write_roots", by_the_norm)
    assert largest_share(query_of(problem_of(ADD), of_the_label), ADD) > 1.4


@pytest.mark.slow
@pytest.mark.parametrize("function", [hessian, of_the_label])
def test_a_hessian_and_its_trace_pass_the_checks_of_queries(function):
    check_query(lambda problem: query_of(problem, function))
    check_query(lambda problem: HessianTrace(query_of(problem, function)))


def test_curvatures_are_those_of_the_loss():
    # Second differences of log(1 + exp(-z)), and the parabola that touches it at z.
    step, parameters = 1e-4, np.array([0.25])
    for z in (-700.0, -3.0, -1e-5, 0.0, 1e-5, 0.5, 8.0, 700.0):
        value = np.logaddexp(0.0, -(z + np.array([-step, 0.0, step])))
        second = (value[0] - 2 * value[1] + value[2]) / step**2
        assert hessian(z, 1.0, parameters) == pytest.approx(second, abs=1e-6)
        upper = upper_bound(z, 1.0, parameters)
        assert hessian(z, 1.0, parameters) <= upper <= bound(z, 1.0, parameters) == 0.25
        others = np.linspace(-30, 30, 601)
        slope = -1 / (1 + math.exp(min(z, 500)))
        parabola = value[1] + slope * (others - z) + upper / 2 * (others - z) ** 2
        assert (parabola >= np.logaddexp(0.0, -others) - 1e-9).all()
    for function in CURVATURES.values():
        RowFunction.weight(function).require_compiled()


def test_what_does_not_fit_is_refused(problem_of):
    problem = problem_of(ADD)
    with pytest.raises(InvalidInputError, match="a map of the columns"):
        query_of(problem, columns=None)
    with pytest.raises(InvalidInputError, match="Expected a map of 5 columns"):
        one = Standardization.nearest(np.ones(1), np.zeros(1), None)
        query_of(problem, columns=one)
    with pytest.raises(InvalidInputError, match="has no room"):
        d = 2**14 + 1
        query_of(problem_of(ADD, d), columns=Standardization.nearest(np.ones(d), np.zeros(d), None))


def ones(x, y, parameters, out):
    for k in range(len(out)):
        out[k] = 1.0


def test_the_trace_of_another_sum_is_refused(problem_of):
    # A row moves each of 15 entries of this one by the clip, and 5 of them are its diagonal.
    query = ContributionSum(
        problem_of(ADD), RowFunction.contribution(ones), width=15, clip=1.0, norm="linf"
    )
    with pytest.raises(InvalidInputError, match="not of ContributionSum"):
        HessianTrace(query)
