"""Ready statistics of columns: each asks a query through a door, for a share of the budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import replacing
from dpcore.plugin import Gaussian, InvalidInputError, Laplace, RowCount, noise_multiplier
from dpcore.plugin.parts import Unshareable
from dpcore_accounting.selections.exponential import Exponential
from dpcore_tables.statistics.categorical_column import CategoricalColumn
from dpcore_tables.statistics.columns import column_of, numeric_column
from dpcore_tables.statistics.histogram import Histogram
from dpcore_tables.statistics.numeric_sums import NumericSums
from dpcore_tables.statistics.quantile import QuantileScores
from dpcore_tables.statistics.unit_count import UnitCount

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore.plugin import Accountant, NeighboringRelation, Problem
    from dpcore.plugin.parts import (
        DerivedQuery,
        InteractiveMechanism,
        Mechanism,
        Query,
        TableQuery,
        TableSession,
    )
    from dpcore.protocols.interactive import Exchange

__all__ = ["Statistics"]

_CANDIDATES = 1024
_WITHIN = 1 - Fraction(1, 2**40)
"""Shares that add up to 1 fit together, whatever their floats round to."""


class Statistics(Unshareable):
    """A door with ready statistics: of all rows, or of those of a part.

    Each takes ``share``, of the session's whole budget: 0.25 is a quarter of it, in the
    accountant's unit. Noise is normal where the accountant has a rule for it, else Laplace. What is
    returned is released: safe to use, print and keep in any way. Every release raises
    BudgetExceededError, with nothing drawn and nothing charged, where its share is not left.

    Parameters
    ----------
    schema, problem : public facts of the rows; queries of one's own are made from these.
    """

    def __init__(self, door: TableSession, schema: Schema, problem: Problem) -> None:
        self._door = door
        self.schema = schema
        self.problem = problem

    def release(self, query: Query | DerivedQuery | TableQuery, mechanism: Mechanism) -> Any:
        """Return a noisy answer to a query, one's own or dpcore's, as ``PrivacySession`` says."""
        return self._door.release(query, mechanism)

    def start(self, mechanism: InteractiveMechanism) -> Exchange:
        """Return an open interactive mechanism, as ``PrivacySession`` says."""
        return self._door.start(mechanism)

    def rehearse(self, query: Query | DerivedQuery | TableQuery) -> None:
        """Load what an answer needs; the rows are not asked."""
        self._door.rehearse(query)

    @property
    def accountant(self) -> Accountant:
        """The filter as it is now, and what remains of its budget."""
        return self._door.accountant

    @property
    def relation(self) -> NeighboringRelation:
        return self._door.relation

    @property
    def releases(self) -> dict[str, int]:
        """How many releases of each kind were charged."""
        return self._door.releases

    @property
    def ledger(self) -> tuple[Any, ...]:
        """The charges of the session, its parts' included, in order."""
        return self._door.ledger

    def count(self, *, share: float) -> float:
        """Return the noisy number of rows; InvalidInputError where it is public."""
        if self.problem.n is not None:
            raise InvalidInputError(
                f"The number of rows is public under {self.relation.value}: session.problem.n."
            )
        noise = self._noise(share)
        return float(self._unbiased(RowCount(noise.needs), noise.mechanism)[0])

    def count_units(self, *, share: float) -> float:
        """Return the noisy number of units; InvalidInputError where it is public, or rows have no
        unit."""
        if self.problem.rows_per_unit is None:
            raise InvalidInputError("The rows have no unit: session.count() is of rows.")
        if self.relation.size_is_public:
            raise InvalidInputError(f"The number of units is public under {self.relation.value}.")
        noise = self._noise(share)
        return float(self._unbiased(UnitCount(noise.needs), noise.mechanism)[0])

    def histogram(
        self, column: str, edges: Iterable[float] | None = None, *, share: float
    ) -> np.ndarray:
        """Return noisy counts of rows: of each level of a column of levels, in the schema's order,
        or between each two public ``edges`` of a numeric column (``numpy.histogram``'s bins, told
        apart to 2^-16 of the column's bounds). Cells beyond the bounds were clamped to these."""
        held = column_of(self.schema, column)
        if isinstance(held, CategoricalColumn) != (edges is None):
            kind = "of levels, and takes no" if edges is not None else "numeric: it needs public"
            raise InvalidInputError(f"Column {column!r} is {kind} edges.")
        noise = self._noise(share)
        public = () if edges is None else _numbers("edges", edges)
        return self._unbiased(Histogram(held, public, noise.needs), noise.mechanism)

    def sum(self, *columns: str, share: float) -> np.ndarray:
        """Return the noisy sum of each numeric column, in its own unit."""
        count, sums, held = self._sums(columns, share)
        # A cell is lower + width (c + 1/2).
        lower, width = held[0], held[1] - held[0]
        return np.asarray(lower * count + width * (sums + count / 2))

    def mean(self, *columns: str, share: float) -> np.ndarray:
        """Return the noisy mean of each numeric column, within its bounds."""
        count, sums, held = self._sums(columns, share)
        unit = np.clip(0.5 + sums / max(1.0, count), 0.0, 1.0)
        return np.asarray(held[0] + (held[1] - held[0]) * unit)

    def covariance(self, *columns: str, share: float) -> np.ndarray:
        """Return the noisy covariance matrix of numeric columns (of n, not n - 1), with eigenvalues
        below 0, which noise makes, set to 0."""
        noise = self._noise(share)
        held = tuple(numeric_column(self.schema, name) for name in columns)
        answer = self._unbiased(NumericSums(held, True, noise.needs), noise.mechanism)
        k, n = len(held), max(1.0, self._rows(answer[0]))
        products = np.zeros((k, k))
        products[np.triu_indices(k)] = answer[1 + k :]
        products += np.triu(products, 1).T
        means = answer[1 : 1 + k] / n
        values, vectors = np.linalg.eigh(products / n - np.outer(means, means))
        widths = np.array([column.upper - column.lower for column in held])
        kept: np.ndarray = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return kept * np.outer(widths, widths)

    def quantiles(
        self,
        column: str,
        q: float | Sequence[float],
        *,
        share: float,
        candidates: Iterable[float] | None = None,
    ) -> np.ndarray:
        """Return a noisy quantile of a numeric column for each of ``q`` (for one number: an array
        of one), rising with q: each one of the public ``candidates``, by default 1,024 evenly
        spaced within the bounds."""
        held = numeric_column(self.schema, column)
        if candidates is None:
            among = held.value_at((np.arange(_CANDIDATES) + 0.5) / _CANDIDATES)
        else:
            among = np.array(_numbers("candidates", candidates))
        asked = _numbers("q", q)
        queries = [QuantileScores(held, each, tuple(among.tolist())) for each in asked]
        if not queries:
            raise InvalidInputError("Expected one quantile or more.")
        cost = self._cost(share) / len(queries)
        mechanism = Exponential(noise_multiplier(self.accountant, Exponential.nominal_event, cost))
        left = self.accountant
        for _ in queries:  # All of them fit, or nothing is asked.
            left = left.compose(Exponential.nominal_event(mechanism.noise_multiplier))
        chosen = [among[self._door.release(query, mechanism)] for query in queries]
        rising = np.empty(len(queries))
        rising[np.argsort(asked, kind="stable")] = np.sort(chosen)
        return rising

    def _sums(
        self, columns: tuple[str, ...], share: float
    ) -> tuple[float, np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Return the number of rows, the sums of the mapped cells, and the columns' bounds."""
        noise = self._noise(share)
        held = tuple(numeric_column(self.schema, name) for name in columns)
        answer = self._unbiased(NumericSums(held, False, noise.needs), noise.mechanism)
        bounds = np.array([c.lower for c in held]), np.array([c.upper for c in held])
        return self._rows(answer[0]), answer[1:], bounds

    def _rows(self, noisy: float) -> float:
        return float(noisy) if self.problem.n is None else float(self.problem.n)

    def _unbiased(self, query: Query, mechanism: Mechanism) -> np.ndarray:
        """Return the noisy answer with the half step that floored noise is short of on average."""
        noisy: np.ndarray = self._door.release(query, mechanism)
        half_step = 2.0 ** -(1 + query.sensitivity(self.relation).grid_bits)
        return np.asarray(noisy + half_step)

    def _cost(self, share: float) -> Fraction:
        if not (isinstance(share, (int, float)) and 0.0 < share <= 1.0):
            raise InvalidInputError(f"Expected 0 < share={share!r} <= 1, of the session's budget.")
        return Fraction(share) * Fraction(self.accountant.budget) * _WITHIN

    def _noise(self, share: float) -> _Noise:
        accountant, cost = self.accountant, self._cost(share)
        kind: Any = Gaussian if accountant.supports(Gaussian.nominal_event(1.0)) else Laplace
        return _Noise(kind(noise_multiplier(accountant, kind.nominal_event, cost)), kind.needs)


def _numbers(name: str, values: Any) -> tuple[float, ...]:
    """Return one number or several as floats; InvalidInputError for anything else."""
    no_numbers = InvalidInputError(f"Expected {name}={values!r} to be numbers.")
    with replacing(TypeError, ValueError, by=lambda _: no_numbers):
        several: list[Any] = [values] if np.isscalar(values) else list(values)
        return tuple(float(value) for value in several)


@dataclass(frozen=True)
class _Noise:
    """A mechanism for a share of the budget, and the norm that it is scaled to."""

    mechanism: Mechanism
    needs: Any
