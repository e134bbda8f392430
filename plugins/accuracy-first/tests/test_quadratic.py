"""The squared-loss objective: what follows from the Gram matrix, with its sensitivity."""

import numpy as np
import pytest

from dpcore.losses.squared import Squared
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import LocalEngine
from dpcore_accuracy_first.objectives.public_ball import PublicBall
from dpcore_accuracy_first.objectives.quadratic import MinimumQuadratic, QuadraticObjective
from dpcore_accuracy_first.queries.gram import GramMatrix
from dpcore_lab.checks import make_rows
from dpcore_lab.made_tables.tables import make_problem, neighbours
from dpcore_lab.replay.replay import assert_within

REPLACE = NeighboringRelation.REPLACE_ONE


def answer(query, rows):
    return query.derive(LocalEngine(rows.table()).answer, None)


def least_objective(X, y, l2):
    """Return the least sum of squared losses and regularisation, by the normal equations."""
    mu = len(y) * l2
    w = np.linalg.solve(X.T @ X + mu * np.eye(X.shape[1]), X.T @ y)
    return 0.5 * ((X @ w - y) ** 2).sum() + mu / 2 * w @ w


def test_the_quadratic_objective_follows_from_the_sums():
    rows = make_rows(150, seed=9)
    problem = make_problem(rows, REPLACE, Squared(), l2=0.05)
    ball, gram = PublicBall.of(problem), GramMatrix(problem)
    w = np.array([0.1, -0.2, 0.3, 0.0, 0.1])
    least, question = (
        MinimumQuadratic(gram, problem, ball),
        QuadraticObjective(gram, problem, ball, w),
    )
    gap = int((answer(question, rows) - answer(least, rows))[0]) * 2.0**-question.bits
    norms = np.linalg.norm(rows.X, axis=1, keepdims=True)
    X = rows.X * np.minimum(1.0, 1.5 / norms)
    value = 0.5 * ((X @ w - rows.y) ** 2).sum() + 150 * 0.05 / 2 * w @ w
    assert gap == pytest.approx(value - least_objective(X, rows.y, 0.05), abs=0.02)
    for query in (least, question):
        exact, sensitivity = answer(query, rows), query.sensitivity(REPLACE)
        for other in neighbours(rows, REPLACE, seed=4):
            assert_within(exact, answer(query, other), sensitivity, "objective")
