"""``dpcore plan``: which epsilon, or how many rows, a model of some use takes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

from dpcore.errors import InvalidInputError
from dpcore.plugin.commands import Option, print_json, print_lines
from dpcore_accounting.commands.printing import print_table

if TYPE_CHECKING:
    from dpcore_report.forecast import Forecast
    from dpcore_report.normalised_error import NormalisedError

__all__ = ["plan_command"]

_ROWS = (300, 1000, 3000, 10_000, 30_000, 100_000)
_EPSILONS = (0.1, 0.3, 1.0, 3.0)
_RANGES = " Nine in ten kept a share within the range in brackets; {} keeps the least."
_LEAST = ("a target far smaller than its bounds", "a label with rare classes")
"""Of squared loss, and of several classes."""


def plan_command(
    features: Annotated[
        int,
        Option(help="Columns once encoded: a category counts as many as it has values."),
    ],
    rows: Annotated[int | None, Option(help="Rows to train on.")] = None,
    epsilon: Annotated[float | None, Option(help="Budget: epsilon > 0.")] = None,
    delta: Annotated[float, Option(help="Budget: 0 < delta < 1.")] = 1e-8,
    relation: Annotated[
        str, Option(help="add-or-remove-one or replace-one.")
    ] = "add-or-remove-one",
    rows_per_unit: Annotated[
        int | None,
        Option(help="Protect units of several rows, such as persons: at most so many of each."),
    ] = None,
    loss: Annotated[
        str | None,
        Option(help="logistic, huber-svm, hinge-svm, softmax or ridge; by --classes if not given."),
    ] = None,
    classes: Annotated[int, Option(help="Classes of the label; 3 and more: softmax.")] = 2,
    test_fraction: Annotated[float, Option(help="Share of the rows that are held out.")] = 0.0,
    evaluate_share: Annotated[float, Option(help="As of dpcore train: so much less to fit.")] = 0.0,
    intervals_share: Annotated[float, Option(help="Likewise.")] = 0.0,
    calibrate_share: Annotated[float, Option(help="Likewise.")] = 0.0,
    target_accuracy: Annotated[
        float | None, Option(help="Share of rows to get right; with --classes-share.")
    ] = None,
    target_mse: Annotated[
        float | None, Option(help="Mean squared error, over the target's variance.")
    ] = None,
    classes_share: Annotated[float | None, Option(help="Share of the commonest class.")] = None,
    nonprivate_accuracy: Annotated[
        float | None,
        Option(help="Accuracy without privacy; by default as on public tables."),
    ] = None,
    nonprivate_mse: Annotated[
        float | None, Option(help="Error without privacy, over the variance; likewise.")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Forecast what a default fit reaches, from public values alone.

    With --rows and --epsilon: the result to expect. With a target and --rows: the epsilon that it
    takes; with a target and --epsilon: the rows. With neither: a table.

    Example: dpcore plan --rows 2000 --features 30 --loss ridge --target-mse .5

    The gain of a model is how many errors fewer it makes than a constant prediction, and privacy
    keeps a share of it. This share is forecast from public tables, without a guarantee. No data
    are read, and nothing is charged.
    """
    from dpcore.plugin import Settings
    from dpcore.plugin.parts import PrivacyStatement
    from dpcore_report.forecast import Forecast
    from dpcore_report.normalised_error import NormalisedError

    loss = loss or ("logistic" if classes == 2 else "softmax")
    settings = Settings(loss=loss, delta=delta, relation=relation)
    beside = evaluate_share + intervals_share + calibrate_share
    forecast = Forecast(settings, features, rows_per_unit, classes, beside, test_fraction)
    normalised_error = NormalisedError(
        classes=classes,
        classification=forecast.classification,
        classes_share=classes_share,
        nonprivate_accuracy=nonprivate_accuracy,
        nonprivate_mse=nonprivate_mse,
    )
    typical = forecast.utility(1.0 if epsilon is None else epsilon, 1 if rows is None else rows)
    without = normalised_error.without_privacy(typical.error_left)
    kept = normalised_error.kept_at(target_accuracy, target_mse, without)
    if kept is None:
        told = _results(forecast, normalised_error, without, rows, epsilon)
    else:
        told = _needs(forecast, kept, rows, epsilon)
    if as_json:
        facts = {"error_left_without_privacy": without, "spread": typical.spread}
        facts["memory_bytes"] = forecast.memory()
        goal = {} if kept is None else {"kept": kept}
        print_json({**forecast.asked, **facts, **goal, "forecasts": told})
        return
    _print(told, kept)
    ranges = _ranges(typical.between, kept, classification=forecast.classification)
    found = (PrivacyStatement.guarantee_warnings(run["epsilon"] or 0.0, delta) for run in told)
    print_lines(*(f"dpcore: warning: {each}" for own in found for each in own), err=True)
    print_lines(
        f"{_gain(without, nonprivate_accuracy or nonprivate_mse)} This is a forecast and no "
        f"guarantee: on half of the public tables it was right within {typical.spread:.2g}."
        f"{ranges} {_protected(forecast)} A run takes about {forecast.memory()} "
        "beside its rows. No data were read, nothing was charged."
    )


