"""Other bit counts of the grids: all else follows from them, and stays exact, or is refused."""

import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import naive
import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.exact import grid
from dpcore.exact.grid import (
    BLOCK_ROWS,
    DIRECTION_BITS,
    FEATURE_BITS,
    FINE_BITS,
    STEP_BITS,
    coefficient_bits,
    round_to,
)
from dpcore.plugin import ClippedGradientSum, NeighboringRelation, Problem
from dpcore.plugin.parts import LocalEngine, Logistic, Table
from dpcore_a_ddp.record_gradient import RecordGradientSum
from dpcore_accuracy_first.queries.gram import GramMatrix
from dpcore_baselines.queries.gradient_sum import GradientSum, gradient_bits, gradient_error
from dpcore_baselines.queries.moments import ColumnMoments
from dpcore_dp_agd.loss_line import ClippedLossLine
from dpcore_lab.checks import check_query
from dpcore_tables.coded import CodedLayout, CodedRows

_CHANGED = """
import importlib.util, re, sys
import dpcore.exact
changes, path, tests, asked = {changes!r}, {path!r}, {tests!r}, {asked!r}
sys.path.insert(0, tests)
spec = importlib.util.find_spec("dpcore.exact.grid")
text = spec.loader.get_source(spec.name)
for name, value in changes.items():
    text, n = re.subn(rf"^{{name}} = .*$", f"{{name}} = {{value}}", text, flags=re.M)
    assert n == 1, name
grid = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = dpcore.exact.grid = grid
exec(compile(text, spec.origin, "exec"), grid.__dict__)
spec = importlib.util.spec_from_file_location("checks", path)
checks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(checks)
getattr(checks, asked)()
"""


def run(asked, **changes):
    """Call a function of this file under these bit counts; return exit status and errors."""
    tests = str(Path(__file__).parents[1])
    code = _CHANGED.format(changes=changes, path=__file__, tests=tests, asked=asked)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def everything_is_exact():
    pytest.MonkeyPatch().setattr("dpcore_lab.made_tables.sums.SHARE", 0.1)  # as in conftest.py
    margins_are_exact_in_every_layout()
    cached_margins_are_those_of_a_fresh_pass()
    sums_of_a_full_block_are_exact()
    sensitivities_hold()
    the_error_of_a_sum_of_gradients_is_bounded()


def tables(n=60):
    rng = np.random.default_rng(0)
    layout = CodedLayout(5, np.array([0, 4]), np.array([1, 2, 3, 5]), np.array([0, 4]))
    numeric = np.hstack([rng.random((n, 1)), np.ones((n, 1))])
    numeric = np.ldexp(np.trunc(np.ldexp(numeric, FEATURE_BITS)), -FEATURE_BITS)
    rows = CodedRows(layout, numeric.astype(np.float32), rng.integers(0, 4, (n, 1), np.uint8))
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    return [
        Table.from_matrix(X, y, row_norm=1.25, raw_norm_bound=1.75)
        for X in (rows, rows.tocsr(), rows.toarray())
    ]


def margins_are_exact_in_every_layout():
    blocks = [table.blocks[0] for table in tables()]
    for size in (1.0, 2.0**8, 2.0**11, 2.0**16):
        w = np.random.default_rng(1).normal(size=5) * size
        rounded = blocks[0]._path.rounded(w)
        expected = [
            naive.margin(row, factor, rounded)
            for row, factor in zip(blocks[0]._unfolded(), blocks[0].factor, strict=True)
        ]
        for block in blocks:
            assert np.array_equal(block.margins(w), expected)


def cached_margins_are_those_of_a_fresh_pass():
    rng = np.random.default_rng(2)
    w = rng.normal(size=5)
    direction = round_to(rng.normal(size=5), DIRECTION_BITS)
    for table, fresh in zip(tables(), tables(), strict=True):
        block = table.blocks[0]
        block.line(w, direction)
        start = block._path.rounded(w)
        moved = start - float(round_to(0.37, STEP_BITS)) * direction
        expected = fresh.blocks[0].margins(moved)
        assert block._moved_to(block._path.rounded(moved)) is not None
        assert block.margins(moved).tobytes() == expected.tobytes()


def sums_of_a_full_block_are_exact():
    clip = 0.999
    bits = coefficient_bits(clip, BLOCK_ROWS)
    X = np.full((BLOCK_ROWS, 1), 1 - 2.0**-FEATURE_BITS)
    block = Table.from_matrix(X, np.ones(len(X)), row_norm=1.0, raw_norm_bound=1.0).blocks[0]
    c = np.full(len(X), (np.trunc(clip * 2.0**bits) - 1) * 2.0**-bits)
    exact = len(X) * Fraction(c[0]) * Fraction(X[0, 0])
    assert Fraction(block.weighted_sum(c)[0]) == exact
    # One bit more would not be: the limit is where it belongs.
    if bits < 40 and FEATURE_BITS + bits + 1 + BLOCK_ROWS.bit_length() > 54:
        steps = int(exact * 2 ** (FEATURE_BITS + bits))
        assert steps.bit_length() in (52, 53)


