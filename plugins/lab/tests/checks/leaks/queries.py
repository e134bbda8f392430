"""Queries whose sensitivity is too small, where a random table does not show it."""

import math
from dataclasses import dataclass

import numpy as np
from honest import Honest

from dpcore.plugin import ClippedGradientSum, Gaussian
from dpcore.plugin.parts import Sensitivity
from dpcore_accuracy_first.queries.gram import GramMatrix, unpack


@dataclass(frozen=True)
class Eigenvalue:
    """An eigenvalue of X^T X, the largest first: a row of norm R moves it by R^2 at most (Weyl),
    under replace-one too, since eigenvalues rise with every row."""

    problem: object
    place: int = 0
    share: float = 1.0

    kind = "eigenvalue"
    grid_bits = 20

    def derive(self, ask, noise):
        gram = GramMatrix(self.problem)
        matrix, _ = unpack(ask(gram), self.problem.n_features)
        values = np.linalg.eigvalsh(np.ldexp(matrix, -2 * gram.bits))[::-1]
        return np.array([math.floor(math.ldexp(values[self.place], self.grid_bits))], np.int64)

    def sensitivity(self, relation):
        bound = self.share * self.problem.row_norm**2 + 2.0**-self.grid_bits
        return Sensitivity("l2", bound, relation, self.grid_bits)


class CountsAHundredTimes(ClippedGradientSum):
    """A row with x_0 = 1/8 counts a hundred times."""

    def answer_block(self, block):
        special = np.flatnonzero(block.rows()[:, 0] == 0.125)
        return super().answer_block(block) + 99 * super().answer_block(block.take(special))


@dataclass(frozen=True)
class MeanOfTable:
    """The mean label: under add-or-remove-one a small table moves it far."""

    problem: object

    kind = "mean"

    def answer_table(self, table, noise):
        y = np.concatenate([block.y for block in table.blocks]) if table.blocks else np.zeros(0)
        return np.array([math.floor(2**20 * y.sum() / max(1, y.size))], dtype=np.int64)

    def sensitivity(self, relation):
        return Sensitivity("l2", 0.5, relation, 20)


class LongerOnSomeRows(ClippedGradientSum):
    """Its answer has another shape than it declares where a row is empty."""

    def answer_block(self, block):
        part = super().answer_block(block)
        return np.append(part, 0) if (block.rows() == 0).all() else part


@dataclass(frozen=True, kw_only=True)
class AsksEigenvalue(Honest):
    """Counts on an eigenvalue for its step, with a share of the bound that holds."""

    share: float = 0.5

    def minimize(self, problem, session):
        session.release(Eigenvalue(problem, 2, self.share), Gaussian(1000.0))
        return super().minimize(problem, session)
