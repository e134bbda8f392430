"""The rows of a run, and the engines over them: for the run alone, and in no step's view."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.fitting.planning.engines import engine_at_hand
from dpcore.fitting.rows.unbounded import bounded_schema, dry_run_rows, encoded_rows, unbounded_rows
from dpcore.fitting.steps.facts import RowsAsked
from dpcore.fitting.steps.views import HeldOut

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcore.data.blocks.table import Table
    from dpcore.data.dataset import Dataset
    from dpcore.fitting.planning.planned import Plan
    from dpcore.fitting.planning.ready import Ready
    from dpcore.protocols import Engine

__all__ = ["RunRows"]


class _None:
    """An engine over no rows."""

    def answer(self, query: Any) -> np.ndarray:
        return np.asarray(query.start())


@dataclass(frozen=True, eq=False)
class RunRows:
    """The rows of a run.

    Parameters
    ----------
    dataset : those that are trained on, a Dataset; of an engine that reads files, their facts.
    held_out : rows for metrics of the model, in waiting where bounds are private.
    table, engine : of all that are trained on; ``None`` before they are encoded, or where each
        class has a fit of its own.
    """

    dataset: Any
    held_out: Dataset | None = None
    table: Table | None = None
    engine: Engine | None = None

    def facts_of_held_out(self, *, size_is_public: bool) -> HeldOut | None:
        """Return what is public of the rows held out; ``None`` where there are none."""
        rows = self.held_out
        if rows is None:
            return None
        return HeldOut(rows.n_units if size_is_public else None, rows.weights is not None)

    def bounded(self, bounds: Mapping[str, tuple[float, float]]) -> RunRows:
        """Return the rows encoded by these bounds of columns that had none."""
        schema = bounded_schema(self.dataset.schema, bounds)
        return replace(self, dataset=encoded_rows(self.dataset, schema))

    def encoded(self, ready: Ready) -> RunRows:
        """Return the rows with an engine over them, where there is one fit."""
        if self.engine is not None or ready.fits > 1:
            return self
        table = self.table or self.dataset.table()
        return replace(self, table=table, engine=self._over(ready.plan, table))

    def none(self) -> Table:
        """Return a table of none of the rows, encoded by bounds that are nobody's where theirs are
        not released yet."""
        if self.table is not None:
            return self.table.without_rows()
        return dry_run_rows(self.dataset, self.dataset.schema).table()

    def over(self, asked: str, plan: Plan) -> Engine:
        """Return an engine over the rows that a step asks."""
        if asked == RowsAsked.WAITING:
            return unbounded_rows(self.dataset)
        if asked == RowsAsked.HELD_OUT:
            assert self.held_out is not None
            return self._over(plan, encoded_rows(self.held_out, self.dataset.schema).table())
        return self.engine or self._over(plan, self.table or self.dataset.table())

    def over_none(self, asked: str, plan: Plan) -> Engine:
        """Return an engine over none of them. Bounds that are private are released after it."""
        if asked == RowsAsked.WAITING:
            rows = self.dataset
            return unbounded_rows(rows.take(np.zeros(rows.X.shape[0], dtype=bool)))
        if plan.engine_facts.reads_files:
            opened: Any = self.engine
            nothing: Engine = opened.without_rows() if hasattr(opened, "without_rows") else _None()
            return nothing
        if asked == RowsAsked.HELD_OUT:
            assert self.held_out is not None
            none = dry_run_rows(self.held_out, self.held_out.schema)
            return engine_at_hand(plan.engine, none.table(), none.schema, 1)
        return engine_at_hand(plan.engine, self.none(), self.dataset.schema, 1)

    def _over(self, plan: Plan, table: Table) -> Engine:
        return engine_at_hand(plan.engine, table, self.dataset.schema, plan.settings.threads)
