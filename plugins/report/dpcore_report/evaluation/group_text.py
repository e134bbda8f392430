"""Metrics by groups in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcore_report.frames import in_columns

__all__ = ["group_lines", "group_table", "group_title", "groups_in_words"]

_SHORT = "unknown"
_FEW = 5
"""Metrics that a line has room for, beside its name."""


def groups_in_words(metrics: Mapping[str, Any]) -> list[str]:
    """Return lines about each group of a model's released metrics, and the gaps between groups;
    none of metrics of all rows alone."""
    if "by" not in metrics:
        return []
    by, is_share = metrics["by"], "bounds" not in metrics
    lines = [f"  {group_title(metrics)}"]
    lines += [f"    {line}" for line in group_lines(metrics)]
    for gap in by["gaps"]:
        sure = "" if gap["low"] > 0 else ", which noise and sampling may explain"
        lines.append(
            f"  Gap in {gap['figure']}, {gap['highest']} over {gap['lowest']}: "
            f"{_points(gap) if is_share else _told(gap, is_share)}{sure}"
        )
    if not by["gaps"]:
        lines.append("  Gaps between groups are unknown: no two have a metric.")
    return lines


def group_title(metrics: Mapping[str, Any]) -> str:
    """Return the line above the table of groups."""
    return f"By {metrics['by']['column']}; a metric of too few rows for the noise is {_SHORT}:"


def group_lines(metrics: Mapping[str, Any]) -> list[str]:
    """Return the lines of the table of groups, a wide one in parts below each other."""
    heads, rows = group_table(metrics)
    lines = []
    for first in range(1, len(heads), _FEW):
        own = [0, *range(first, min(first + _FEW, len(heads)))]
        lines += in_columns([heads[at] for at in own], [[row[at] for at in own] for row in rows])
    return lines


def group_table(metrics: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of the metrics of groups: a line for each group, or, where metrics are
    more, for each metric."""
    by, is_share = metrics["by"], "bounds" not in metrics
    groups = by["groups"]
    names = [*next(iter(groups.values()))["figures"]]
    size = "times the largest weight" if "largest_weight" in metrics else "about rows"
    heads = [by["column"], size, *names]
    rows = [
        [group, _count(each["rows"]), *(_told(each["figures"][name], is_share) for name in names)]
        for group, each in groups.items()
    ]
    if len(names) <= max(len(groups), _FEW):
        return heads, rows
    first, *others = ([*line] for line in zip(heads, *rows, strict=True))
    return first, others


def _count(rows: Mapping[str, Any]) -> str:
    return f"{rows['value']:,.0f} [{rows['low']:,.0f}, {rows['high']:,.0f}]"


def _told(metric: Mapping[str, Any], is_share: bool) -> str:
    value, low, high = (metric[key] for key in ("value", "low", "high"))
    if value is None:
        return _SHORT
    if is_share:
        return f"{100 * value:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"
    return f"{value:.4g} [{low:.4g}, {high:.4g}]"


def _points(gap: Mapping[str, Any]) -> str:
    value, low, high = (100 * gap[key] for key in ("value", "low", "high"))
    return f"{value:.2f} points [{low:.2f}, {high:.2f}]"
