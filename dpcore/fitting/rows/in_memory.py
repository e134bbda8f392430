"""A fit to rows that ``dpcore.fit`` was handed, in memory or by their path."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpcore.data.arrays import as_given, declares_truth
from dpcore.data.units import coins_of
from dpcore.errors import InvalidInputError, warn_caller
from dpcore.fitting.fits import FITS
from dpcore.fitting.planning.engines import require_all_rows, rows_of
from dpcore.fitting.planning.utility_warning import UtilityWarning
from dpcore.fitting.request.fit_options import Ledger, Weights
from dpcore.fitting.request.keywords import Asked
from dpcore.fitting.request.ledger_request import LedgerRequest
from dpcore.fitting.rows.given import dataset_of
from dpcore.fitting.run import Run
from dpcore.fitting.steps.held_out_rows import parted, require_held_out
from dpcore.fitting.steps.weights import with_weights_of_rows
from dpcore.fitting.training import finish
from dpcore.session.charges import Charges

if TYPE_CHECKING:
    from dpcore.data.dataset import Dataset
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.planning.planned import Plan
    from dpcore.model.model import Model
    from dpcore.protocols import Engine

__all__ = ["fit_rows", "train_rows"]

OfARun = Callable[[Run], "Model"]


def train_rows(
    plan: Plan,
    X: Any,
    y: Any,
    schema: Schema,
    table_ledger: LedgerRequest,
    by: OfARun,
    weights: Weights,
) -> Model:
    """Return the model of the rows of an array or a frame, made ``by`` what is handed the plan's
    run over them, such as a search. Steps that ask rows held out say how many.

    Raises and warns as ``dpcore.fit``, of the second fit in a process too.
    """
    named = Ledger(table_ledger.ledger, table_ledger.analyst, table_ledger.same_table)
    return fit_rows(
        plan, Asked(X, y, plan.settings, schema, weights=weights, ledger=named), None, by
    )


def fit_rows(plan: Plan, asked: Asked, started: float | None, by: OfARun = Run.model) -> Model:
    """Return the model of a plan, made ``by`` a fit of it or otherwise. ``started`` : when, for its
    report.

    Raises and warns as ``dpcore.fit``.
    """
    require_held_out(plan, asked.settings.test_fraction)
    require_all_rows(plan.engine, asked.ledger.part)
    named = asked.ledger
    ledger = LedgerRequest(named.path, named.analyst, named.same_table)
    asked = replace(asked, X=as_given(asked.X))
    _require_target_bounds(asked, plan)
    charges = Charges()
    public = {"y": asked.y, "sample_weight": asked.weights.values, **asked.public}
    with (
        rows_of(plan, asked.X, asked.schema, public, lambda: _read(asked)) as (rows, engine),
        FITS.with_those_that_break(),
        charges.told(),
    ):
        run = _run(asked, plan, rows, engine, charges, ledger)
        model = _told(asked, run, run.made(by), started)
    FITS.add(model)
    return model


def _run(
    asked: Asked,
    plan: Plan,
    rows: Any,
    engine: Engine | None,
    charges: Charges,
    ledger: LedgerRequest,
) -> Run:
    """Return the run over the rows that are trained on."""
    dataset, held_out = parted(plan, rows, asked.settings.test_fraction)
    return Run(
        plan,
        dataset,
        dataset.schema.why_not_private,
        kept_fraction=1.0 - (asked.settings.test_fraction or 0.0),
        held_out=held_out,
        charges=charges,
        utility_warning=UtilityWarning(warn_caller),
        engine=engine,
        table_ledger=ledger,
    )


def _told(asked: Asked, run: Run, model: Model, started: float | None) -> Model:
    """Return the model with its report, and warn of what to be careful of."""
    assert run.utility_warning is not None
    model = replace(model, class_values=_class_values(asked, model.schema))
    for warning in model.warnings(was_warned=run.utility_warning.failing):
        warn_caller(warning)
    return finish(run.plan, model, run.dataset, started, {}).model


def _read(asked: Asked) -> Dataset:
    """Return the rows at hand."""
    coins, values = coins_of(asked.settings.seed, "units"), asked.weights.values
    whole = dataset_of(
        asked.X,
        asked.y,
        asked.schema,
        asked.intercept,
        coins=coins,
        weight=values if isinstance(values, str) else None,
        **asked.public,
    )
    weighted: Dataset = with_weights_of_rows(whole, asked.X, values, asked.weights.bound)
    return weighted.of_part(asked.ledger.part)


def _require_target_bounds(asked: Asked, plan: Plan) -> None:
    named = asked.schema is not None or isinstance(asked.X, (str, os.PathLike))
    classes, bounds, ends = (asked.public[word] for word in ("classes", "bounds", "target_bounds"))
    is_left_out = ends is None and (classes is None or bounds is not None)
    if is_left_out and not (named or plan.loss.classification):
        raise InvalidInputError(
            f"The loss {asked.settings.loss} needs target_bounds=(lower, upper) of its target; "
            "bounds are those of the feature columns."
        )


def _class_values(asked: Asked, schema: Schema) -> tuple[Any, ...] | None:
    """Return one value for each class as the caller wrote it, so that predictions compare equal to
    the labels: the schema holds text and float64 only."""
    classes = asked.public["classes"]
    if classes is None:
        return _truth_classes(asked.X, asked.y, schema)
    return tuple(c[0] if isinstance(c, (list, tuple)) else c for c in classes)


def _truth_classes(X: Any, y: Any, schema: Schema) -> tuple[bool, bool] | None:
    """Return truth values as classes where the labels declare that they are some and the schema,
    which holds text, lists true and false; ``None`` where they are not."""
    words = [str(name).lower() for name in schema.label.names]
    if sorted(words) != ["false", "true"] or not declares_truth(X, y, schema.label.name):
        return None
    return words[0] == "true", words[1] == "true"
