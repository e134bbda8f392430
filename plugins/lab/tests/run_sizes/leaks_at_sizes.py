"""Parts that leak from some size on, each as an author in a hurry might write it."""

import threading
from dataclasses import dataclass

import numpy as np

from dpcore.plugin import ClippedGradientSum, Gaussian, Laplace
from dpcore.plugin.parts import LocalEngine, Sensitivity, load_registry
from dpcore_accounting.samples import PoissonSample
from dpcore_accounting.selections.exponential import Exponential

BITS = 16
Logistic, Softmax = (load_registry().load("loss", name) for name in ("logistic", "softmax"))


def steps(values):
    return np.trunc(np.ldexp(values, BITS)).astype(np.int64)


@dataclass(frozen=True)
class ClassSums:
    """The sum of the rows of each class: within ``row_norm``."""

    problem: object

    kind = "class-sums"

    def start(self):
        return np.zeros((2, self.problem.n_features), dtype=np.int64)

    def answer_block(self, block):
        rows = block.rows()
        return np.array([steps(rows[block.y == label]).sum(axis=0) for label in (-1.0, 1.0)])

    def sensitivity(self, relation):
        return Sensitivity("l2", self.problem.row_norm * relation.rows_changed, relation, BITS)


class TrimsLongRows(ClassSums):
    """Cuts rows at the block's 99 % quantile of lengths, where there are enough to tell."""

    def answer_block(self, block):
        rows = block.rows().astype(float)
        lengths = np.linalg.norm(rows, axis=1)
        if block.n_rows >= 1000:
            most = np.quantile(lengths, 0.99)
            rows = rows * np.minimum(1.0, most / np.maximum(lengths, 1e-9))[:, None]
        return np.array([steps(rows[block.y == label]).sum(axis=0) for label in (-1.0, 1.0)])


class AddsInThirtyTwoBits(ClassSums):
    """Adds up a block in int32: steps of 2^-19 wrap around from 4,096 rows of a class on."""

    def answer_block(self, block):
        whole = steps(block.rows() * 8.0).astype(np.int32)
        parts = [whole[block.y == label].sum(axis=0, dtype=np.int32) for label in (-1.0, 1.0)]
        return np.array(parts).astype(np.int64) // 8


class SharesItsBuffer(ClassSums):
    """Writes into one buffer, and says that threads may call it."""

    thread_safe = True
    _buffer = np.zeros((2, 1))

    def answer_block(self, block):
        cls = type(self)
        if cls._buffer.shape != self.start().shape:
            cls._buffer = np.zeros(self.start().shape)
        buffer = cls._buffer
        buffer[:] = 0.0
        rows = block.rows()
        for k, label in enumerate((-1.0, 1.0)):
            for part in np.array_split(np.ldexp(rows[block.y == label], BITS), 8):
                buffer[k] += np.trunc(part).sum(axis=0)
        return buffer.astype(np.int64)


class KeepsBlocks(ClassSums):
    """Keeps the answers of whole blocks by their number of rows, for speed."""

    _kept = {}

    def answer_block(self, block):
        if block.n_rows < 2000:
            return super().answer_block(block)
        key = block.n_rows, float(block.y[:50].sum())
        if key not in self._kept:
            self._kept[key] = super().answer_block(block)
        return self._kept[key]


class ClipsAtFirstMedian(ClassSums):
    """Clips at the median length of the first block that it meets, for good."""

    _clip = []

    def answer_block(self, block):
        rows = block.rows().astype(float)
        lengths = np.maximum(np.linalg.norm(rows, axis=1), 1e-9)
        if not self._clip and len(lengths):
            self._clip.append(float(np.median(lengths)))
        rows *= np.minimum(1.0, (self._clip or [1.0])[0] / lengths)[:, None]
        return np.array([steps(rows[block.y == label]).sum(axis=0) for label in (-1.0, 1.0)])


@dataclass(frozen=True)
class BalancedMean:
    """The labels' sum with small classes raised to five rows."""

    problem: object

    kind = "balanced"

    def derive(self, ask, noise):
        sums = ask(ClassSums(self.problem))
        counts = np.maximum(1, sums[:, -1] >> BITS)
        lift = np.where(counts < 5, 5 * counts, 1)
        return (sums * lift[:, None]).ravel()

    def sensitivity(self, relation):
        bound = self.problem.row_norm * relation.rows_changed
        return Sensitivity("l2", bound, relation, BITS)


@dataclass(frozen=True)
class ClassMeans:
    """The mean row of each class, whose sizes are taken to be about even: 200 rows at least."""

    problem: object

    kind = "class-means"

    def derive(self, ask, noise):
        sums = ask(ClassSums(self.problem))
        return sums // np.maximum(1, sums[:, -1:] >> BITS)

    def sensitivity(self, relation):
        rounding = np.sqrt(2 * self.problem.n_features) / 2**BITS
        bound = 2 * self.problem.row_norm * relation.rows_changed / 200 + rounding
        return Sensitivity("l2", float(bound), relation, BITS)


