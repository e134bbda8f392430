"""Counts of the sizes of numbers, and what is typical of a column by them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpcore.plugin import ordered_dot, ordered_sum
from dpcore.plugin.parts import Sensitivity, float_up, sealed, sqrt_up
from dpcore_accounting.reproducible.array_functions import array_exp, array_log
from dpcore_baselines.descent import defaults
from dpcore_baselines.descent.kernels import write_digits

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin import NeighboringRelation, PrivacySession, Problem
    from dpcore.plugin.parts import Block

__all__ = ["ColumnSizes", "TypicalSizes", "released_sizes", "sizes_tell", "typical_sizes"]

_EDGES = (2.0**-3, 2.0**-6, 0.0)
"""Below each class of sizes, from the largest down."""
_SIZES = np.array([1.0, 2.0**-4.5, 2.0**-7.5])
"""Of an entry of each class: the middle of the class on a logarithmic scale, and of the largest
class its upper end, so that common numbers are never taken for small ones."""
_DIGIT = 2.0**14
"""Each class has a digit of a sum of its own, to this base: exact for three digits in a float64."""
_ROWS = 2**13
"""Rows that are counted at a time: fewer than the base, so that no digit carries over."""
_SEEN = 2.0
"""Standard deviations of its noise that a count must be above 0 to count."""
_TELLING = 2.0**-6
"""The noise of a count over the number of rows at which it is asked for, at most."""


@sealed
@dataclass(frozen=True, slots=True, eq=False)
class ColumnSizes:
    """How many rows have an entry of each size in each of some columns: above 1/8, then above 1/64
    and up to 1/8, then above 0 and up to 1/64. An entry of 0 counts nowhere.

    A row counts 1 in one class of a column at most, so that it moves the counts of m columns by at
    most sqrt(m) in l2 under add-or-remove-one and replace-special; under replace-one it may leave
    one class of every column for another: sqrt(2 m) (Dwork, McSherry, Nissim & Smith 2006, section
    3, of m histograms side by side). That holds whatever the rows and the columns are. Counts are
    whole numbers.

    Parameters
    ----------
    columns : the places of the columns, public.
    """

    columns: tuple[int, ...]

    kind: ClassVar[str] = "sizes"
    thread_safe: ClassVar[bool] = True

    def start(self) -> np.ndarray:
        return np.zeros(len(_EDGES) * len(self.columns), dtype=np.int64)

    def answer_block(self, block: Block) -> np.ndarray:
        rows, columns = block.raw_rows().mapped(_digits), list(self.columns)
        ones, total = np.ones(block.n_rows), self.start()
        for begin in range(0, max(block.n_rows, 1), _ROWS):  # Of no rows too, as a dry run has.
            end = min(begin + _ROWS, block.n_rows)
            sums = rows.weighted_sum(begin, end, ones[begin:end])[columns]
            counts = [sums // _DIGIT**k % _DIGIT for k in range(len(_EDGES))]
            total += np.ravel(counts).astype(np.int64)
        return total

    def sensitivity(self, relation: NeighboringRelation) -> Sensitivity:
        square = Fraction(len(self.columns) * relation.rows_changed)
        return Sensitivity("l2", float_up(sqrt_up(square)), relation)


@dataclass(frozen=True)
class TypicalSizes:
    """Columns with a class of sizes, at least one, whose count is seen above the noise.

    Parameters
    ----------
    columns : int64 of shape (k,), their places.
    means : float64 of shape (k,), the shares of rows in the classes seen, times the size that is
        typical of these: the geometric mean. Few far entries do not move it, as they do a variance.
    squares : float64 of shape (k,), the same of the squared size.
    """

    columns: np.ndarray
    means: np.ndarray
    squares: np.ndarray


def noise_of_sizes(problem: Problem, noise_multiplier: float) -> float:
    """Return the deviation of the noise of a count of the sizes of all numbers."""
    moved, k = len(problem.numbers), problem.rows_per_unit
    if k is None:
        return noise_multiplier * math.sqrt(moved * problem.rows_changed)
    return noise_multiplier * math.sqrt(moved) * problem.rows_changed


def sizes_tell(problem: Problem, n: float, noise_multiplier: float) -> bool:
    """Return whether there are numbers, and rows enough for counts of their sizes to tell."""
    return bool(problem.numbers) and noise_of_sizes(problem, noise_multiplier) <= _TELLING * n


def typical_sizes(
    problem: Problem, counts: np.ndarray, n: float, noise_multiplier: float
) -> TypicalSizes:
    """Return what released counts say. ``n`` : the number of rows, public or released."""
    least = _SEEN * noise_of_sizes(problem, noise_multiplier)
    seen = np.where(counts > least, counts, 0.0).reshape(len(_EDGES), -1) / n
    known = seen.any(axis=0)
    seen = seen[:, known]
    shares = ordered_sum(seen.T)
    sizes = array_exp(ordered_dot(seen.T, array_log(_SIZES)) / shares)
    columns = np.asarray(problem.numbers, dtype=np.int64)[known]
    return TypicalSizes(columns, shares * sizes, shares * np.square(sizes))


def released_sizes(
    problem: Problem,
    session: PrivacySession,
    n: float,
    noise: Callable[..., Any],
    places: tuple[int, ...],
) -> TypicalSizes | None:
    """Return what is typical of columns of numbers, where there are rows enough to tell.

    ``noise`` : of a session and a number of parts, returns the mechanism of one part of what is
    left of the budget. ``places`` : of the numbers among all columns of the rows.
    """
    mechanism = noise(session, 1 / Fraction(defaults.SIZES_SHARE))
    multiplier = mechanism.noise_multiplier
    if not (problem.loss.classification and sizes_tell(problem, n, multiplier)):
        return None
    counts = session.release(ColumnSizes(places), mechanism)
    return typical_sizes(problem, counts, n, multiplier)


def _digits(entries: np.ndarray) -> np.ndarray:
    """Return 1 in the digit of every entry's class: 1 for one of size 1, and 0 for 0."""
    out = np.empty(entries.shape)
    write_digits(np.ravel(entries), np.array(_EDGES), _DIGIT, out.reshape(-1))
    return out
