"""Sums and functions whose bits are the same on every processor, and who has to use them."""

import ast
import math
from pathlib import Path

import naive
import numpy as np
import pytest

from dpcore.exact.reproducible import (
    ordered_dot,
    ordered_norm,
    ordered_sum,
)

ROOT = Path(__file__).parents[2]
SUM_ERROR = 2.0**-40
SIZES = [0, 1, 7, 4096, 4097, 8195, 2**16 + 3, 10**6 + 1]


@pytest.mark.parametrize("size", SIZES)
def test_a_sum_has_one_order_and_the_error_that_is_stated(size):
    x = np.random.default_rng(size).normal(size=size) * 10.0 ** (np.arange(size) % 9)
    found = float(ordered_sum(x))
    assert found == naive.ordered_sum(x)
    assert abs(found - math.fsum(x)) <= SUM_ERROR * math.fsum(abs(x))


@pytest.mark.parametrize("layout", ["rows", "columns", "reversed"])
def test_sums_do_not_follow_the_layout(layout):
    x = np.random.default_rng(3).normal(size=(5, 9001))
    same = {"rows": x, "columns": np.asfortranarray(x), "reversed": x[:, ::-1][:, ::-1]}[layout]
    w = np.random.default_rng(4).normal(size=9001)
    assert ordered_dot(same, w).tolist() == [naive.ordered_sum(row * w) for row in x]
    assert ordered_norm(same) == math.sqrt(naive.ordered_sum(np.square(x).ravel()))


def test_the_error_is_that_of_the_longest_way_of_a_term():
    """Each term is rounded away from 0 on its way: a sum of 2^20 terms one after the other, as the
    broken twin adds them, is off by 2^8 times more."""
    x = np.full(2**20, 1 + 2.0**-30)
    exact = 2**20 * (1 + 2.0**-30)
    assert abs(float(ordered_sum(x)) - exact) <= SUM_ERROR * exact
    assert (2**12 + 64) * 2.0**-53 < SUM_ERROR


# A library adds these in the order that it likes.
PRODUCTS = {"convolve", "correlate", "dot", "einsum", "inner", "matmul", "multi_dot", "norm"}
PRODUCTS |= {"tensordot", "vdot", "vecdot"}
SUMS = {"average", "cov", "mean", "nansum", "prod", "std", "sum", "trace", "var"}
# NumPy has code of its own for some processors.
ELEMENTARY = {"cos", "cosh", "exp", "exp2", "expm1", "float_power", "geomspace", "log", "log10"}
ELEMENTARY |= {"log1p", "log2", "logaddexp", "logspace", "power", "sin", "sinh", "tan", "tanh"}


def left_to_a_library(tree, names):
    """Yield each place where a library decides the order of a sum, or which code a function has."""
    called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.MatMult):
            yield f"{node.lineno}: @"
        elif isinstance(node, ast.Attribute) and node.attr in names:
            owner = ast.unparse(node.value)
            of_numpy = owner.split(".")[0] in ("np", "numpy")
            if of_numpy or (node in called and owner != "math"):
                yield f"{node.lineno}: {ast.unparse(node)}"


def places(files, names):
    found = {}
    for path in files:
        lines = list(left_to_a_library(ast.parse(path.read_text()), names))
        if lines:
            found[str(path.relative_to(ROOT))] = lines
    return found


COMPOSITIONS = (
    "draw_distribution.py",
    *("sampling_composition.py", "skellam_noise/composition.py"),
)
ACCOUNTANTS = sorted(
    [
        *ROOT.glob("dpcore/accountants/*.py"),
        *ROOT.glob("plugins/accounting/dpcore_accounting/*.py"),
        *ROOT.glob("plugins/tuning/dpcore_tuning/*.py"),
    ]
    + [ROOT / "plugins/a-ddp/dpcore_a_ddp" / name for name in COMPOSITIONS]
)


def test_no_accountant_leaves_the_order_of_a_sum_to_a_library():
    assert places(ACCOUNTANTS, PRODUCTS | SUMS | ELEMENTARY) == {}


# Rooms in which something follows from released values that is asked for next, or is released.
ROOMS = ["accountants", "bounds", "data", "exact", "mechanisms", "noise", "queries"]
ROOMS += ["session", "statistics"]
WHOLE_NUMBERS = "products of whole numbers whose sums are below 2^53: exact in any order"
ALLOWED = {
    "plugins/report/dpcore_report/evaluation/intervals.py": "a value of counts that were released",
    "plugins/report/dpcore_report/intervals/inference.py": "beside LAPACK; asked on the grid",
    "plugins/report/dpcore_report/intervals/one_step.py": "LAPACK has a part in it",
    "plugins/report/dpcore_report/intervals/row_products.py": WHOLE_NUMBERS,
    "plugins/report/dpcore_report/pictures/contributions.py": "a picture of what was released",
    "plugins/tables/dpcore_tables/statistics/numeric_sums.py": WHOLE_NUMBERS,
    "plugins/tables/dpcore_tables/statistics/asking.py": "LAPACK has a part in a covariance",
    "plugins/a-ddp/dpcore_a_ddp/recount.py": "a check of a value, by another formula",
    "plugins/a-ddp/dpcore_a_ddp/secure_sums/shamir.py": WHOLE_NUMBERS,
    "plugins/baselines/dpcore_baselines/without_privacy/references.py": "a reference",
    "plugins/adassp/dpcore_adassp/products.py": WHOLE_NUMBERS,
    "plugins/adassp/dpcore_adassp/row_map.py": WHOLE_NUMBERS,
    "plugins/newton/dpcore_newton/hessian.py": WHOLE_NUMBERS,
    "plugins/adassp/dpcore_adassp/whitening.py": "beside LAPACK; rounded to whole steps",
}


def test_no_optimizer_leaves_the_order_of_a_product_to_a_library():
    files = [path for room in ROOMS for path in sorted(ROOT.glob(f"dpcore/{room}/**/*.py"))]
    packages = {*ROOT.glob("plugins/*/dpcore_*/")} - {ROOT / "plugins/lab/dpcore_lab"}
    files += [path for package in sorted(packages) for path in sorted(package.rglob("*.py"))]
    assert set(places(files, PRODUCTS)) == set(ALLOWED)


@pytest.mark.parametrize(
    "line",
    [
        "total = float(left @ heights[:-1] + right @ heights[1:])",  # as the Renyi bound had it
        "x @= y",
        "np.dot(a, b)",
        "np.linalg.norm(b)",
        "np.convolve(mass, hits)",
        "np.einsum('i,i', a, b)",
        "grown.sum()",
        "np.sum(grown)",
        "p.mean()",
        "np.exp(x)",
        "reduce(np.logaddexp, x)",
    ],
)
def test_it_would_be_found(line):
    assert list(left_to_a_library(ast.parse(line), PRODUCTS | SUMS | ELEMENTARY))


def test_what_has_one_order_is_not_found():
    allowed = "sum(x)\nmath.exp(x)\nmath.fsum(x)\nordered_dot(a, b)\nnp.cumsum(x)\nnp.sqrt(x)"
    assert not list(left_to_a_library(ast.parse(allowed), PRODUCTS | SUMS | ELEMENTARY))
