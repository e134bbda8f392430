"""A search over rows in memory, as ``dpcore.fit`` makes a fit of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.data.units import coins_of
from dpcore.errors import warn_caller
from dpcore.fitting.fits import FITS
from dpcore.fitting.rows.given import dataset_of
from dpcore.fitting.run import finish
from dpcore.fitting.steps.facts import step_facts
from dpcore.fitting.steps.held_out_rows import parted, require_held_out
from dpcore.session.charges import Charges
from dpcore_tuning.run import tune_dataset

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore.plugin.commands import LedgerRequest
    from dpcore.plugin.parts import Model
    from dpcore_tuning.search import Search

__all__ = ["tune_rows"]


def tune_rows(search: Search, X: Any, y: Any, schema: Schema, table_ledger: LedgerRequest) -> Model:
    """Return the best model of a search on the rows of an array or a frame, under their schema;
    steps that ask rows held out say how many.

    Raises as ``tune_dataset`` does; warns, as ``dpcore.fit``, of what to be careful of and of the
    second fit in a process.
    """
    plan = search.plans[0]
    also = map(step_facts, plan.settings.also)
    fraction = next((step.test_fraction for step in also if step.test_fraction is not None), None)
    require_held_out(plan, fraction)
    coins = coins_of(plan.settings.seed, "units")
    public = dict.fromkeys(("classes", "target_bounds", "bounds", "n0", "capacity"))
    charges = Charges()
    with FITS.with_those_that_break(), charges.told():
        rows = dataset_of(
            X, y, schema, True, coins=coins, row_norm=1.0, private_bounds=False, **public
        )
        reasons, kept = rows.schema.why_not_private, 1.0 - (fraction or 0.0)
        rows, held_out = parted(plan, rows, fraction)
        model = tune_dataset(search, rows, reasons, (), charges, table_ledger, kept, held_out)
        for caution in model.cautions():
            warn_caller(caution)
        model = finish(plan, model, rows, None, {}).model
    FITS.add(model)
    return model
