"""The steps of a run that are dpcore's own, in the order in which they run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dpcore.fitting.steps.facts import release_bounds, step_facts
from dpcore.privacy.first_party import is_named_as_a_package_of_ours, is_ours
from dpcore.privacy.statement import OF_DPCORE
from dpcore.registry.catalogue import load_registry

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.request.settings import Settings
    from dpcore.fitting.steps.step import RunStep

__all__ = ["steps_of"]


def steps_of(settings: Settings, schema: Schema) -> Iterator[RunStep]:
    """Yield the steps that the settings and the schema of a run ask for, in their order: dpcore's
    own, then those of somebody's own as they were given.

    An evaluation scores what ``predict`` returns, so that it is after whatever changes that.
    """
    asked = list(settings.also)
    if schema.unbounded and not release_bounds(asked):
        asked.insert(0, load_registry("step").load("step", "private-bounds")())
    if not schema.unbounded:
        asked = [step for step in asked if not (release_bounds([step]) and _place(step) == 0)]
    yield from sorted(asked, key=_place)


def _place(step: RunStep) -> int:
    """Return the place of a step: all of somebody's own have one, the last."""
    name, module = step_facts(step).name, type(step).__module__
    if name not in OF_DPCORE or not (is_ours(module) or is_named_as_a_package_of_ours(module)):
        return len(OF_DPCORE)
    return OF_DPCORE.index(name)
