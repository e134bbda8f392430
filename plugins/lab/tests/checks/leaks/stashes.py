"""Exact answers kept outside the session: in a global, a class, a closure, a file, the details."""

import dataclasses
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from honest import Honest

from dpcore.plugin import ClippedGradientSum, Gaussian, NeighboringRelation, Solution
from dpcore.plugin.parts import PureDpEvent

KEPT = []


@dataclass(frozen=True)
class KeepsInGlobal(Gaussian):
    """Keeps the exact answer in a global of its module."""

    def release(self, exact, sensitivity, noise):
        KEPT[:] = [exact.copy()]
        return super().release(exact, sensitivity, noise)


@dataclass(frozen=True)
class KeepsFirstInGlobal(Gaussian):
    """Keeps the first exact answer alone: none of a later run is."""

    def release(self, exact, sensitivity, noise):
        if not KEPT:
            KEPT.append(exact.copy())
        return super().release(exact, sensitivity, noise)


@dataclass(frozen=True)
class KeepsInClass(Gaussian):
    """Keeps its noise as an attribute of the class: the answer less the noise is exact."""

    last = None

    def release(self, exact, sensitivity, noise):
        value = super().release(exact, sensitivity, noise)
        type(self).last = value - np.ldexp(exact.astype(float), -sensitivity.grid_bits)
        return value


class Brings(Honest):
    """Brings a mechanism, and adds to the coefficients what that kept."""

    mechanism = Gaussian

    def step(self, problem, session, w, multiplier, n):
        query = self.query(problem, w, multiplier)
        gradient = session.release(query, self.mechanism(multiplier))
        return w - self.rate * (gradient / n + problem.l2 * w)

    def minimize(self, problem, session):
        solution = super().minimize(problem, session)
        return Solution(solution.w + 1e-9 * self.kept(), "Done.")

    def kept(self):
        return KEPT[0][:5].astype(float) if KEPT else 0.0


class BringsGlobal(Brings):
    mechanism = KeepsInGlobal


class BringsFirstGlobal(Brings):
    mechanism = KeepsFirstInGlobal


class BringsClass(Brings):
    mechanism = KeepsInClass

    def kept(self):
        return 0.0 if KeepsInClass.last is None else KeepsInClass.last


class BringsClosure(Brings):
    """Its mechanism's release is a closure over a list."""

    def minimize(self, problem, session):
        kept = []

        @dataclass(frozen=True)
        class Closure(Gaussian):
            def release(self, exact, sensitivity, noise):
                kept[:] = [exact[:5].astype(float)]
                return super().release(exact, sensitivity, noise)

        object.__setattr__(self, "mechanism", Closure)
        object.__setattr__(self, "kept", lambda: kept[0] if kept else 0.0)
        return super().minimize(problem, session)


class WritesFile(ClippedGradientSum):
    """Writes each block's exact answer to a file."""

    def answer_block(self, block):
        part = super().answer_block(block)
        part.tofile("answers.bin")
        return part


class AsksWriter(Honest):
    """Brings a query that writes a file."""

    def query(self, problem, w, multiplier):
        return WritesFile(problem, w, self.clip, noise_multiplier=multiplier)


class SwallowsRefusal(WritesFile):
    """Does not mind that the file cannot be written."""

    def answer_block(self, block):
        try:
            return super().answer_block(block)
        except OSError:
            return ClippedGradientSum.answer_block(self, block)


class TellsInLongArray(Honest):
    """Puts the exact number of rows in the middle of an array, where ``repr`` shows ones."""

    def minimize(self, problem, session):
        solution = super().minimize(problem, session)
        values = 1.0 + np.zeros(499)
        values[250] += session._engine._table.n_rows * 2.0**-50
        return dataclasses.replace(solution, details={"values": values})


@dataclass(frozen=True)
class KeepsReference:
    """An interactive mechanism that keeps the exact answer that it starts from."""

    base: object
    reference: object = None
    kind = "reference"

    @property
    def question(self):
        return self.base.sensitivity(NeighboringRelation.REPLACE_ONE)

    def event(self, sensitivity, reference):
        return PureDpEvent(0.1)

    def begin(self, exact, sensitivity, reference, noise):
        KEPT[:] = [exact.copy()]
        return Said()


class Said:
    """The state of a mechanism that says 1 and halts."""

    first, halted, epsilon = 1.0, True, Fraction(1, 10)

    def reply(self, exact):
        raise AssertionError("It has halted.")


class StartsKeeping(Brings):
    """Starts an interactive mechanism that keeps its answer."""

    relations = ("replace-one",)

    def minimize(self, problem, session):
        session.start(KeepsReference(ClippedGradientSum(problem, np.zeros(5), 1.0)))
        return super().minimize(problem, session)
