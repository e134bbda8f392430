"""The fits of a comparison, and the row of each."""

from __future__ import annotations

import json
import math
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import DpcoreError
from dpcore.plugin import Settings
from dpcore.plugin.commands import Run, make_plan
from dpcore.plugin.parts import Model
from dpcore_baselines.without_privacy.references import fit_nonprivate, majority_label, objective_of
from dpcore_lab.compare.data_rows import Rows
from dpcore_lab.compare.exact_metrics import metrics_of_constant, metrics_of_w
from dpcore_lab.compare.external_fits import external_row
from dpcore_lab.compare.settings import loss_with
from dpcore_tables.curves import curved
from dpcore_tables.weights.of_classes import weighted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dpcore.plugin.commands import Plan
    from dpcore.plugin.parts import Table
    from dpcore_lab.compare.data_rows import Fold
    from dpcore_lab.compare.settings import Cell, Comparison

__all__ = ["Fitter"]

FITTED, FAILED = "fitted", "failed"
_STATED = ("accountant", "budget", "spent", "unit", "private", "most_rows", "unit_of_protection")
"""Keys of the privacy statement that a row copies from its model."""


class Fitter:
    """Makes the fits of a comparison in this process.

    ``key`` : the secret of the folds. ``threads`` : of each fit; ``None`` for all processors.
    """

    def __init__(self, comparison: Comparison, key: bytes, threads: int | None) -> None:
        self._comparison, self._threads = comparison, threads
        self._rows = Rows(comparison, key, threads)
        self._loss = loss_with(comparison.loss, comparison.loss_params)
        self._measured = weighted(self._loss, (), comparison.weight_bound)
        self._warm: set[tuple[str, str]] = set()
        self._kept = 1.0 - 1.0 / comparison.folds

    def rows(self, cells: Sequence[Cell]) -> Iterator[dict[str, Any]]:
        """Yield the rows of fits, in their order, their values JSON-able. A fit that fails has a
        row too. ``cells`` : of one algorithm, on one fold, or of a reference."""
        if cells[0].epsilon is None:
            yield from map(self._reference, cells)
            return
        fold = self._rows.fold(cells[0].data, cells[0].fold)
        if cells[0].algorithm in self._comparison.externals:
            for cell in cells:
                yield self._external(cell, fold)
            return
        plans = [make_plan(self._settings(cell)) for cell in cells]
        self._warm_up(cells[0], plans[0], fold)
        for cell, plan in zip(cells, plans, strict=True):
            yield self._row(cell, plan, fold)

    def _row(self, cell: Cell, plan: Plan, fold: Fold) -> dict[str, Any]:
        settings = plan.settings
        row = self._blank(cell) | {
            "parameters": _json(plan.parameters()),
            "distribution": plan.entry.distribution,
            "l2": settings.l2,
            "delta": settings.delta,
            "seed": settings.seed,
            "private": None,
            "parts_not_from_dpcore": None,
            "chosen": plan.entry.name if plan.chosen_by else None,
            "versions": _json(Model.running_versions(plan.entry.distribution)),
        }
        made = self._run(cell, plan, fold)
        started = time.perf_counter()
        try:
            model = made.model()
        except DpcoreError as error:
            return row | _failed(made, str(error))
        except Exception as error:
            # Its own text may hold a private value.
            return row | _failed(made, f"{type(error).__name__} in the fit.")
        seconds = time.perf_counter() - started
        privacy = model.privacy
        return row | {
            **self._scores(_with_features_of(model, fold), model.w),
            "l2": model.l2,
            "exact_seconds": seconds,
            "releases": _json(privacy["releases"]),
            **{key: privacy[key] for key in _STATED},
            "parts_not_from_dpcore": _json(privacy["parts_not_from_dpcore"]),
            "message": model.status,
        }

    def _external(self, cell: Cell, fold: Fold) -> dict[str, Any]:
        return self._blank(cell) | external_row(cell, self._comparison, fold, self._threads)

    def _settings(self, cell: Cell) -> Settings:
        assert cell.epsilon is not None
        seed = cell.seed(self._comparison.seed)
        return self._comparison.settings(cell.algorithm, cell.epsilon, seed, self._threads)

    def _run(self, cell: Cell, plan: Plan, fold: Fold) -> Run:
        """Return the run of a fit. Where somebody set ``curves``, numbers may become curves, as in
        ``dpcore train``; else all algorithms have the same features, and one table of them."""
        is_set = "curves" in self._comparison.params.get(cell.algorithm, {})
        return Run(
            plan,
            fold.train,
            fold.data.why_not_private,
            fold.data.parts,
            kept_fraction=self._kept,
            table=None if is_set else fold.train_table,
            table_ledger=None,  # A comparison is noted there as one that has no guarantee.
        )

    def _warm_up(self, cell: Cell, plan: Plan, fold: Fold) -> None:
        """Load the kernels, on a few rows, before the first fit of an algorithm is timed."""
        if self._is_cold(cell):
            with suppress(Exception):  # The fit itself will say what is wrong.
                Run(plan, fold.warm(), kept_fraction=self._kept, table_ledger=None).model()

    def _is_cold(self, cell: Cell) -> bool:
        """Return whether nothing was fitted of an algorithm and a data set; from now on it was."""
        key = (cell.algorithm, cell.data)
        is_cold = key not in self._warm
        self._warm.add(key)
        return is_cold

    def _reference(self, cell: Cell) -> dict[str, Any]:
        fold = self._rows.fold(cell.data, cell.fold)
        if self._is_cold(cell):
            self._fit_reference(cell.algorithm, fold, fold.warm().table())
        started = time.perf_counter()
        found, message = self._fit_reference(cell.algorithm, fold, fold.train_table)
        seconds = time.perf_counter() - started
        if cell.algorithm == "majority":
            scores = metrics_of_constant(fold, found)
        else:
            scores = self._scores(fold, found)
        return self._blank(cell) | {
            **scores,
            "exact_seconds": seconds,
            "message": message,
            "versions": _json(Model.running_versions()),
        }

    def _fit_reference(self, name: str, fold: Fold, table: Table) -> tuple[Any, str]:
        """Return the label that is always given, or w, and how it was found."""
        if name == "majority":
            return majority_label(table), "The commonest class, always."
        l2, shape = self._comparison.measured_l2, fold.train.schema.w_shape
        tables = self._tables(fold, table)
        if len(tables) == 1:
            return fit_nonprivate(table, self._measured, l2, shape)
        found = [fit_nonprivate(of_class, self._measured, l2) for of_class in tables]
        return np.array([w for w, _ in found]), found[0][1]

    def _scores(self, fold: Fold, w: np.ndarray) -> dict[str, Any]:
        """Return metrics of the test rows, each counted once, and the objective of those trained
        on, weighted as the fits' own: without privacy. Against the rest that is the sum of the
        classes' own."""
        scores = metrics_of_w(fold, w, self._loss, self._comparison)
        tables = self._tables(fold, fold.train_table)
        l2, each = self._comparison.measured_l2, (w,) if len(tables) == 1 else w
        pairs = zip(tables, each, strict=True)
        found = [objective_of(t, self._measured, l2, of) for t, of in pairs]
        objective = None if None in found else sum(value for value in found if value is not None)
        is_finite = objective is not None and math.isfinite(objective)
        return {**scores, "exact_objective": objective if is_finite else None}

    def _tables(self, fold: Fold, table: Table) -> list[Table]:
        """Return the table, or those of each class against the rest where these are fitted."""
        label = fold.train.schema.label
        if self._comparison.multiclass is None or label.n_margins == 1:
            return [table]
        return [fold.train.against_the_rest(k).table() for k in range(label.n_classes)]

    def _blank(self, cell: Cell) -> dict[str, Any]:
        """Return the row of a cell, as a reference has it and nothing measured."""
        comparison = self._comparison
        return {
            "data": cell.data,
            "algorithm": cell.algorithm,
            "distribution": "dpcore",
            "parameters": "{}",
            "loss": comparison.shown_loss(self._loss),
            "l2": comparison.measured_l2,
            "epsilon": cell.epsilon,
            "delta": None,
            "relation": comparison.relation,
            "fold": cell.fold,
            "repeat": cell.repeat,
            "exact_accuracy": None,
            "exact_macro_f1": None,
            "exact_objective": None,
            "exact_seconds": None,
            "releases": "{}",
            "accountant": None,
            "budget": None,
            "spent": None,
            "unit": None,
            "private": False,
            "status": FITTED,
            "message": "",
            "versions": "{}",
            "seed": None,
            "chosen": None,
            "most_rows": None,
            "unit_of_protection": None,
            "parts_not_from_dpcore": "[]",
            "exact_rmse": None,
            "exact_mae": None,
            "exact_r2": None,
            "guarantee": None,
            "exact_auc": None,
        }


def _with_features_of(model: Model, fold: Fold) -> Fold:
    """Return the fold with the features that a model is of, hats of numbers perhaps among them."""
    if model.schema.columns == fold.train.schema.columns:
        return fold
    rows = (
        replace(rows, X=curved(rows.X, model.schema), schema=model.schema)
        for rows in (fold.train, fold.test)
    )
    train, test = rows
    return replace(fold, train=train, test=test, train_table=train.table(), test_table=test.table())


def _failed(made: Run, message: str) -> dict[str, Any]:
    """Return what a row has of a fit that failed: it may have been charged all the same."""
    spent, budget, unit = made.charges.charged or (None, None, None)
    told = {"spent": spent, "budget": budget, "unit": unit}
    return {"status": FAILED, "message": message, **told}


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
