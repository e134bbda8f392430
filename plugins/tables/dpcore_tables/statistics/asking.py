"""Ready statistics of columns: each asks a session a query, for a share of the budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpcore.plugin import Gaussian, InvalidInputError, Laplace, RowCount, noise_multiplier
from dpcore.plugin.parts import TableSession, Unshareable
from dpcore_accounting.selections.exponential import Exponential
from dpcore_tables.statistics.categorical_column import CategoricalColumn
from dpcore_tables.statistics.columns import (
    NumericColumn,
    column_of,
    numeric_column,
    public_numbers,
)
from dpcore_tables.statistics.histogram import Histogram, TwoWayTable
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
    )

__all__ = ["Statistics", "Where"]

Where: TypeAlias = "Mapping[str, Any]"
"""A condition on a row: by the name of a column of levels, a level or several. A row meets it whose
cells are all among them."""

_CANDIDATES = 1024
_WITHIN = 1 - Fraction(1, 2**40)
"""Shares that add up to 1 fit together, whatever their floats round to."""


class Statistics(Unshareable):
    """A session with ready statistics: of all rows, or of those of a part.

    Each takes ``share``, of the session's whole budget: 0.25 is a quarter of it, in the
    accountant's unit. Noise is normal where the accountant has a rule for it, else Laplace. What is
    returned is released: safe to use, print and keep in any way. Every release raises
    BudgetExceededError, with nothing drawn and nothing charged, where its share is not left.

    ``where`` asks of rows with these levels alone: ``{"sex": "f", "city": ["Bern", "Basel"]}``.
    Columns and levels are public, and it costs what the same question to all rows does.

    Parameters
    ----------
    schema, problem : public facts of the rows; queries of one's own are made from these.
    """

    def __init__(self, session: TableSession, schema: Schema, problem: Problem) -> None:
        self._session = session
        self.schema = schema
        self.problem = problem

    def release(self, query: Query | DerivedQuery | TableQuery, mechanism: Mechanism) -> Any:
        """Return a noisy answer to a query, one's own or dpcore's, as ``PrivacySession`` says."""
        return self._session.release(query, mechanism)

    def start(self, mechanism: InteractiveMechanism) -> Any:
        """Return an open interactive mechanism, as ``PrivacySession`` says."""
        return self._session.start(mechanism)

    def dry_run(self, query: Query | DerivedQuery | TableQuery) -> None:
        """Load what an answer needs; the rows are not asked."""
        self._session.dry_run(query)

    rehearse = TableSession.rehearse

    @property
    def accountant(self) -> Accountant:
        """The filter as it is now, and what remains of its budget."""
        return self._session.accountant

    @property
    def relation(self) -> NeighboringRelation:
        return self._session.relation

    @property
    def releases(self) -> dict[str, int]:
        """How many releases of each kind were charged."""
        return self._session.releases

    @property
    def ledger(self) -> tuple[Any, ...]:
        """The charges of the session, its parts' included, in order."""
        return self._session.ledger

    def _where(self, where: Where) -> Statistics:
        """Return the session over the rows that meet a condition (``OpenSession``)."""
        raise InvalidInputError("A condition (where=) is of the whole session, not of a part.")

    def count(self, *, share: float, where: Where | None = None) -> float:
        """Return the noisy number of rows; InvalidInputError where it is public."""
        if where is not None:
            return self._where(where).count(share=share)
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
        self,
        column: str,
        edges: Iterable[Any] | None = None,
        *,
        share: float,
        where: Where | None = None,
    ) -> np.ndarray:
        """Return noisy counts of the rows of each level, in the schema's order, or in each bin.

        Bins of numbers or dates lie between public ``edges``, as those of ``numpy.histogram``, told
        apart to 2^-16 of the column's range. Cells beyond the bounds were clamped to these."""
        if where is not None:
            return self._where(where).histogram(column, edges, share=share)
        noise = self._noise(share)
        return self._unbiased(self._bins(column, edges, noise.needs), noise.mechanism)

    def table(
        self,
        rows: str,
        columns: str,
        *,
        edges: Mapping[str, Iterable[Any]] | None = None,
        share: float,
        where: Where | None = None,
    ) -> np.ndarray:
        """Return noisy counts of rows for each pair of bins of two columns, of shape
        (bins of ``rows``, bins of ``columns``). Bins are those of ``histogram``, with public
        ``edges`` by column."""
        if where is not None:
            return self._where(where).table(rows, columns, edges=edges, share=share)
        given, noise = {} if edges is None else edges, self._noise(share)
        if not isinstance(given, Mapping) or set(given) - {rows, columns}:
            raise InvalidInputError(
                f"Expected edges by column, of {rows!r} and {columns!r} alone, as in "
                "edges={'age': [0, 40, 90]}."
            )
        bins = [self._bins(name, given.get(name), noise.needs) for name in (rows, columns)]
        answer = self._unbiased(TwoWayTable(bins[0], bins[1], noise.needs), noise.mechanism)
        return answer.reshape(bins[0].n_bins, bins[1].n_bins)

    def sum(self, *columns: str, share: float, where: Where | None = None) -> np.ndarray:
        """Return the noisy sum of each numeric column, in its own unit."""
        if where is not None:
            return self._where(where).sum(*columns, share=share)
        if any(column.unit == "day" for column in self._numeric(columns)):
            raise InvalidInputError("Dates have no sum: ask for their mean.")
        count, sums, held = self._sums(columns, share)
        # A cell is lower + width (c + 1/2).
        lower, width = held[0], held[1] - held[0]
        return np.asarray(lower * count + width * (sums + count / 2))

    def mean(self, *columns: str, share: float, where: Where | None = None) -> np.ndarray:
        """Return the noisy mean of each numeric column, within its bounds; of dates the nearest
        days, in a call of their own. Of a log scale it is the mean of the numbers themselves."""
        if where is not None:
            return self._where(where).mean(*columns, share=share)
        first, *others = self._numeric(columns)
        if any(column.unit != first.unit for column in others):
            raise InvalidInputError("Expected columns of dates in a call of their own.")
        count, sums, held = self._sums(columns, share)
        unit = np.clip(0.5 + sums / max(1.0, count), 0.0, 1.0)
        return first.told(np.asarray(held[0] + (held[1] - held[0]) * unit))

    def covariance(self, *columns: str, share: float, where: Where | None = None) -> np.ndarray:
        """Return the noisy covariance matrix of columns of numbers or dates (in days). It divides
        by n, not n - 1, and eigenvalues below 0, which noise makes, are set to 0."""
        if where is not None:
            return self._where(where).covariance(*columns, share=share)
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
        candidates: Iterable[Any] | None = None,
        where: Where | None = None,
    ) -> np.ndarray:
        """Return a noisy quantile of a column of numbers or dates for each of ``q``, rising with q.

        Each is one of the public ``candidates``: by default 1,024 evenly spaced within the bounds,
        on the column's scale, or each day. One number ``q`` gives an array of one."""
        if where is not None:
            return self._where(where).quantiles(column, q, share=share, candidates=candidates)
        held = numeric_column(self.schema, column)
        if candidates is None:
            among = held.value_at((np.arange(_CANDIDATES) + 0.5) / _CANDIDATES)
            among = np.unique(np.rint(among)) if held.unit == "day" else among
        else:
            among = np.array(held.public_values("candidates", candidates))
        asked = public_numbers("q", q)
        queries = [QuantileScores(held, each, tuple(among.tolist())) for each in asked]
        if not queries:
            raise InvalidInputError("Expected one quantile or more.")
        cost = self._cost(share) / len(queries)
        mechanism = Exponential(noise_multiplier(self.accountant, Exponential.nominal_event, cost))
        left = self.accountant
        for _ in queries:  # All of them fit, or nothing is asked.
            left = left.compose(Exponential.nominal_event(mechanism.noise_multiplier))
        chosen = [among[self._session.release(query, mechanism)] for query in queries]
        rising = np.empty(len(queries))
        rising[np.argsort(asked, kind="stable")] = np.sort(chosen)
        return held.told(rising)

    def _numeric(self, columns: Sequence[str]) -> list[NumericColumn]:
        if not columns:
            raise InvalidInputError("Expected one column or more.")
        return [numeric_column(self.schema, name) for name in columns]

    def _bins(self, column: str, edges: Iterable[Any] | None, norm: Any) -> Histogram:
        """Return the query of a column's bins."""
        held = column_of(self.schema, column)
        if isinstance(held, CategoricalColumn):
            if edges is not None:
                raise InvalidInputError(f"Column {column!r} is of levels, and takes no edges.")
            return Histogram(held, (), norm)
        if edges is None:
            kind = "of dates" if held.unit == "day" else "numeric"
            raise InvalidInputError(f"Column {column!r} is {kind}: it needs public edges.")
        return Histogram(held, held.public_values("edges", edges), norm)

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
        noisy: np.ndarray = self._session.release(query, mechanism)
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


@dataclass(frozen=True)
class _Noise:
    """A mechanism for a share of the budget, and the norm that it is scaled to."""

    mechanism: Mechanism
    needs: Any
