"""A session that was opened by itself: ready statistics, queries of one's own, and a statement."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore_tables.statistics.asking import Statistics, Where
from dpcore_tables.statistics.categorical_column import CategoricalColumn
from dpcore_tables.statistics.columns import column_of
from dpcore_tables.statistics.part_session import WholeSession
from dpcore_tables.statistics.split_table import split_table

if TYPE_CHECKING:
    from types import TracebackType

    from dpcore.plugin.commands import SessionRun
    from dpcore.plugin.parts import Block, Table
    from dpcore_tables.kinds.categorical import Value
    from dpcore_tables.statistics.opened import Opened

__all__ = ["OpenSession"]


class OpenSession(Statistics):
    """The session that ``open_session`` returns. As the context of a ``with`` block it is
    closed at its end, and whatever ends the block carries a note of what was charged.

    It holds the rows: keep it where they may be.
    """

    _session: WholeSession

    def __init__(self, opened: Opened, whole: WholeSession, table: Table, run: SessionRun) -> None:
        super().__init__(whole, opened.schema, opened.problem)
        self._opened, self._table, self._run = opened, table, run
        self._told: AbstractContextManager[None] | None = None
        self._selected: dict[tuple[Any, ...], Statistics] = {}
        self._parts: dict[str, dict[Value | None, Statistics]] = {}

    def __enter__(self) -> Self:
        self._run.charges.fate = lambda: "what was released may be used, and no more is"
        self._told = self._run.charges.told()
        self._told.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        self._close(error)
        assert self._told is not None
        return self._told.__exit__(kind, error, trace)

    def close(self) -> None:
        """Refuse every release from now on; the statement can still be asked for."""
        self._close()

    def _close(self, error: BaseException | None = None) -> None:
        self._session.close()
        self._run.close(error)

    def statement(self) -> dict[str, Any]:
        """Return the privacy statement of all that was released so far, as JSON-able data; its
        sentence is under ``sentence``. A model's ``privacy`` has the same keys.

        Raises InvalidInputError where an answer ended in an error after it was charged.
        """
        self._session.require_whole()
        return self._run.statement(**self._opened.stated()).to_dict("What was released")

    def parts(self, column: str) -> dict[Value | None, Statistics]:
        """Return a session over the rows of each level of a column of listed levels; ``None`` is
        that over the rows of any other value.

        Each row is in one part, so a budget may be spent on every part: under add-or-remove-one
        what the parts cost is the largest of their costs, under replace-one the sum of the two
        largest (the theorem is in ``dpcore_tables.statistics.parted_filter``). Releases from all
        rows add to that, and all may come in any order.

        Raises InvalidInputError for a column without listed levels, or a second column.
        """
        if column not in self._parts:
            self._parts[column] = self._split(column, self._levels(column))
        return dict(self._parts[column])

    def _where(self, where: Where) -> Statistics:
        """Return the session over the rows that meet a condition. Its rows are kept: to ask again
        does not read them again.

        Raises InvalidInputError for a column without listed levels, or a level that is none.
        """
        if not isinstance(where, Mapping) or not where:
            raise InvalidInputError(
                "Expected where= to be levels by column, as in where={'sex': 'f'}."
            )
        chosen = tuple(sorted((name, self._places(name, of)) for name, of in where.items()))
        if chosen not in self._selected:
            columns = [(self._levels(name), places) for name, places in chosen]

            def part(block: Block) -> np.ndarray:
                met = np.ones(block.n_rows, dtype=np.int64)
                for column, places in columns:
                    met *= np.isin(column.codes(block), places)
                return met

            problem = replace(self.problem, n=None, n0=None)  # Their number is private.
            table = split_table(self._table, part, 2)[1]
            session = self._session.selected(self._opened.engine_of(table), problem)
            self._selected[chosen] = Statistics(session, self.schema, problem)
        return self._selected[chosen]

    def _levels(self, column: str) -> CategoricalColumn:
        levels = column_of(self.schema, column)
        if not isinstance(levels, CategoricalColumn):
            raise InvalidInputError(
                f"Column {column!r} is numeric; where= and parts are of columns of levels."
            )
        return levels

    def _places(self, column: str, asked: Any) -> tuple[int, ...]:
        """Return the places of levels that a condition names."""
        levels = self._levels(column).levels
        several = [*asked] if isinstance(asked, (list, tuple, set)) else [asked]
        if not several or any(level not in levels for level in several):
            raise InvalidInputError(
                f"Expected levels of column {column!r} in where=: {', '.join(map(str, levels))}."
            )
        return tuple(sorted({levels.index(level) for level in several}))

    def _split(self, column: str, levels: CategoricalColumn) -> dict[Value | None, Statistics]:
        problem = replace(self.problem, n=None, n0=None)  # The number of a part's rows is private.
        tables = split_table(self._table, levels.codes, len(levels.levels) + 1)
        parts: dict[Value | None, Statistics] = {}
        for level, table in zip((*levels.levels, None), tables, strict=True):
            name = f"other {column}" if level is None else f"{column} = {level}"
            session = self._session.part(column, name, self._opened.engine_of(table), problem)
            parts[level] = Statistics(session, self.schema, problem)
        return parts
