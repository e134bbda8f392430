"""Honest parts in the free form, as their authors might write them: no check may blame one."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from leaks_at_sizes import BITS, ClassSums, Logistic, steps

from dpcore.errors import InvalidInputError
from dpcore.plugin import ClippedGradientSum, Laplace
from dpcore.plugin.parts import LocalEngine, PoissonSampledDpEvent, Sensitivity
from dpcore_accounting.samples import PoissonSample


def added(terms):
    """Return the sum over classes, one after the other: NumPy's own order goes by the shape."""
    total = np.zeros(terms.shape[1])
    for term in terms:
        total += term
    return total


@dataclass(frozen=True)
class SoftmaxInNumpy:
    """Softmax by NumPy's exponentials."""

    name = "softmax-in-numpy"
    classification = True
    multiclass = True
    convex = True
    lipschitz = 1.4142135623730951
    smoothness = 0.5

    def value(self, z, y, out):
        rows = np.arange(y.size)
        top = z.max(axis=0)
        out[:] = np.log(added(np.exp(z - top))) + (top - z[y.astype(int), rows])

    def dvalue(self, z, y, out):
        e = np.exp(z - z.max(axis=0))
        out[:] = e / added(e)
        out[y.astype(int), np.arange(y.size)] -= 1.0


@dataclass(frozen=True)
class LongestRow:
    """The largest squared norm of a row: between 0 and row_norm^2, whatever row comes or goes."""

    problem: object

    kind = "longest"

    def answer_table(self, table, noise):
        lengths = [np.square(block.rows()).sum(axis=1).max(initial=0.0) for block in table.blocks]
        return steps(np.array([max(lengths, default=0.0)]))

    def sensitivity(self, relation):
        return Sensitivity("l2", self.problem.row_norm**2 + 2.0**-BITS, relation, BITS)


class InPieces(Laplace):
    """Draws its noise in pieces of 4,096 deviates."""

    def release(self, exact, sensitivity, noise):
        flat, scale = exact.ravel(), self.scale(sensitivity)
        pieces = [noise.laplace(scale, len(flat[k : k + 4096])) for k in range(0, flat.size, 4096)]
        whole = (flat + np.concatenate(pieces)).reshape(exact.shape)
        return np.ldexp(whole.astype(float), -sensitivity.grid_bits)


class InPairs(LocalEngine):
    """Adds blocks up in pairs, and pairs in pairs, by a pool of its own where a query allows it."""

    def answer(self, query):
        blocks = self._table.blocks
        if vars(type(query)).get("thread_safe") is True:
            with ThreadPoolExecutor(3) as pool:
                parts = list(pool.map(query.answer_block, blocks))
        else:
            parts = [query.answer_block(block) for block in blocks]
        start = query.start()
        for part in parts:
            if getattr(part, "dtype", None) != np.int64 or part.shape != start.shape:
                raise TypeError("a part of another kind")
        while len(parts) > 1:
            pairs = [parts[k : k + 2] for k in range(0, len(parts), 2)]
            parts = [pair[0] + pair[1] if len(pair) == 2 else pair[0] for pair in pairs]
        return start + (parts[0] if parts else 0)


class SlopesInNumpy(Logistic):
    """Logistic slopes from NumPy's tanh."""

    convex = True
    classification = True

    def dvalue(self, z, y, out):
        e = np.exp(-np.abs(z))
        out[:] = np.where(y * z > 0, e, 1.0) / (1.0 + e) * -y


@dataclass(frozen=True)
class PseudoHuber:
    """The root of 1 and the square of a residual, minus 1: of numbers, smooth and Lipschitz."""

    name = "pseudo-huber"
    classification = False
    convex = True
    lipschitz = 1.0
    smoothness = 1.0

    def value(self, z, y, out):
        out[:] = (z - y) * ((z - y) / (1.0 + np.sqrt(1.0 + np.square(z - y))))

    def dvalue(self, z, y, out):
        out[:] = (z - y) / np.sqrt(1.0 + np.square(z - y))


def poisson(problem):
    return PoissonSample(ClippedGradientSum(problem, np.zeros(problem.w_shape), 1.0), 0.02)


@dataclass(frozen=True)
class OlderThanTheMiddle:
    """How many rows are in either half of the first of seven columns, those of its schema."""

    problem: object

    kind = "halves"

    def __post_init__(self):
        if self.problem.n_features != 7:
            raise InvalidInputError("Expected the seven columns of the schema.")

    def start(self):
        return np.zeros(2, np.int64)

    def answer_block(self, block):
        is_older = block.rows()[:, 0] > 0.5
        return np.array([is_older.sum(), (~is_older).sum()], np.int64)

    def sensitivity(self, relation):
        return Sensitivity("l1", float(relation.rows_changed), relation, 0)


QUERIES = (ClassSums, LongestRow, OlderThanTheMiddle)


class CoinsOfBlocks:
    """A Poisson sample by a class of the problem, with coins block by block."""

    kind = "gradient"
    probability = 2.0**-5

    def __init__(self, problem):
        self.query = ClippedGradientSum(problem, np.zeros(problem.w_shape), clip=1.0)

    def sensitivity(self, relation):
        return self.query.sensitivity(relation)

    def sampled_event(self, event, relation):
        return PoissonSampledDpEvent(self.probability, event, relation)

    def answer_table(self, table, noise):
        total = self.query.start()
        for block in table.blocks:
            joined = np.flatnonzero(noise.coins(block.n_rows, 2**59))
            total = total + self.query.answer_block(block.take(joined))
        return total