def sensitivities_hold():
    w, v = np.array([1.0, -0.5, 0.25, 2.0, -1.0]), np.array([0.5, 0.5, -1.0, 0.25, 1.0])
    check_query(lambda problem: ClippedGradientSum(problem, w, 0.5))
    check_query(lambda problem: ClippedGradientSum(problem, w, 0.5, norm="l1"))
    check_query(lambda problem: ClippedLossLine(problem, w, v, np.arange(4) / 16, 1.0))
    check_query(lambda problem: ColumnMoments(problem, 0.75))
    check_query(lambda problem: RecordGradientSum(problem, w, 0.5, 20))
    check_query(lambda problem: GramMatrix(problem, 1.5))


def the_error_of_a_sum_of_gradients_is_bounded():
    relation = NeighboringRelation.REPLACE_ONE
    for table in tables():
        block, n = table.blocks[0], table.n_rows
        problem = Problem(Logistic(), 0.1, 5, 1.25, 1.75, relation, n=n)
        w = round_to(np.random.default_rng(3).normal(size=5), FINE_BITS)
        slopes = [
            naive.logistic_slope(naive.margin(row, factor, w), y) * factor
            for row, factor, y in zip(block._unfolded(), block.factor, block.y, strict=True)
        ]
        exact = naive.weighted_sum(block._unfolded(), list(map(Fraction, slopes)))
        for precise in (False, True):
            bits = gradient_bits(problem, n, 1.0)
            query = GradientSum(problem, w, bits, precise)
            away = np.ldexp(LocalEngine(table).answer(query).astype(float), -bits) - np.array(
                [float(value) for value in exact]
            )
            assert np.linalg.norm(away) <= gradient_error(problem, n, 1.0, precise)


@pytest.mark.slow
def test_with_the_bits_as_they_are():
    # The other queries' sensitivities have tests in their own rooms.
    margins_are_exact_in_every_layout()
    cached_margins_are_those_of_a_fresh_pass()
    sums_of_a_full_block_are_exact()
    check_query(lambda problem: RecordGradientSum(problem, np.ones(5), 0.5, 20))
    the_error_of_a_sum_of_gradients_is_bounded()


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"FEATURE_BITS": 12, "PARAMETER_BITS": 28, "BLOCK_ROWS": 1024},
        {"FEATURE_BITS": 18, "PARAMETER_BITS": 21, "DIRECTION_BITS": 9},
    ],
)
def test_with_other_bits_everything_is_exact(changes):
    status, said = run("everything_is_exact", **changes)
    assert status == 0, said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "asked"),
    [
        ({"PARAMETER_BITS": 28, "MARGIN_BITS": 13}, "margins_are_exact_in_every_layout"),
        ({"BLOCK_ROWS": 2**16, "BLOCK_SUM_BITS": 39}, "sums_of_a_full_block_are_exact"),
        ({"PARAMETER_BITS": 20, "STEP_BITS": 10}, "cached_margins_are_those_of_a_fresh_pass"),
    ],
)
def test_a_constant_written_by_hand_would_be_seen(changes, asked):
    # The broken twins: one of the values as it was, beside a bit count that changed.
    status, said = run(asked, **changes)
    assert status == 1 and "AssertionError" in said and asked in said, said


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"FEATURE_BITS": 30}, "fit float32"),
        ({"FEATURE_BITS": 20}, "a row's squares the 64-bit grid"),
        ({"PARAMETER_BITS": 37}, "No bits are left for margins"),
        ({"PARAMETER_BITS": 12}, "coarser than the parameters'"),
        ({"BLOCK_ROWS": 2**40}, "needs fewer rows"),
        ({"FEATURE_BITS": 0}, "at least one bit"),
    ],
)
def test_bits_that_do_not_fit_are_refused_with_a_sentence(changes, reason):
    text = Path(grid.__file__).read_text()
    for name, value in changes.items():
        text = re.sub(rf"^{name} = .*$", f"{name} = {value}", text, flags=re.M)
    with pytest.raises(ValueError, match=reason):
        exec(compile(text, grid.__file__, "exec"), {"__name__": "changed"})


def test_blocks_of_more_rows_than_sums_are_exact_for_are_refused(monkeypatch):
    # A store's file has 8,192 rows in a block, whatever the grid has.
    monkeypatch.setattr("dpcore.data.blocks.table.BLOCK_ROWS", 50)
    with pytest.raises(InvalidInputError, match="blocks of at most 50 rows"):
        tables(51)
