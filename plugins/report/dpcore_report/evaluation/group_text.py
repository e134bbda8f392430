"""Figures by groups in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["groups_in_words"]

_SHORT = "unknown"


def groups_in_words(figures: Mapping[str, Any]) -> list[str]:
    """Return lines about each group of a model's released figures, and the gaps between groups;
    none of figures of all rows alone."""
    if "by" not in figures:
        return []
    by, is_share = figures["by"], "bounds" not in figures
    lines = [f"  By {by['column']}; a figure of too few rows for the noise is {_SHORT}:"]
    for group, each in by["groups"].items():
        rows = each["rows"]
        told = ", ".join(f"{name} {_told(of, is_share)}" for name, of in each["figures"].items())
        count = f"{rows['value']:,.0f} [{rows['low']:,.0f}, {rows['high']:,.0f}]"
        lines.append(f"    {group}: about {count} rows, {told}")
    for gap in by["gaps"]:
        sure = "" if gap["low"] > 0 else ", which noise and sampling may explain"
        lines.append(
            f"  Gap in {gap['figure']}, {gap['highest']} over {gap['lowest']}: "
            f"{_points(gap) if is_share else _told(gap, is_share)}{sure}"
        )
    if not by["gaps"]:
        lines.append("  Gaps between groups are unknown: no two have a figure.")
    return lines


def _told(figure: Mapping[str, Any], is_share: bool) -> str:
    value, low, high = (figure[key] for key in ("value", "low", "high"))
    if value is None:
        return _SHORT
    if is_share:
        return f"{value:.2%} [{low:.2%}, {high:.2%}]"
    return f"{value:.4g} [{low:.4g}, {high:.4g}]"


def _points(gap: Mapping[str, Any]) -> str:
    value, low, high = (100 * gap[key] for key in ("value", "low", "high"))
    return f"{value:.2f} points [{low:.2f}, {high:.2f}]"
