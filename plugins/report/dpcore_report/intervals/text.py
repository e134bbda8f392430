"""Intervals of a model's coefficients in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["intervals_in_words", "notes_on_intervals"]

_NONE = (
    "They have no intervals: a fit with --intervals-share (intervals_share=) spends a share of its "
    "budget on them."
)
_TARGET = (
    "An interval is for the coefficient at the minimum of the stated objective over the whole "
    "population, of which the rows are taken to be independent draws, at the fit's number of rows. "
    "It allows for the privacy noise and for the rows being a sample. The estimate in its middle "
    "is one Newton step away from the model's own coefficient. The 95 % are of each interval by "
    "itself: looking at many is not corrected for."
)


def intervals_in_words(intervals: Mapping[str, Any] | None) -> list[str]:
    """Return a line for a report of a model, where intervals were asked for."""
    if intervals is None:
        return []
    if "why_not" in intervals:
        return [f"The coefficients have no intervals: {intervals['why_not']}."]
    return ["Intervals of coefficients were released: dpcore summary MODEL shows them."]


def notes_on_intervals(intervals: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return what is to be known of a model's intervals, or why it has none."""
    if intervals is None:
        return (_NONE,)
    if "why_not" in intervals:
        return (f"The coefficients have no intervals: {intervals['why_not']}.",)
    return (_TARGET,)
