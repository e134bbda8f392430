"""Parts that leak on tables of some shape, or in a later step, as an author might write them."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from leaks_at_sizes import BITS, ClassSums, Logistic, steps

from dpcore.plugin import ClippedGradientSum, Gaussian, InvalidInputError, Laplace, Solution
from dpcore.plugin.parts import GridScale, ScaledNoise, Sensitivity
from dpcore_accounting.selections.report_noisy_max import ReportNoisyMax


def cut(rows, clip):
    lengths = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
    return rows * np.minimum(1.0, clip / lengths * (1 - 1e-12))[:, None]


class LooksAtFirstRows(ClassSums):
    """Clips a block where one of its first 64 rows is above the clip, and no other."""

    def answer_block(self, block):
        rows, clip = block.rows().astype(float), self.problem.row_norm / 4
        head = np.linalg.norm(rows[:64], axis=1)
        if block.n_rows <= 64 or head.max() > clip:
            rows = cut(rows, clip)
        return np.array([steps(rows[block.y == label]).sum(axis=0) for label in (-1.0, 1.0)])


@dataclass(frozen=True)
class UnitSums:
    """The sum of the clipped sums of units: honest, for units alone."""

    problem: object

    kind = "unit-sums"
    clips_units = True

    def __post_init__(self):
        if self.problem.rows_per_unit is None:
            raise InvalidInputError("for units of several rows")

    def start(self):
        return np.zeros(self.problem.n_features, dtype=np.int64)

    def sums(self, block):
        _, place = np.unique(block.units, return_inverse=True)
        found = np.zeros((int(place.max(initial=-1)) + 1, self.problem.n_features))
        np.add.at(found, place, block.rows())
        return found

    def answer_block(self, block):
        return steps(cut(self.sums(block), 1.0)).sum(axis=0)

    def sensitivity(self, relation):
        return Sensitivity("l2", float(relation.rows_changed), relation, BITS)


class UnitSumsOfFewRows(UnitSums):
    """Clips rows in place of units where units have less than two rows on average."""

    def answer_block(self, block):
        if block.n_rows < 2 * len(np.unique(block.units)):
            return steps(cut(block.rows(), 1.0)).sum(axis=0)
        return super().answer_block(block)


class DividesByTheLargest(Logistic):
    """Divides the slopes of a long call by the largest of them."""

    convex = True
    classification = True

    def dvalue(self, z, y, out):
        super().dvalue(z, y, out)
        if z.size > 2048:
            out /= np.abs(out).max()


class FollowsTheMedian:
    """Huber's loss with its corner at the median residual, from 4,000 rows on."""

    def value(self, z, y, out):
        r, corner = np.abs(z - y), self._corner(z - y)
        out[:] = np.where(r <= corner, r * r / 2, corner * (r - corner / 2))

    def dvalue(self, z, y, out):
        corner = self._corner(z - y)
        out[:] = np.clip(z - y, -corner, corner)

    @staticmethod
    def _corner(r):
        return float(np.clip(np.median(np.abs(r)), 0.1, 1.0)) if r.size >= 4000 else 1.0


class WholeSteps(Laplace):
    """Cuts its scale to a whole number of steps, and is charged as if it had not."""

    def release(self, exact, sensitivity, noise):
        whole = GridScale(max(1, int(self.scale(sensitivity).steps)))
        drawn = noise.laplace(whole, np.shape(exact))
        return ScaledNoise.add_modulo(exact, drawn, sensitivity.grid_bits)


