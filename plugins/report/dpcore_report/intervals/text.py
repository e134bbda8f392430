"""Intervals of a model's coefficients in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["intervals_in_words"]


def intervals_in_words(intervals: Mapping[str, Any] | None) -> list[str]:
    """Return a line for a report of a model, where intervals were asked for."""
    if intervals is None:
        return []
    if "why_not" in intervals:
        return [f"No intervals of coefficients: {intervals['why_not']}."]
    return ["Intervals of coefficients were released: dpcore summary MODEL shows them."]
