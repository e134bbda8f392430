"""The filter of a run whose budget is shared: by releases beside those of its optimizer, or by
several fits. One for a fixed schedule alone has no part to leave to them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dpcore.accountants.registered import target_of
from dpcore.fitting.steps.facts import Phase, step_facts
from dpcore.registry.catalogue import load_registry
from dpcore.registry.tables.declarations import accountant_facts, optimizer_facts

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.planning.planned import Plan

__all__ = ["is_shared", "with_shared_accountant"]


def is_shared(plan: Plan, schema: Schema, fits: int) -> bool:
    """Return whether several releases or fits share the budget of a run, from public facts alone:
    bounds, counts of classes, an evaluation, intervals, steps of plugins."""
    steps = (step_facts(step) for step in plan.settings.also)
    beside = any(step.phase is not Phase.SCHEMA for step in steps)
    return beside or bool(schema.unbounded) or fits > 1


def with_shared_accountant(plan: Plan) -> Plan:
    """Return the plan under the accountant that its optimizer names for a budget that is shared,
    where it has its usual one and that is for a fixed schedule alone.

    An accountant that was named, by ``--accountant`` or by a preset, stays, and so does the rule of
    ``--conversion``, which is one of the usual accountant's.
    """
    stated, settings = optimizer_facts(plan.optimizer), plan.settings
    preset = {} if settings.preset is None else stated.presets[settings.preset]
    is_named = settings.accountant or settings.conversion or "accountant" in preset
    usual = plan.accountant
    if not stated.shared_accountant or is_named or accountant_facts(usual).fully_adaptive:
        return plan
    shared = load_registry().load("accountant", stated.shared_accountant)
    accountant = shared.from_budget(usual.epsilon, usual.delta, None)
    others = [target for target in plan.targets if target not in target_of(usual)]
    return replace(plan, accountant=accountant, targets=(*target_of(accountant), *others))
