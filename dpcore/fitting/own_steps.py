"""The steps of a run that are dpcore's own, in the order in which they run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpcore.fitting.balanced import BalancedWeights
from dpcore.fitting.evaluated import Evaluation
from dpcore.fitting.inferred import Intervals
from dpcore.fitting.private_bounds import PrivateBounds

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.settings import Settings
    from dpcore.fitting.steps import RunStep

__all__ = ["OWN_STEPS", "steps_of"]

OWN_STEPS = (PrivateBounds, BalancedWeights, Evaluation, Intervals)
"""An evaluation scores what ``predict`` returns, so that it is after whatever changes that."""


def steps_of(settings: Settings, schema: Schema) -> Iterator[RunStep]:
    """Yield the steps that the settings and the schema of a run ask for, in their order: dpcore's
    own, then those of somebody's own as they were given."""
    asked = list(settings.also)
    if schema.unbounded and not any(isinstance(step, PrivateBounds) for step in asked):
        asked.insert(0, PrivateBounds())
    if not schema.unbounded:
        asked = [step for step in asked if type(step) is not PrivateBounds]
    for kind in OWN_STEPS:
        yield from (step for step in asked if type(step) is kind)
    yield from (step for step in asked if type(step) not in OWN_STEPS)
