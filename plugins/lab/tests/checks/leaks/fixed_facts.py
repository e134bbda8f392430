"""Queries whose sensitivity holds for usual public facts alone: five features, unit slopes, signs
as labels, one bound of the norm."""

from dataclasses import dataclass

import numpy as np

from dpcore.plugin.parts import Sensitivity

BITS = 16


def steps(values):
    return np.trunc(np.ldexp(values, BITS)).astype(np.int64)


@dataclass(frozen=True)
class SignedSum:
    """The sum of the rows, each with its label's sign: within ``row_norm``."""

    problem: object

    kind = "signed-sum"
    norm = "l2"

    @property
    def bound(self):
        return self.problem.row_norm

    def start(self):
        return np.zeros(self.problem.n_features, dtype=np.int64)

    def answer_block(self, block):
        return steps(block.rows() * np.sign(block.y)[:, None]).sum(axis=0)

    def sensitivity(self, relation):
        return Sensitivity(self.norm, self.bound * relation.rows_changed, relation, BITS)


class ForgetsLipschitz(SignedSum):
    """The gradient at zero, of slopes that are taken to be within 1."""

    def answer_block(self, block):
        c = np.empty(block.n_rows)
        self.problem.loss.dvalue(np.zeros(block.n_rows), block.y.copy(), c)
        return steps(block.rows() * c[:, None]).sum(axis=0)


class SquaredNorm(SignedSum):
    @property
    def bound(self):
        return self.problem.row_norm**2


class LiteralNorm(SignedSum):
    bound = 1.5


class RootOfFive(SignedSum):
    """The l1 norm of five features."""

    norm = "l1"

    @property
    def bound(self):
        return 2.25 * self.problem.row_norm


class CountsSmallLabels(SignedSum):
    """A row counts three times where its label is no whole number."""

    bound = 1.0

    def start(self):
        return np.zeros(1, dtype=np.int64)

    def answer_block(self, block):
        return np.array([steps(np.where(block.y % 1, 3.0, 1.0)).sum()])


class SpecialHalf(SignedSum):
    """Half the bound, where a row is swapped for one that contributes nothing."""

    def sensitivity(self, relation):
        share = 0.5 if relation.value == "replace-special" else 1.0
        bound = share * self.bound * relation.rows_changed
        return Sensitivity(self.norm, bound, relation, BITS)


class SparseTwice(SignedSum):
    """Counts sparse rows twice."""

    def answer_block(self, block):
        sparse = "Sparse" in type(block).__name__ or "CSR" in type(block).__name__.upper()
        return super().answer_block(block) * (2 if sparse else 1)
