"""``dpcore.fit``: the command line's words, for rows that are already in memory."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpcore.data.readers.frames import declares_truth, frame_names, frame_of, is_frame
from dpcore.data.row_part import rows_of_part
from dpcore.data.units import coins_of
from dpcore.errors import InvalidInputError, warn_caller
from dpcore.fitting.cautions import cautions_of
from dpcore.fitting.engines import require_all_rows, rows_of
from dpcore.fitting.evaluated import parted, require_held_out
from dpcore.fitting.fits import FITS
from dpcore.fitting.foresight import Foresight
from dpcore.fitting.loading import schema_reasons
from dpcore.fitting.plan import make_plan
from dpcore.fitting.rows import dataset_of, schema_of, with_units
from dpcore.fitting.run import finish, fit_dataset
from dpcore.fitting.sample_weights import require_bound, with_sample_weight
from dpcore.fitting.settings import Settings
from dpcore.fitting.table_ledger import LedgerRequest
from dpcore.fitting.usual_loss import loss_of_rows
from dpcore.session.charges import Charges

if TYPE_CHECKING:
    from dpcore.data.dataset import Dataset
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.steps import RunStep
    from dpcore.model.model import Model

__all__ = ["fit"]


def fit(
    X: Any,
    y: Any = None,
    *,
    algo: str = "auto",
    epsilon: float | None = None,
    delta: float = 1e-8,
    rho: float | None = None,
    mu: float | None = None,
    epsilon_max: float | None = None,
    targets: Mapping[str, Any] | None = None,
    classes: Sequence[Any] | None = None,
    target_bounds: Sequence[float] | None = None,
    bounds: Sequence[Any] | None = None,
    private_bounds: bool = False,
    row_norm: float | None = 1.0,
    intercept: bool = True,
    n0: int | None = None,
    capacity: int | None = None,
    schema: Schema | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    loss: str | None = None,
    multiclass: str | None = None,
    l2: float | None = None,
    relation: str | None = None,
    accountant: str | None = None,
    conversion: str | None = None,
    engine: str = "local",
    threads: int | None = None,
    use: Mapping[str, str] | None = None,
    params: Mapping[str, Any] | None = None,
    preset: str | None = None,
    as_published: bool = False,
    users: Any = None,
    trust: str | None = None,
    unit: str | None = None,
    rows_per_unit: int | None = None,
    class_weight: Mapping[Any, float] | str | None = None,
    largest_weight: float = 10.0,
    sample_weight: Any = None,
    weight_bound: float | None = None,
    test_fraction: float | None = None,
    evaluate_share: float | None = None,
    evaluate_epsilon: float | None = None,
    intervals_share: float | None = None,
    also: Sequence[RunStep] = (),
    seed: int | None = None,
    ledger: str | os.PathLike[str] | None = None,
    analyst: str = "",
    same_table: bool = False,
    part: str | None = None,
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
        for sparse rows, whose zeros would not stay zeros.
    private_bounds : whether bounds of numeric columns that have none, of an array or a schema, are
        released from the rows, for a tenth of the budget: noisy quantiles, named in the statement.
    row_norm : public l2 norm that rows, after ``bounds`` and with the intercept's 1, are scaled
        down to. Rows of unscaled features are mostly longer, and lose what tells them apart: give
        ``bounds``. ``None``, with ``bounds`` only: the norm that follows from them, which scales no
        row down. Above 2^8, features and norm are divided by a power of two that brings it there;
        ``coef`` is of the features as given, l2 weighs the coefficients of the divided ones.
    n0, capacity : public figures for the number of rows.
    schema : a Schema, its keys as a mapping, the path of its TOML file or the name of a shipped one
        (``dpcore schema --list``); replaces classes, target_bounds, bounds, row_norm, intercept, n0
        and capacity.
    loss : a loss's name; ``None`` for ``logistic``; of three classes and more ``softmax``; of a
        number ``ridge``.
    multiclass : ``"ovr"`` for a fit of each of three classes and more against the rest, all within
        the one budget: for algorithms and losses of two classes (logistic, then, where none is
        named). Of two classes it is one fit as ever.
    l2 : weight of the regulariser; ``None`` for what the algorithm takes by default, mostly 0.
    epsilon : the budget, 1 if not given; where it is an output, ``epsilon_max`` (5 if not given).
    rho, mu : the budget as rho-zCDP or mu-GDP, in place of epsilon: the filter enforces exactly
        that, and the epsilon that follows at ``delta`` is stated beside it.
    targets : what such an algorithm is asked for, as ``{"target_excess_risk": 0.05}``.
    relation : ``None`` for add-or-remove-one, or the first that the algorithm declares.
    algo : an optimizer's name; ``"auto"`` takes one by budget, loss and accountant, and says why.
    accountant : ``None`` for what the preset or the algorithm names, mostly gdp; pure where
        epsilon is an output.
    engine : what sums over the rows, by name. ``dask``, or ``dask:ADDRESS``, reads them itself:
        ``X`` is then a path, or a frame of ``dask.dataframe`` with its label and a ``schema``.
    threads : how many may sum over the rows; ``None`` for all processors. The model is the same.
    use, params, preset : slots, hyper-parameters and preset of the algorithm; see ``dpcore info``.
        Parameters of the loss too: ``{"loss.tau": 0.9}``.
    users, trust : where rows stay with users: a path or ``dpcore.plugin.User`` objects, who own the
        rows in their order, and what their server sees; by default users of one budget, and local.
    unit, rows_per_unit : the column of a frame or file that says whose a row is, and at most how
        many rows of each are used: the guarantee is then for all rows of one value of it. They are
        the schema's, where that has them.
    class_weight : public weights of classes by name, ``{"rare": 20}``, 1 for those not named; or
        ``"balanced"``: n / (n_classes count), from counts of the classes that are released for a
        twentieth of the budget. A weight multiplies a row's loss, and so its gradient before that
        is clipped. ``largest_weight`` : the most that a balanced one may come to.
    sample_weight : a number >= 0 for each row in memory, as private as the row; it multiplies the
        row's loss likewise. ``weight_bound`` : a public number that larger ones are held to.
    test_fraction, evaluate_share, evaluate_epsilon : the share of the rows, or units, that are held
        out by coins for a private evaluation, and the share of the budget that it takes, or the
        epsilon, within the run's, that it has by itself; figures are in ``Model.evaluation``.
    intervals_share : the share of the budget, such as 0.4, for standard errors and intervals of
        the coefficients (``summary``) and of predictions (``predict_interval``).
    also : steps of somebody's own, each with a share of the budget; what they find is in
        ``Model.sections``, and the statement names them.
    seed : makes the run repeatable and the result not private.
    ledger : the file, or address, of ``dpcore ledger init`` that the run's whole budget is charged
        to before the rows are asked; by default the schema's, or that of ``DPCORE_LEDGER``.
    analyst, same_table : who runs it, for the ledger's table of runs; whether a schema that the
        ledger does not know is of the same rows, which is recorded.
    part : ``"column=level"`` of a schema's column of listed categories or bins: its rows alone are
        used. In a ledger, runs over parts by one column cost what the dearest part costs.

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
    Columns are encoded by their bounds and categories: no row is longer than sqrt(3), and none is
    scaled down.
    """
    started = time.perf_counter()
    if isinstance(classes, Iterator):  # It is read several times from here on.
        classes = tuple(classes)
    require_bound(X, sample_weight, weight_bound)
    schema = with_units(schema_of(schema, private_bounds), unit, rows_per_unit)
    loss = loss or loss_of_rows(X, schema, classes, multiclass, target_bounds)
    settings = Settings(
        algo=algo,
        loss=loss,
        l2=l2,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        mu=mu,
        epsilon_max=epsilon_max,
        targets=targets or {},
        relation=relation,
        accountant=accountant,
        conversion=conversion,
        engine=engine,
        threads=threads,
        use=dict(use or {}),
        params=dict(params or {}),
        preset=preset,
        as_published=as_published,
        users=users,
        trust=trust,
        units=schema is not None and schema.unit is not None,
        class_weight=class_weight,
        largest_weight=largest_weight,
        weight_bound=weight_bound,
        evaluate_share=evaluate_share,
        evaluate_epsilon=evaluate_epsilon,
        intervals_share=intervals_share,
        also=tuple(also),
        seed=seed,
        multiclass=multiclass,
    )
    plan = make_plan(settings)
    require_held_out(plan, test_fraction)
    require_all_rows(plan.engine, part)
    X = frame_of(X)
    named = schema is not None or isinstance(X, (str, os.PathLike))
    is_left_out = target_bounds is None and (classes is None or bounds is not None)
    if is_left_out and not (named or plan.loss.classification):
        raise InvalidInputError(
            f"The loss {loss} needs target_bounds=(lower, upper) of its target; bounds are those "
            "of the feature columns."
        )
    public: dict[str, Any] = {"classes": classes, "target_bounds": target_bounds, "bounds": bounds}
    public |= {"row_norm": row_norm, "n0": n0, "capacity": capacity}
    public["private_bounds"] = private_bounds
    coins = coins_of(settings.seed, "units")

    def read() -> Dataset:
        whole = dataset_of(X, y, schema, intercept, coins=coins, **public)
        whole = with_sample_weight(whole, sample_weight, weight_bound)
        return rows_of_part(whole, part)

    charges, foresight = Charges(), Foresight(warn_caller)
    with (
        rows_of(plan, X, schema, {"y": y, "sample_weight": sample_weight, **public}, read) as at,
        FITS.with_those_that_break(),
        charges.told(),
    ):
        rows, opened = at
        dataset, held_out = parted(plan, rows, test_fraction)
        reasons = schema_reasons(dataset.schema)
        model = fit_dataset(
            plan,
            dataset,
            reasons,
            kept_fraction=1.0 - (test_fraction or 0.0),
            held_out=held_out,
            charges=charges,
            foresight=foresight,
            engine=opened,
            table_ledger=LedgerRequest(ledger, analyst, same_table),
        )
        own = _own_classes(classes) if classes is not None else _truth_classes(X, y, model.schema)
        model = replace(model, class_values=own)
        for caution in cautions_of(model, foretold=foresight.failing):
            warn_caller(caution)
        model = finish(plan, model, dataset, started, {}).model
    FITS.add(model)
    return model


def _truth_classes(X: Any, y: Any, schema: Schema) -> tuple[bool, bool] | None:
    """Return truth values as classes where the labels declare that they are some and the schema,
    which holds text, lists true and false; ``None`` where they are not."""
    label = schema.label
    if y is None and is_frame(X) and label.name in frame_names(X):
        y = X[label.name]
    words = [str(name).lower() for name in label.names]
    if not declares_truth(y) or sorted(words) != ["false", "true"]:
        return None
    return words[0] == "true", words[1] == "true"


def _own_classes(classes: Sequence[Any]) -> tuple[Any, ...]:
    """Return one value for each class as the caller wrote it, so that predictions compare equal to
    the labels: the schema holds text and float64 only."""
    return tuple(c[0] if isinstance(c, (list, tuple)) else c for c in classes)
