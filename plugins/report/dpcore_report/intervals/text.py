"""Intervals of a model's coefficients in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["intervals_in_words", "notes_on_intervals"]

_NONE = (
    "They have no intervals: --intervals-share (intervals_share=) spends a share of the budget on "
    "some."
)
_TARGET = (
    "Estimate, standard error and 95 % interval are for the minimum of the stated objective over "
    "the population that the rows are independent draws from, at the fit's number of rows. They "
    "count the noise of all releases behind them and the rows as a sample, and follow from one "
    "Newton step: the estimate is not the model's own coefficient. How many intervals are looked "
    "at is not corrected for."
)


def intervals_in_words(intervals: Mapping[str, Any] | None) -> list[str]:
    """Return a line for a report of a model, where intervals were asked for."""
    if intervals is None:
        return []
    if "why_not" in intervals:
        return [f"No intervals of coefficients: {intervals['why_not']}."]
    return ["Intervals of coefficients were released: dpcore summary MODEL shows them."]


def notes_on_intervals(intervals: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return what is to be known of a model's intervals, or why it has none."""
    if intervals is None:
        return (_NONE,)
    if "why_not" in intervals:
        return (f"There is no interval: {intervals['why_not']}.",)
    return (_TARGET,)