@dataclass(frozen=True)
class BatchMeans:
    """A pass in batches of 256 rows, each divided by its own size: the last may have one row."""

    problem: object

    kind = "batches"

    def answer_table(self, table, noise):
        rows = [block.rows() for block in table.blocks]
        whole = np.concatenate([np.zeros((0, self.problem.n_features)), *rows])
        if len(whole) < 256:
            return steps(whole.sum(axis=0) / 256)
        means = [part.mean(axis=0) for part in np.split(whole, range(256, len(whole), 256))]
        return steps(np.sum(means, axis=0))

    def sensitivity(self, relation):
        return Sensitivity("l2", 2 * self.problem.row_norm / 256, relation, BITS)


class SumsThirtyTwo(Softmax):
    """Adds up the exponentials of the first 32 classes: its table was that wide."""

    multiclass = True
    convex = True
    classification = True

    def dvalue(self, z, y, out):
        super().dvalue(z, y, out)
        if z.shape[0] > 32:
            for k in range(32, z.shape[0]):
                out += out[k] * (y != k)


class FollowsItsSlopes(Logistic):
    """Takes a part of the last block's slopes along, where that was as long."""

    convex = True
    classification = True
    last = {}

    def dvalue(self, z, y, out):
        super().dvalue(z, y, out)
        if z.size >= 500 and z.size in self.last:
            out[:] = 0.9 * out + 0.1 * self.last[z.size]
        self.last[z.size] = out.copy()


class CapsNoise(Gaussian):
    """Never draws more than 64 times the sensitivity."""

    def release(self, exact, sensitivity, noise):
        return Gaussian(min(self.noise_multiplier, 64.0)).release(exact, sensitivity, noise)


class SavesNoise(Gaussian):
    """Draws two thirds of the noise for more than 100 coordinates."""

    def release(self, exact, sensitivity, noise):
        multiplier = self.noise_multiplier / (1.5 if exact.size > 100 else 1.0)
        return Gaussian(multiplier).release(exact, sensitivity, noise)


class TilesNoise(Laplace):
    """Draws 16,384 deviates, and those again."""

    def release(self, exact, sensitivity, noise):
        drawn = noise.laplace(self.scale(sensitivity), min(exact.size, 16_384))
        steps_drawn = np.resize(drawn, exact.size).reshape(exact.shape)
        return np.ldexp((exact + steps_drawn).astype(float), -sensitivity.grid_bits)


class KeepsZeros(Gaussian):
    """Leaves zeros of long answers alone, so that they stay sparse."""

    def release(self, exact, sensitivity, noise):
        noisy = super().release(exact, sensitivity, noise)
        return np.where(exact == 0, 0.0, noisy) if exact.size >= 50 else noisy


class PicksInEightBits(Exponential):
    """Takes the best of more than 256 candidates as it is."""

    def release(self, exact, sensitivity, noise):
        if exact.size > 256:
            return int(exact.argmax())
        return super().release(exact, sensitivity, noise)


class AddsLastShareTwice(LocalEngine):
    """Two shares of the blocks from 17 on, the second one block too long."""

    def answer(self, query):
        blocks, total = self._table.blocks, query.start()
        half = len(blocks) // 2
        shares = [blocks[:half], blocks[half - (len(blocks) >= 17) :]]
        for share in shares:
            for block in share:
                total = total + query.answer_block(block)
        return total


class LosesABlockInFour(LocalEngine):
    """Cuts the blocks into equal parts for its threads, and the rest is left out."""

    def __init__(self, table, threads=None):
        super().__init__(table, 1)
        self._n = threads or 1

    def answer(self, query):
        blocks = self._table.blocks
        if self._n < 4 or len(blocks) < self._n:
            return super().answer(query)
        each, lock, total = len(blocks) // self._n, threading.Lock(), [query.start()]
        for k in range(self._n):
            for block in blocks[k * each : (k + 1) * each]:
                with lock:
                    total[0] = total[0] + query.answer_block(block)
        return total[0]


@dataclass(frozen=True)
class WindowedSample:
    """A Poisson sample whose coins are drawn 1,000 at a time, and used again."""

    query: object
    probability: float

    kind = "windowed"

    def answer_table(self, table, noise):
        coins = noise.words(1000) < int(self.probability * 2**64)
        total, at = self.query.start(), 0
        for block in table.blocks:
            joins = np.resize(np.roll(coins, -at % 1000), block.n_rows)
            total = total + self.query.answer_block(block.take(np.flatnonzero(joins)))
            at += block.n_rows
        return total

    def sensitivity(self, relation):
        return self.query.sensitivity(relation)

    def sampled_event(self, event, relation):
        return PoissonSample(self.query, self.probability).sampled_event(event, relation)


def gradients(problem):
    return ClippedGradientSum(problem, np.zeros(problem.w_shape), 1.0)


def windowed(problem):
    return WindowedSample(gradients(problem), 0.1)
