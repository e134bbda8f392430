"""A pass of SGD over the rows in a secret order, as one question to the session."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.plugin import InvalidInputError, NeighboringRelation, ordered_norm
from dpcore.plugin.parts import Sensitivity, Table, constant, sealed
from dpcore_rsgd_ar.closed_forms import CLOSED_FORMS
from dpcore_rsgd_ar.kernels import bound_coefficients
from dpcore_rsgd_ar.ordered_rows import order_rows, rotate_rows
from dpcore_rsgd_ar.schedule import Facts, Schedule
from dpcore_rsgd_ar.sensitivity import batch_sensitivities

if TYPE_CHECKING:
    from dpcore.plugin import Problem
    from dpcore.plugin.parts import NoiseSource, Table
    from dpcore_rsgd_ar.ordered_rows import OrderedRows

__all__ = ["SgdPass", "run_pass"]

_RECURRENCE = "lemma-2"
_VALUE_BITS = 62


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class SgdPass:
    """The last iterate, or average, of mini-batch SGD on the rows in a secret uniform order.

    Sensitivity under replace-one: Chen, Lee & Kifer 2019, Proposition 3: given the order, the row
    that differs is in one batch, and the iterates are at most that batch's bound apart
    (``dpcore_rsgd_ar.sensitivity``, rounding of the pass and of the result included). The order
    is drawn once, never released and independent of the rows: a uniform permutation, or the stored
    order begun at a uniform place. Either way every row is in batch j with probability
    ``|B_j| / n`` exactly, which is all that Lemma 3 asks. The random choice may be left aside: then
    the largest bound is the sensitivity, whatever the order (Algorithm 1).

    Every number that the claim rests on is derived here, from the problem and its loss
    (``facts``): whoever builds a pass chooses among proven bounds and states none.

    Parameters
    ----------
    problem : the public facts; its loss, which has to be convex, runs on raw rows.
    schedule : batches, steps and averages, of the ``problem.n`` rows.
    grid_bits : the result is rounded to multiples of ``2**-grid_bits``.
    clip, row_bound : slopes and rows are held to these where they are smaller than what the problem
        allows (``Facts.of``).
    randomized : whether the sensitivity is that of a random batch or of the worst one.
    rule : ``"lemma-2"``, the recurrence, or the name of a closed form of the same schedule
        (``dpcore_rsgd_ar.closed_forms``), to which what rounding adds is added.
    norm : ``"l2"`` or ``"l1"``, in which the sensitivity is stated: ``||v||_1 <= sqrt(d) ||v||_2``.

    Raises InvalidInputError for a problem, schedule or rule that the theorems do not cover.
    """

    problem: Problem
    schedule: Schedule
    grid_bits: int
    clip: float | None = None
    row_bound: float | None = None
    randomized: bool = True
    rule: str = _RECURRENCE
    norm: str = "l2"
    facts: Facts = field(init=False)
    deltas: np.ndarray = field(init=False)
    reach: float = field(init=False)

    kind: ClassVar[str] = "model"
    whole_table: ClassVar[str] = (
        "visits all rows in one secret order, of which every row is in batch j with probability "
        "|B_j| / n (Chen, Lee & Kifer 2019, Lemma 3 and Proposition 3), as no order within each "
        "partition of a cluster makes it"
    )

    def __post_init__(self) -> None:
        if self.schedule.n != self.problem.n:
            raise InvalidInputError("The schedule was made for a table of other rows or features.")
        facts = Facts.of(self.problem, self.clip, self.row_bound)
        known = (self.schedule, facts, self.grid_bits)
        deltas, reach = batch_sensitivities(*known)
        if self.rule != _RECURRENCE:
            deltas = np.nextafter(rounding_alone(*known) + self._closed_form(facts), np.inf)
        object.__setattr__(self, "facts", facts)
        object.__setattr__(self, "deltas", constant(deltas))
        object.__setattr__(self, "reach", reach)

    def _closed_form(self, facts: Facts) -> float:
        if self.rule not in CLOSED_FORMS:
            known = " or ".join((_RECURRENCE, *CLOSED_FORMS))
            raise InvalidInputError(f"Expected rule={self.rule!r} to be {known}.")
        return CLOSED_FORMS[self.rule](self.schedule, facts)

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        if relation is not NeighboringRelation.REPLACE_ONE:
            raise InvalidInputError("A pass of SGD has a sensitivity under replace-one only.")
        if math.frexp(self.reach)[1] + self.grid_bits > _VALUE_BITS:
            raise InvalidInputError(
                f"Expected grid_bits={self.grid_bits} on which the result fits 64 bits: another "
                "wraps around, and has no sensitivity."
            )
        largest = float(self.deltas.max())
        if self.norm == "l1":
            width = math.nextafter(math.sqrt(self.facts.n_features), math.inf)
            largest = math.nextafter(largest * width, math.inf)
            return Sensitivity("l1", largest, relation, self.grid_bits)
        whole = Sensitivity("l2", largest, relation, self.grid_bits)
        if not self.randomized:
            return whole
        shares = tuple(int(size) for size in self.schedule.sizes)
        deltas = tuple(float(delta) for delta in self.deltas)
        return whole.randomized(deltas, shares)

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        """Return what a step follows, beside the regulariser: the mean gradient of a batch, which
        is what makes a step a contraction."""
        return gradient

    def answer_table(self, table: Table, noise: NoiseSource) -> np.ndarray:
        if table.n_rows != self.schedule.n or table.n_features != self.facts.n_features:
            raise InvalidInputError("The schedule was made for a table of other rows or features.")
        n, bound = self.schedule.n, self.facts.row_norm
        if self.schedule.order == "offset":
            rows = rotate_rows(table, noise.integers_below(n), bound)
        else:
            rows = order_rows(table, noise.permutation(n), bound)
        w = run_pass(rows, self)
        steps: np.ndarray = np.rint(np.ldexp(w, self.grid_bits))
        return steps.astype(np.int64)


def rounding_alone(schedule: Schedule, facts: Facts, grid_bits: int) -> np.ndarray:
    """Return what rounding adds to each batch's bound, rounded up; float64 of (n_batches,)."""
    return batch_sensitivities(schedule, facts, grid_bits, rows=0.0)[0]


