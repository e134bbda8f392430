"""The filter of a run whose budget is shared: by releases beside those of its optimizer, or by
several fits. One for a fixed schedule alone has no part to leave to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.fitting.steps.facts import Phase, step_facts

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.planning.planned import Plan

__all__ = ["is_shared"]


def is_shared(plan: Plan, schema: Schema, fits: int) -> bool:
    """Return whether several releases or fits share the budget of a run, from public facts alone:
    bounds, counts of classes, an evaluation, intervals, steps of plugins."""
    steps = (step_facts(step) for step in plan.settings.also)
    beside = any(step.phase is not Phase.SCHEMA for step in steps)
    return beside or bool(schema.unbounded) or fits > 1
