"""A search over rows in memory, as ``dpcore.fit`` makes a fit of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dpcore import Weights
from dpcore.plugin.commands import train_rows
from dpcore_tuning.run import tune_run

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore.plugin.commands import LedgerRequest
    from dpcore.plugin.parts import Model
    from dpcore_tuning.search import Search

__all__ = ["tune_rows"]


def tune_rows(
    search: Search,
    X: Any,
    y: Any,
    schema: Schema,
    table_ledger: LedgerRequest,
    weights: Any = None,
) -> Model:
    """Return the best model of a search on the rows of an array or a frame, under their schema;
    steps that ask rows held out say how many. ``weights`` : of the rows, up to the bound that is
    the search's.

    Raises as ``tune_dataset`` does; warns, as ``dpcore.fit``, of what to be careful of and of the
    second fit in a process.
    """
    plan = search.plans[0]
    of_rows = Weights(weights, plan.settings.weight_bound)
    return train_rows(plan, X, y, schema, table_ledger, partial(tune_run, search), of_rows)