def run_pass(rows: OrderedRows, query: SgdPass) -> np.ndarray:
    """Return the result of Algorithm 3, or of Algorithm 1 where nothing is averaged: float64."""
    schedule, facts = query.schedule, query.facts
    m, sizes = schedule.n_batches, schedule.sizes
    edges = np.concatenate([[0], np.cumsum(sizes)])
    steps = np.broadcast_to(schedule.step_sizes, (schedule.epochs, m))
    w, total = np.zeros(facts.n_features), np.zeros(facts.n_features)
    buffer, labels = np.empty(sizes.max()), Table.clamped_labels(rows.y)
    for epoch in range(schedule.epochs):
        for j in range(m):
            start, stop = int(edges[j]), int(edges[j + 1])
            c = buffer[: stop - start]
            z = rows.margins(start, stop, w)
            factor = rows.factor[start:stop]
            z *= factor
            query.problem.loss.dvalue(z, labels[start:stop], c)
            bound_coefficients(c, factor, facts.lipschitz)
            gradient = query.direction(rows.weighted_sum(start, stop, c) / (stop - start))
            w = w - steps[epoch, j] * (gradient + facts.mu * w)
            norm = ordered_norm(w) if math.isfinite(schedule.radius) else 0.0
            if norm > schedule.radius:
                w *= schedule.radius / norm
            total += w
        if schedule.average_every and (epoch + 1) % schedule.average_every == 0:
            w = total / (m * schedule.average_every)
            total = np.zeros(facts.n_features)
    return w