def _gain(without: float, given: float | None) -> str:
    """Return a sentence on what a share is of. ``given`` : a value without privacy."""
    source = ", the median of public tables" if given is None else ""
    return (
        "The gain is how many errors a model without privacy saves, compared with a constant "
        f"prediction. It is assumed to save {1 - without:.0%} of them{source}."
    )


def _ranges(between: object, kept: float | None, *, classification: bool) -> str:
    """Return a sentence on the ranges that are shown; none without them."""
    return "" if between is None or kept is not None else _RANGES.format(_LEAST[classification])


def _protected(forecast: Forecast) -> str:
    """Return sentences on whose rows the noise is for, and on what the fit does not have."""
    k = forecast.rows_per_unit
    if k is None:
        told = "One row is protected; for persons with several rows see --rows-per-unit."
    else:
        told = f"All rows of a unit, at most {k:,}, are protected together."
    parts = []
    if forecast.beside:
        parts.append(f"{forecast.beside:.0%} of the budget, for steps beside it")
    if forecast.held_out:
        parts.append(f"{forecast.held_out:.0%} of the rows, which are held out")
    return f"{told} The fit is without {' and '.join(parts)}." if parts else told


def _results(
    forecast: Forecast,
    normalised_error: NormalisedError,
    without: float,
    rows: int | None,
    epsilon: float | None,
) -> list[dict[str, Any]]:
    """Return what is to be expected of the rows and epsilon given, or of several."""
    from dpcore.plugin import ExpectedUtility

    told = []
    for n in _ROWS if rows is None else [rows]:
        for budget in _EPSILONS if epsilon is None else [epsilon]:
            utility = forecast.utility(budget, n)
            kept = utility.kept or 0.0
            run: dict[str, Any] = {
                "rows": n,
                "epsilon": budget,
                "kept": kept,
                **normalised_error.reached(kept, without),
            }
            if utility.between is not None:
                run["between"] = list(utility.between)
            told.append({**run, "rows_needed": int(ExpectedUtility.rounded(utility.rows_needed))})
    return told


def _needs(
    forecast: Forecast, kept: float, rows: int | None, epsilon: float | None
) -> list[dict[str, Any]]:
    """Return the epsilon that keeps a share of so many rows, or the rows that do at an epsilon, or
    at several; ``None`` in the place of a value that does not do at any size."""
    from dpcore.plugin import ExpectedUtility

    if rows is not None:
        if epsilon is not None:
            raise InvalidInputError(
                "A target asks for an epsilon or for a number of rows: leave out --epsilon or "
                "--rows; without a target both say what to expect."
            )
        found = forecast.epsilon_for(kept, rows)
        return [
            {
                "rows": rows,
                "epsilon": ExpectedUtility.rounded(found) if math.isfinite(found) else None,
            }
        ]
    told = []
    for budget in _EPSILONS if epsilon is None else [epsilon]:
        least = forecast.rows_for(kept, budget)
        needed = math.ceil(ExpectedUtility.rounded(least)) if math.isfinite(least) else None
        told.append({"rows": needed, "epsilon": budget})
    return told


def _print(told: list[dict[str, Any]], kept: float | None) -> None:
    if len(told) == 1:
        print_lines(_sentence(told[0], kept))
    elif kept is not None:
        cells = [(f"{run['epsilon']:g}", _count(run["rows"])) for run in told]
        print_table("Forecast", ("epsilon", f"rows that keep {kept:.0%} of the gain"), cells)
    else:
        epsilons = list(dict.fromkeys(run["epsilon"] for run in told))
        all_rows = dict.fromkeys(run["rows"] for run in told)
        shares = {(run["rows"], run["epsilon"]): _shares(run) for run in told}
        columns = ("rows", *(f"epsilon {epsilon:g}" for epsilon in epsilons))
        lines = [(f"{n:,}", *(shares[n, epsilon] for epsilon in epsilons)) for n in all_rows]
        print_table("Share of the gain that is kept", columns, lines)


def _sentence(run: dict[str, Any], kept: float | None) -> str:
    """Return the forecast of one run in words."""
    rows, epsilon = run["rows"], run["epsilon"]
    if kept is None:
        values = [f"{name} {run[name]:.3g}" for name in ("accuracy", "mse") if name in run]
        few = " Expect no better." if rows < run["rows_needed"] else ""
        reached = "".join(f", {value}" for value in values)
        return (
            f"{rows:,} rows at epsilon = {epsilon:g} keep about {_shares(run)} of the gain"
            f"{reached}. It takes about {run['rows_needed']:,} rows to do better than a constant "
            f"prediction.{few}"
        )
    goal = f"to keep {kept:.0%} of the gain"
    if rows is None or epsilon is None:
        given = f"epsilon = {epsilon:g}" if rows is None else f"{rows:,} rows"
        return f"There is no way {goal} with {given}: more rows and a larger epsilon help."
    return f"It takes about {rows:,} rows and epsilon = {epsilon:g} {goal}."


def _shares(run: dict[str, Any]) -> str:
    """Return the share that is kept, and between which of them it is in nine of ten tables."""
    if "between" not in run:
        return f"{run['kept']:.0%}"
    low, high = run["between"]
    return f"{run['kept']:.0%} ({low:.0%} to {high:.0%})"


def _count(rows: int | None) -> str:
    return "none do" if rows is None else f"{rows:,}"
