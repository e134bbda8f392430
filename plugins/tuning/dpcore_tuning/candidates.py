"""The candidates of a search: a public list of settings, in the order in which they were named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError

if TYPE_CHECKING:
    from dpcore.plugin import Settings

__all__ = ["MOST", "Candidate", "grid_of", "settings_of"]

Candidate = Mapping[str, Any]
"""Values by name: ``l2``, parameters of the algorithm, and those of the loss as ``loss.NAME``."""
MOST = 1000
"""Candidates: each of them is checked before anything is charged."""


def grid_of(values: Mapping[str, Sequence[Any]]) -> list[Candidate]:
    """Return every combination of the values, the last name's the first to change.

    Raises InvalidInputError for no name, one without a value, or more combinations than are taken.
    """
    if not values:
        raise InvalidInputError('Expected candidates: names and lists of values, {"l2": [0.01]}.')
    count = 1
    for name, several in values.items():
        if not several:
            raise InvalidInputError(f"Expected a value of {name} or more.")
        count *= len(several)
    _check_count(count)
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


def settings_of(settings: Settings, candidates: Iterable[Candidate]) -> list[Settings]:
    """Return the settings of each candidate.

    Raises InvalidInputError for no candidates, too many, or two that are the same: that one would
    be drawn twice as often.
    """
    listed = [dict(candidate) for candidate in candidates]
    _check_count(len(listed))
    if any(listed[i] in listed[:i] for i in range(len(listed))):
        raise InvalidInputError("Expected every candidate once: two of them are the same.")
    return [_with(settings, candidate) for candidate in listed]


def _check_count(count: int) -> None:
    if not 1 <= count <= MOST:
        raise InvalidInputError(f"Expected from 1 to {MOST:,} candidates, not {count:,}.")


def _with(settings: Settings, candidate: dict[str, Any]) -> Settings:
    values = {name.replace("-", "_"): value for name, value in candidate.items()}
    both = set(values) & {name.replace("-", "_") for name in settings.params}
    if len(values) < len(candidate) or both:
        raise InvalidInputError("Expected every name of a candidate's values once.")
    l2 = values.pop("l2", settings.l2)
    return replace(settings, l2=l2, params={**settings.params, **values})
