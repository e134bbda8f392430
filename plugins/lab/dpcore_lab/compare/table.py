"""Means over the fits of a comparison, with intervals, as tables of text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import exact
from dpcore_lab.compare.settings import CAPPED, REFERENCES, shown_name

__all__ = [
    "INTERVAL",
    "MEASURES",
    "RISING",
    "SHARES",
    "Mean",
    "default_measure",
    "means_of",
    "measures_beside",
    "tables_of",
]

EXACT = "exact_"
"""The beginning of the names of columns that are computed without privacy, whatever the fit was."""
MEASURES = {
    "accuracy": "test accuracy in %",
    "macro_f1": "macro F1 of the test rows in %",
    "objective": "objective on the training rows",
    "seconds": "seconds of a fit",
    "rmse": "root mean square error of the test rows, in the target's unit",
    "mae": "mean absolute error of the test rows, in the target's unit",
    "r2": "R2 of the test rows",
    "auc": "area under the ROC curve (AUC) of the test rows",
}
SHARES = ("accuracy", "macro_f1")
"""Measures that are shown in %; more is better."""
RISING = (*SHARES, "r2", "auc")
"""Measures that are better where they are more."""
_OF_NUMBERS = ("rmse", "mae", "r2")
INTERVAL = (
    "mean and its 95 % interval (Student's t) over all folds and repeats; a reference is fitted "
    "once a fold"
)
_LEVEL = 0.975
"""Quantile whose t bounds a two-sided interval of 95 %."""


@dataclass(frozen=True)
class Mean:
    """The fits of one algorithm at one epsilon on one data set.

    Parameters
    ----------
    epsilon : ``None`` for a reference.
    mean : of the measure, shares in %; ``None`` where no fit has a value.
    half_width : of the interval; ``None`` for fewer than two values.
    fits, failed : how many fits have a value, the interval's sample, and how many failed.
    unsound : a fit is not private, and not for its seed alone.
    untested : how many fits there are beside those, without a row to measure on.
    capped : how many were stopped at a cap.
    guarantee : what is said of that of an external.
    """

    data: str
    algorithm: str
    epsilon: float | None
    mean: float | None
    half_width: float | None
    fits: int
    failed: int
    unsound: bool = False
    untested: int = 0
    capped: int = 0
    guarantee: str | None = None

    @property
    def made(self) -> int:
        """The number of fits that were begun, whatever came of them."""
        return self.fits + self.failed + self.capped + self.untested

    def text(self) -> str:
        """Return mean and half width, and how many failed or reached a cap, if any."""
        ends = (self.failed, "failed"), (self.capped, "reached a cap")
        ended = ", ".join(f"{count} of {self.made} {how}" for count, how in ends if count)
        failed = f" ({ended})" if ended else ""
        if self.mean is None:
            return failed.strip(" ()") or "none"
        digits = 2 if self.mean >= 10 else 4
        width = "" if self.half_width is None else f" ±{self.half_width:.{digits}f}"
        return f"{self.mean:.{digits}f}{width}{failed}"


def default_measure(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return accuracy, or objective where no row has an accuracy, as of a regression."""
    return "accuracy" if any(row[f"{EXACT}accuracy"] is not None for row in rows) else "objective"


def measures_beside(rows: Iterable[Mapping[str, Any]], measure: str) -> tuple[str, ...]:
    """Return the measures that are shown with one: AUC, and of several classes macro F1, with
    accuracy, which rare classes hardly move; the errors of a regression with its objective."""
    beside = {"accuracy": ("auc", "macro_f1"), "objective": _OF_NUMBERS}.get(measure, ())
    rows = tuple(rows)
    return tuple(b for b in beside if any(row.get(f"{EXACT}{b}") is not None for row in rows))


def means_of(rows: Sequence[Mapping[str, Any]], measure: str) -> list[Mean]:
    """Return the means of a measure, in the order in which data and algorithms first appear.

    Raises InvalidInputError for another measure, or where no row has this one though rows have
    others.
    """
    if measure not in MEASURES:
        raise InvalidInputError(f"Expected y={measure!r} to be {', '.join(MEASURES)}.")
    groups: dict[tuple[str, str, float | None], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["data"], row["algorithm"], row["epsilon"]), []).append(row)
    means = [_mean(key, of_key, measure) for key, of_key in groups.items()]
    metrics = [f"{EXACT}{name}" for name in ("accuracy", "objective")]
    measured = any(row[metric] is not None for row in rows for metric in metrics)
    if measured and all(mean.mean is None for mean in means):
        raise InvalidInputError(f"No fit has a value of {measure}.")
    return means


def _mean(key: tuple[str, str, float | None], rows: list[Mapping[str, Any]], measure: str) -> Mean:
    scale = 100.0 if measure in SHARES else 1.0
    found = [row.get(f"{EXACT}{measure}") for row in rows]
    values = [scale * value for value in found if value is not None]
    failed = sum(row["status"] == "failed" for row in rows)
    mean = math.fsum(values) / len(values) if values else None
    # With a seed no fit is private, which says nothing of the algorithm.
    unsound = any(row["private"] is False and row["seed"] is None for row in rows)
    capped = sum(row["status"] == CAPPED for row in rows)
    guarantee = next((row["guarantee"] for row in rows if row.get("guarantee")), None)
    # The commoner class has no objective, on any rows, nor has what may be no linear model.
    has_none = measure == "objective" and (key[1] == "majority" or guarantee is not None)
    untested = 0 if has_none else len(rows) - len(values) - failed - capped
    made = Mean(*key, mean, _half_width(values), len(values), failed, unsound)
    return replace(made, untested=untested, capped=capped, guarantee=guarantee)


def _half_width(values: list[float]) -> float | None:
    """Return t s / sqrt(n), s the sample's standard deviation."""
    n = len(values)
    if n < 2:
        return None
    from scipy.special import stdtrit

    mean = math.fsum(values) / n
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return float(stdtrit(n - 1, _LEVEL)) * math.sqrt(variance / n)


def tables_of(means: Sequence[Mean]) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Yield for each data set its name, column heads and rows of text: algorithms by epsilon.

    A reference, which takes no epsilon, has its metric in every column; alone, in one.
    """
    taken = sorted({mean.epsilon for mean in means if mean.epsilon is not None})
    epsilons: Sequence[float | None] = taken or (None,)
    heads = ["epsilon", *map(exact, taken)] if taken else ["epsilon", "any"]
    for data in dict.fromkeys(mean.data for mean in means):
        cells = {(m.algorithm, m.epsilon): m.text() for m in means if m.data == data}
        names = list(dict.fromkeys(name for name, _ in cells))
        unsound = {mean.algorithm for mean in means if mean.unsound}
        said = {mean.algorithm: mean.guarantee for mean in means}
        ordered = sorted(names, key=lambda name: name in REFERENCES)
        yield (
            data,
            heads,
            [
                [
                    shown_name(name, unsound=name in unsound, guarantee=said[name]),
                    *(cells.get((name, e)) or cells.get((name, None), "") for e in epsilons),
                ]
                for name in ordered
            ],
        )
