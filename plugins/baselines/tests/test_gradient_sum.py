"""How exact the sum of gradients is that minimisers are found with."""

import math

import mpmath
import numpy as np
import pytest

from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import LocalEngine, Logistic, Table
from dpcore_baselines.losses.huber import HuberSvm
from dpcore_baselines.queries.gradient_sum import (
    GradientSum,
    _rest_error,
    gradient_bits,
    gradient_error,
)
from dpcore_baselines.queries.kernels import write_parts
from dpcore_lab.checks import make_rows
from dpcore_lab.made_tables.tables import ROW_NORM, make_problem

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = NeighboringRelation.REPLACE_ONE


@pytest.mark.parametrize("loss", [Logistic(), HuberSvm()])
@pytest.mark.parametrize("precise", [True, False])
def test_the_error_is_within_its_bound(loss, precise):
    rows = make_rows(100, seed=6)
    problem = make_problem(rows, ADD, loss)
    rng = np.random.default_rng(0)
    bits = gradient_bits(problem, 100, 3.0)
    engine = LocalEngine(rows.table())
    for size in (0.1, 3.0, 60.0):
        w = np.rint(rng.normal(size=5) * size * 2.0**Problem.FINE_BITS) * 2.0**-Problem.FINE_BITS
        total = engine.answer(GradientSum(problem, w, bits, precise=precise))
        exact = _exact(rows, loss, w)
        off = math.sqrt(
            sum((mpmath.mpf(int(t)) / 2**bits - g) ** 2 for t, g in zip(total, exact, strict=True))
        )
        # The rows of the table stand on their own grid and carry a factor: float64's rounding.
        assert off <= gradient_error(problem, 100, 3.0, precise) + 100 * 2.0**-48


def _exact(rows, loss, w):
    """Return the sum of gradients of the stored rows, to 40 digits."""
    with mpmath.workdps(40):
        total = [mpmath.mpf(0)] * 5
        for block in rows.table().blocks:
            X = np.array([block.weighted_sum(unit) for unit in np.eye(block.n_rows)])
            for x, factor, y in zip(X, block.factor, block.y, strict=True):
                row = [mpmath.mpf(float(v)) * mpmath.mpf(float(factor)) for v in x]
                m = float(y) * sum(a * mpmath.mpf(float(b)) for a, b in zip(row, w, strict=True))
                if isinstance(loss, Logistic):
                    slope = -1 / (1 + mpmath.exp(m))
                else:
                    slope = -mpmath.mpf(1) if m < 0.5 else -max(mpmath.mpf(0), mpmath.mpf(1.5) - m)
                total = [t + float(y) * slope * a for t, a in zip(total, row, strict=True)]
        return total


def test_more_rows_cost_bits_but_not_many():
    # With 2^27 rows, what is not a number of capacity has to bear, next to nothing is lost.
    problem = make_problem(make_rows(5), ADD, Logistic())
    assert gradient_error(problem, 2**27, 3.0, precise=True) < 2.0**-11 * ROW_NORM
    assert gradient_error(problem, 2**27, 3.0) > 2.0**-9 * ROW_NORM


def test_rows_so_long_and_wide_that_fine_margins_are_rounded():
    # The fine part of w is taken on a coarser grid there, and all of its roundings may add up.
    longest, width = 2.0**12, 2**18
    problem = Problem(HuberSvm(), 0.0, width, longest, longest, REPLACE, n=2)
    x = np.full((1, width), longest * 2.0**-9)
    w = np.full(width, 2.0**-21 + (2.0**19 - 7) * 2.0**-Problem.FINE_BITS)
    bounds = {"row_norm": longest, "raw_norm_bound": longest}
    engine = LocalEngine(Table.from_matrix(x, np.ones(1), **bounds))
    for precise in (True, False):
        total = engine.answer(GradientSum(problem, w, 30, precise=precise))
        # Powers of 2 and few bits: exact in float64, and within the parabola.
        margin = width * x[0, 0] * w[0]
        assert 0.5 < margin < 1.5
        off = math.sqrt(width) * abs(math.ldexp(float(total[0]), -30) - (margin - 1.5) * x[0, 0])
        assert off <= gradient_error(problem, 1, 3.0, precise)
    assert _rest_error(problem) > 2.0**-22
    assert _rest_error(make_problem(make_rows(5), ADD, Logistic())) == 0


def naive_parts(slopes, factor, one):
    """Return the kernel's parts by NumPy, array by array."""
    whole = slopes * factor
    first = np.rint(whole * one) / one
    return first, np.rint((whole - first) * one * one)


@pytest.mark.parametrize("shape", [(1, 0), (1, 1), (1, 1001), (3, 40)])
def test_the_kernel_of_parts_has_the_bits_of_numpy(shape):
    rng = np.random.default_rng(shape)
    slopes, factor, one = rng.normal(size=shape), rng.uniform(0.5, 1.0, shape[1]), 2.0**20
    slopes.flat[:3] = 0.5 / one, -0.0, 2.5 / one  # halves go to the even neighbour
    parts = np.empty((2, *shape))
    write_parts(slopes, factor, one, parts)
    assert parts.tobytes() == np.array(naive_parts(slopes, factor, one)).tobytes()
    assert (np.abs(parts[0] + parts[1] / one / one - slopes * factor) <= 0.5 / one / one).all()
    # Its broken twin: a second part that is rounded to the first part's steps.
    coarse = np.array([parts[0], np.rint(parts[1] / one) * one])
    assert (coarse.tobytes() == parts.tobytes()) == (shape[1] == 0)
