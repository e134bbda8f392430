"""``dpcore.fit``: the command line's words, for rows that are already in memory."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dpcore.fitting.planning.plan import make_plan
from dpcore.fitting.request.keywords import asked_of
from dpcore.fitting.request.old_words import with_old_words
from dpcore.fitting.rows.in_memory import fit_rows

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.request.fit_options import (
        Algorithm,
        Budget,
        Ledger,
        OneVsRest,
        Rows,
        Threads,
        Unit,
        Users,
        Weights,
    )
    from dpcore.fitting.steps.step import RunStep
    from dpcore.model.model import Model

__all__ = ["fit"]


def fit(
    X: Any,
    y: Any = None,
    *,
    epsilon: float | Budget | None = None,
    delta: float = 1e-8,
    algo: str | Algorithm | None = None,
    params: Mapping[str, Any] | None = None,
    classes: Sequence[Any] | None = None,
    target_bounds: Sequence[float] | None = None,
    bounds: Sequence[Any] | None = None,
    row_norm: float | None = 1.0,
    intercept: bool = True,
    n0: int | Rows | None = None,
    schema: Schema | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    loss: str | OneVsRest | None = None,
    l2: float | None = None,
    relation: str | None = None,
    accountant: str | None = None,
    engine: str | Threads = "local",
    users: Users | None = None,
    unit: str | Unit | None = None,
    class_weight: Mapping[Any, float] | None = None,
    sample_weight: Weights | None = None,
    also: Sequence[RunStep] = (),
    seed: int | None = None,
    ledger: str | os.PathLike[str] | Ledger | None = None,
    **old: Any,
) -> Model:
    """Return a private linear model of the rows, with its statement in ``privacy``.

    Parameters
    ----------
    X : ndarray or SciPy CSR of shape (n_samples, n_features), whose width and dtype are the
        caller's public claim; or, with a ``schema`` of named columns, a frame (pandas, polars,
        pyarrow, anything with ``__arrow_c_stream__``; an array, if all are numeric), or the path of
        a file, or a folder or pattern of Parquet files; or the path of a store of ``dpcore
        convert``, which keeps its schema. The types of a frame's columns are the caller's claim
        too: pandas takes them from all cells of a column, so that one odd cell can change what the
        others become. Read frames with ``dtype=str``, or name the file itself.
    y : labels, whose type is the caller's claim too; ``None`` where they are a column of the frame
        or file.
    classes : the (negative, positive) label, by default (-1, 1), or three classes and more; each a
        value or a list of values. Never read off the rows.
    target_bounds : public (lower, upper) of a real-valued target (losses ``ridge``, ``quantile``),
        in place of classes: it is clamped to them, and predictions are in its own unit.
    bounds : public (lower, upper) of the columns of an array, each a number or one per column.
        Cells are clamped to them and mapped to [0, 1], as a schema's numeric columns are. They come
        from a codebook or common sense, never from the rows (``X.min(axis=0)`` is not private). Not
        for sparse rows, whose zeros would not stay zeros. ``also=[PrivateBounds()]`` releases them.
    row_norm : public l2 norm that rows, after ``bounds`` and with the intercept's 1, are scaled
        down to. Rows of unscaled features are mostly longer, and lose what tells them apart: give
        ``bounds``. ``None``, with ``bounds`` only: the norm that follows from them, which scales no
        row down. Above 2^8, features and norm are divided by a power of two that brings it there;
        ``coef`` is of the features as given, l2 weighs the coefficients of the divided ones.
    n0 : a public value for the number of rows, or ``Rows(n0, capacity=...)``.
    schema : a Schema, its keys as a mapping, the path of its TOML file or the name of a shipped one
        (``dpcore schema --list``); replaces classes, target_bounds, bounds, row_norm, intercept and
        n0.
    loss : a loss's name; ``None`` for ``logistic``; of three classes and more ``softmax``; of a
        number ``ridge``. ``OneVsRest("logistic")`` : a fit of each of three classes and more
        against the rest, all within the one budget.
    l2 : weight of the regulariser; ``None`` for what the algorithm takes by default, mostly 0.
    epsilon : the budget, 1 if not given, or a ``Budget``: of rho or mu, with a conversion, or the
        worst case and the targets where epsilon is an output.
    relation : ``None`` for add-or-remove-one, or the first that the algorithm declares.
    algo : an optimizer's name; by default the algorithm that is registered for it, which takes
        another by budget, loss and accountant and says why. An ``Algorithm`` has slots or a preset
        too, or runs as published.
    accountant : ``None`` for what the preset or the algorithm names, mostly gdp; pure where
        epsilon is an output.
    engine : what sums over the rows, by name. ``dask``, or ``dask:ADDRESS``, reads them itself:
        ``X`` is then a path, or a frame of ``dask.dataframe`` with its label and a ``schema``.
        ``Threads(2)`` : with so many threads; all processors by default. The model is the same.
    params : hyper-parameters of the algorithm; see ``dpcore info``. Parameters of the loss too:
        ``{"loss.tau": 0.9}``.
    users : where rows stay with users, ``Users(path)``: a file, or ``User`` objects.
    unit : the column of a frame or file that says whose a row is, or ``Unit(column, rows=...)``, at
        most how many rows of each are used: the guarantee is then for all rows of one value of it.
        They are the schema's, where that has them.
    class_weight : public weights of classes by name, ``{"rare": 20}``, 1 for those not named. A
        weight multiplies a row's loss, and so its gradient before that is clipped.
        ``also=[BalancedWeights()]`` : from counts of the classes that are released.
    sample_weight : ``Weights(values, bound=...)``: a number >= 0 for each row in memory, as private
        as the row, and the public number that larger ones are held to.
    also : steps beside the fit, each for a share of its budget: ``PrivateBounds``,
        ``BalancedWeights``, ``Calibration``, ``Evaluation``, ``Intervals``, or somebody's own, that
        the statement names. ``Evaluation.of(model)`` and the like have what they found.
    seed : makes the run repeatable and the result not private.
    ledger : the file, or address, of ``dpcore ledger init`` that the run's whole budget is charged
        to before the rows are asked; by default the schema's, or that of ``DPCORE_LEDGER``. A
        ``Ledger`` says who runs it too, and which rows are used.
    old : keywords of earlier versions, for this one: each warns, and shows its new form.

    Raises
    ------
    InvalidInputError, RegistryError, DataError : before any budget is spent.
    LedgerError, BudgetExceededError : the ledger cannot be written, or does not hold the run:
        nothing is asked.
    TargetNotMetError : no model; its ``report`` says what was charged.
    OptimizerError : an algorithm that broke. Whatever ends a fit after its first charge, an
        interrupt too, has a note (``__notes__``) of what was charged.

    Warns
    -----
    FutureWarning : of a keyword of an earlier version.
    DpcoreWarning : before anything is charged, of a run that is not expected to do better than a
        constant, or takes a quarter of a gigabyte or more for its columns; of a model that was
        fitted: a large epsilon or delta, or noise to be expected; of the second fit in a process,
        once, with the sum of the budgets under each relation and unit of protection.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore import fit
    >>> X = np.array([[0.0, 0.5], [0.5, 0.0]] * 50)
    >>> y = np.array([0, 1] * 50)
    >>> model = fit(X, y, classes=(0, 1), epsilon=1.0, bounds=(0, 0.5), row_norm=None)
    >>> model.privacy["private"]
    True
    >>> print(model.report["scaling"])  # doctest: +NORMALIZE_WHITESPACE
    Columns are encoded by the bounds and categories of the schema. No encoded row has a norm above
    sqrt(3), so none is scaled down.
    """
    words = {**locals()}
    started = time.perf_counter()
    asked = asked_of(with_old_words(words, words.pop("old")))
    return fit_rows(make_plan(asked.settings), asked, started)