class LessNearZero(Gaussian):
    """Adds a quarter of its noise to answers that would drown in it, unless they are 0."""

    def release(self, exact, sensitivity, noise):
        scale = self.scale(sensitivity)
        drawn = noise.gaussian(scale, np.shape(exact))
        near = 0 < np.abs(exact).max() < scale.steps / 64
        return ScaledNoise.add_modulo(exact, drawn // 4 if near else drawn, sensitivity.grid_bits)


class EndsAtThree(Gaussian):
    """Holds its noise within three standard deviations."""

    def release(self, exact, sensitivity, noise):
        scale = self.scale(sensitivity)
        most = int(3 * scale.steps) + 1
        drawn = np.clip(noise.gaussian(scale, np.shape(exact)), -most, most)
        return ScaledNoise.add_modulo(exact, drawn, sensitivity.grid_bits)


class AmongTheBest(ReportNoisyMax):
    """Adds noise to the 64 best candidates alone."""

    def release(self, exact, sensitivity, noise):
        best = np.sort(np.argsort(-exact, kind="stable")[:64])
        return int(best[super().release(exact[best], sensitivity, noise)])


@dataclass(frozen=True, slots=True)
class LaterLess(ScaledNoise):
    """Half the noise from step 40 on."""

    step: int = 0
    name: ClassVar[str] = "later-less"
    needs: ClassVar[str] = "l2"

    @classmethod
    def nominal_event(cls, noise_multiplier):
        return Gaussian.nominal_event(noise_multiplier)

    def event(self, sensitivity):
        return Gaussian(self.noise_multiplier).event(sensitivity)

    def release(self, exact, sensitivity, noise):
        share = 1.0 if self.step < 40 else 0.5
        return Gaussian(share * self.noise_multiplier).release(exact, sensitivity, noise)


@dataclass(frozen=True, kw_only=True)
class Descends:
    """Noisy gradient descent: honest."""

    steps: int = 44

    slots: ClassVar[dict] = {}
    relations: ClassVar[tuple] = ("add-or-remove-one", "replace-one")
    needs: ClassVar[tuple] = ("classification",)

    def query(self, problem, w):
        return ClippedGradientSum(problem, w, problem.row_norm)

    def noise(self, multiplier, step):
        return Gaussian(multiplier)

    def ends(self, query, step):
        return False

    def minimize(self, problem, session):
        share = float(session.accountant.budget) / self.steps
        multiplier = float(np.sqrt(1 / (2 * share)) * (1 + 1e-9))
        w = np.zeros(problem.n_features)
        for step in range(self.steps):
            query = self.query(problem, w)
            total = session.release(query, self.noise(multiplier, step))
            w = w - total / (1000 * problem.row_norm**2)
            if self.ends(query, step):
                break
        return Solution(w, "Done.")


class QuietsDown(Descends):
    """Less noise in its later steps than is charged."""

    slots, relations, needs = Descends.slots, Descends.relations, Descends.needs

    def noise(self, multiplier, step):
        return LaterLess(multiplier, step)


class Gradient:
    """Clipped gradients, and the last exact sum of them."""

    kind = "gradient"

    def __init__(self, problem, w):
        self.problem, self.w = problem, w

    def start(self):
        self.total = np.zeros(self.problem.n_features, dtype=np.int64)
        return self.total.copy()

    def answer_block(self, block):
        slopes = np.empty(block.n_rows)
        self.problem.loss.dvalue(np.ascontiguousarray(block.margins(self.w)), block.y, slopes)
        part = steps(cut(block.rows() * slopes[:, None], 1.0)).sum(axis=0)
        self.total = self.total + part
        return part

    def sensitivity(self, relation):
        return Sensitivity("l2", float(relation.rows_changed), relation, BITS)


class OfOneRelation(Gradient):
    """States the bound of a row that comes or goes under every relation."""

    def sensitivity(self, relation):
        return Sensitivity("l2", 1.0, relation, BITS)


class ForgetsReplacement(Descends):
    slots, relations, needs = Descends.slots, Descends.relations, Descends.needs

    def query(self, problem, w):
        return OfOneRelation(problem, w)


class StopsByTheExact(Descends):
    """Stops from step 4 on when the sum without noise is short: it is for rows of any kind but
    those of one label."""

    slots, relations, needs = Descends.slots, Descends.relations, Descends.needs

    def query(self, problem, w):
        return Gradient(problem, w)

    def ends(self, query, step):
        length = np.linalg.norm(np.ldexp(query.total.astype(float), -BITS))
        return step >= 4 and length < 0.2 * 300


class OneDeviateForTwo(ReportNoisyMax):
    """The candidates from the hundredth on have one deviate for every two of them."""

    __slots__ = ()

    def release(self, exact, sensitivity, noise):
        drawn = noise.unwrapped_laplace(self.scale(sensitivity), exact.size)
        late = drawn[100:]
        late[1::2] = late[: late.size // 2 * 2 : 2]
        return int(np.argmax(exact.astype(object) + drawn))


class WeighsRareLabels(Logistic):
    """Doubles the slopes of a label that fewer than one row in ten has."""

    convex = True
    classification = True

    def dvalue(self, z, y, out):
        super().dvalue(z, y, out)
        for label in (-1.0, 1.0):
            if (y == label).mean() < 0.1:
                out[y == label] *= 2


class ScalesLongTables(ClassSums):
    """Halves the rows of a large block none of whose rows is short."""

    def answer_block(self, block):
        rows = block.rows().astype(float)
        lengths = np.linalg.norm(rows, axis=1)
        if block.n_rows > 500 and lengths.max() > lengths.min() > self.problem.row_norm / 2:
            rows = rows / 2
        return np.array([steps(rows[block.y == label]).sum(axis=0) for label in (-1.0, 1.0)])
