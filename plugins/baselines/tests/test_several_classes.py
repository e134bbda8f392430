"""Objective and output perturbation are for two classes: why, and that they say so."""

import numpy as np
import pytest

from dpcore import fit
from dpcore.errors import InvalidInputError
from dpcore.losses.logistic import Softmax
from dpcore.plugin import NeighboringRelation
from dpcore_baselines.perturbation.bounded import BoundedMinimizer
from dpcore_baselines.perturbation.perturbed import PerturbedMinimizer
from dpcore_lab.checks import make_rows
from dpcore_lab.made_tables.tables import make_problem

ADD = NeighboringRelation.ADD_OR_REMOVE_ONE


@pytest.mark.parametrize("make", [BoundedMinimizer, lambda p, r: PerturbedMinimizer(p, r, 1.0)])
def test_their_queries_refuse_losses_of_several_margins(make):
    problem = make_problem(make_rows(5, n_classes=4), ADD, Softmax())
    with pytest.raises(InvalidInputError, match="of one margin, and softmax has 4"):
        make(problem, 1.0)


@pytest.mark.parametrize("algo", ["objpert", "outpert"])
def test_a_fit_names_what_takes_several(algo):
    rows = make_rows(60, n_classes=3)
    with pytest.raises(InvalidInputError, match=f"{algo} is for two classes.*auto, dp-agd, dp-gd"):
        fit(rows.X, rows.y, algo=algo, epsilon=1.0, classes=(0.0, 1.0, 2.0), l2=0.1, seed=1)


@pytest.mark.parametrize("n_classes", [3, 10])
def test_one_row_of_softmax_exceeds_the_bound_of_a_determinant_of_rank_one(n_classes):
    # At equal margins: diag(p) - p p' has K - 1 eigenvalues of 1 / K.
    p = np.full(n_classes, 1 / n_classes)
    row_norm, regularisation = 1.5, 1.0
    hessian = row_norm**2 * (np.diag(p) - np.outer(p, p))
    ratio = np.linalg.det(np.eye(n_classes) + hessian / regularisation)
    bends = Softmax().smoothness * row_norm**2 / regularisation
    assert 1 + bends < ratio <= (1 + bends) ** (n_classes - 1)
