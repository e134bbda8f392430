"""Public facts of a problem, and the share of a sensitivity that rows take."""

from dataclasses import replace

import numpy as np
import pytest

from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import SeededNoise, Table, load_registry
from dpcore_lab.checks import RecordingSession
from dpcore_lab.made_tables.tables import make_problem

_ROW_NORM, _LONGEST = 1.5, 2.0


@pytest.fixture
def problem_of():
    """Return a function of a relation and a number of columns: the facts of a problem."""
    logistic = load_registry().load("loss", "logistic")()

    def problem(relation, width=5, capacity=2**10):
        norms = {"row_norm": _ROW_NORM, "raw_norm_bound": _LONGEST}
        return Problem(logistic, 0.0, width, relation=relation, capacity=capacity, **norms)

    return problem


@pytest.fixture(scope="session")
def record_run():
    """Return a function that runs an optimizer on rows: its session and solution."""
    registry = load_registry()

    def run(optimizer, rows, relation, epsilon=1.0, n0=400):
        problem = make_problem(rows, relation, registry.load("loss", "logistic")(), l2=0.0)
        problem = replace(problem, n0=n0)
        opened = registry.load("accountant", "gdp").from_budget(epsilon, 1e-6)
        noise = SeededNoise(3)
        session = RecordingSession(rows.table(), opened, relation, noise, problem=problem)
        return session, optimizer.minimize(problem, session)

    return run


def extreme_rows(width):
    """Return rows along the axes, with and without the last column, random ones, and zeros."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(40, width)) * 10.0 ** rng.uniform(-5, 1, (40, 1))
    axes = np.vstack([np.eye(width), -np.eye(width)])
    ends = np.eye(width) + np.eye(width)[-1]
    return _LONGEST * np.vstack([axes, ends, -ends[:1], rows, np.zeros((1, width))]) / 2


@pytest.fixture
def largest_share():
    """Return a function of a query and a relation: how much of the stated sensitivity a row takes,
    or the exchange of two rows, at most, of extreme rows."""

    def share(query, relation):
        rows = extreme_rows(query.problem.n_features)
        rows *= np.minimum(1, _LONGEST / np.maximum(np.linalg.norm(rows, axis=1), 1e-9))[:, None]
        X, y = np.vstack([rows, rows]), np.repeat([1.0, -1.0], len(rows))
        table = Table.from_matrix(X, y, raw_norm_bound=_LONGEST, row_norm=_ROW_NORM)
        [block] = table.blocks
        parts = np.array(
            [query.answer_block(block.take(np.array([i]))) for i in range(len(y))], dtype=float
        )
        stated = query.sensitivity(relation)
        lengths = np.linalg.norm(parts, axis=1)
        if relation is NeighboringRelation.REPLACE_ONE:
            lengths = np.linalg.norm(parts[:, None] - parts, axis=2)
        return lengths.max() / (stated.bound * 2.0**stated.grid_bits)

    return share
