"""Metrics of each group of rows held out, and the gaps between groups: of one release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import sqrt
from typing import Any

import numpy as np

from dpcore_report.evaluation.error_metrics import metrics_of_errors
from dpcore_report.evaluation.groups import Groups
from dpcore_report.evaluation.intervals import CLEAR, share_of
from dpcore_report.evaluation.metrics import metrics_of_cells

__all__ = ["gap_of", "metrics_by_groups", "moments_by_groups"]

_Metric = Mapping[str, Any]
_UNKNOWN = {"value": None, "low": 0.0, "high": 1.0}


def metrics_by_groups(
    counts: np.ndarray,
    groups: Groups,
    names: tuple[str, ...],
    asked: tuple[float, int],
    *,
    weighted: bool = False,
) -> dict[str, Any]:
    """Return what the counts of ``GroupCounts`` say of a model, as ``metrics_of_counts`` does of
    all rows, and by groups: accuracy, the share of rows that get each class, and recalls.

    ``counts`` : float64 of shape (n_groups, n_classes, n_classes), as released. ``asked`` : the
    deviation of the noise of each count, and the most rows of a unit. The counts of all rows are
    sums over groups, so that their noise has the root of the number of groups as much.
    """
    deviation, many = asked
    said = np.indices(counts.shape[1:])[1]
    total = deviation * sqrt(len(counts)), many
    metrics = metrics_of_cells(counts.sum(axis=0), said, names, total, weighted)
    each = {
        group: _of_group(cells, said, names, asked)
        for group, cells in zip(groups.names, counts, strict=True)
    }
    told = {"column": groups.column, "groups": each, "gaps": _gaps(each, many)}
    return metrics | {"by": told, "noise_deviation": deviation, "counts": counts.tolist()}


def moments_by_groups(
    sums: np.ndarray,
    groups: Groups,
    bounds: tuple[float, float],
    deviation: float,
    rows_per_unit: int,
) -> dict[str, Any]:
    """Return what the sums of ``GroupMoments`` say of a model, as ``metrics_of_errors`` does, and
    by groups: the errors and the mean of the targets of each."""
    noise = deviation * sqrt(len(sums))
    metrics = metrics_of_errors(sums.sum(axis=0), bounds, noise, rows_per_unit)
    shown = ("rmse", "mae", "r2", "mean")
    each = {}
    for group, own in zip(groups.names, sums, strict=True):
        found = metrics_of_errors(own, bounds, deviation, rows_per_unit)
        told = {name: found[name] for name in shown if name in found}
        each[group] = {"rows": found["held_out_rows"], "figures": told}
    told = {"column": groups.column, "groups": each, "gaps": _gaps(each, rows_per_unit)}
    return metrics | {"by": told, "noise_deviation": deviation, "sums": sums.tolist()}


def _of_group(
    cells: np.ndarray, said: np.ndarray, names: tuple[str, ...], asked: tuple[float, int]
) -> dict[str, Any]:
    """Return the rows of a group and its metrics by name. Those over too few rows for the noise of
    their cells are unknown."""
    found = metrics_of_cells(cells, said, names, asked, True)
    of = np.indices(cells.shape)[0]
    told = {"accuracy": _clear(found["accuracy"], cells, asked)}
    positive = range(1, 2) if len(names) == 2 else range(len(names))
    for place in positive:
        share = share_of(cells, said == place, *asked)._asdict()
        told[f"said {names[place]}"] = _clear(share, cells, asked)
    for place, name in enumerate(names):
        told[f"recall {name}"] = _clear(found["recall"][name], cells[of == place], asked)
    return {"rows": found["held_out_rows"], "figures": told}


def _clear(metric: _Metric, cells: np.ndarray, asked: tuple[float, int]) -> _Metric:
    """Return a share, or none of rows whose noisy number is no more than its noise."""
    least = max(1.0, CLEAR * asked[0] * sqrt(cells.size))
    return metric if cells.sum() >= least else _UNKNOWN


def _gaps(groups: Mapping[str, Any], rows_per_unit: int) -> list[dict[str, Any]]:
    """Return, of each metric that two groups have, those furthest apart, and how far."""
    found = []
    for name in next(iter(groups.values()))["figures"]:
        known = dict(_known(groups, name))
        if len(known) > 1:
            top = max(known, key=lambda group: known[group]["value"])
            bottom = min(known, key=lambda group: known[group]["value"])
            gap = gap_of(known[top], known[bottom], independent=rows_per_unit == 1)
            found.append({"figure": name, "highest": top, "lowest": bottom, **gap})
    return found


def _known(groups: Mapping[str, Any], name: str) -> Iterator[tuple[str, _Metric]]:
    for group, each in groups.items():
        metric = each["figures"][name]
        if None not in (metric["value"], metric["low"], metric["high"]):
            yield group, metric


def gap_of(top: _Metric, bottom: _Metric, *, independent: bool) -> dict[str, float]:
    """Return the difference of two metrics of different rows, with its interval at 95 %. The
    squares of each metric's distances to the ends of its own interval add up (Newcombe 1998, method
    10; Zou & Donner 2008). Where rows of a unit may be in both groups the metrics depend on each
    other, and the distances add up themselves, which bounds whatever the dependence is."""
    value = top["value"] - bottom["value"]
    below = top["value"] - top["low"], bottom["high"] - bottom["value"]
    above = top["high"] - top["value"], bottom["value"] - bottom["low"]
    reach = [sqrt(a**2 + b**2) if independent else a + b for a, b in (below, above)]
    return {"value": value, "low": value - reach[0], "high": value + reach[1]}
