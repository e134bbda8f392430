"""Checks of what an optimizer's class states, and of the parameters that it takes."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from dpcore.errors import DpcoreError
from dpcore.plugin.parts import load_registry, optimizer_facts
from dpcore_lab.checks.coverage_text import Tested
from dpcore_lab.made_tables.tables import make_rows
from dpcore_lab.replay.recorded import DELTA, EPSILON, open_session, problem_of, relations_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcore.plugin.parts import Optimizer

__all__ = ["check_bad_parameters_refused", "check_declarations"]


def check_bad_parameters_refused(optimizer: Optimizer) -> Tested:
    """Raise AssertionError unless parameters that are not finite are refused before any release."""
    parameters: Any = getattr(type(optimizer), "__dataclass_params__", None)
    assert parameters is not None and parameters.frozen, (
        "An optimizer is a frozen dataclass: write @dataclass(frozen=True)."
    )
    for name, value in _broken_parameters(optimizer):
        rows, relation = make_rows(50, seed=9), relations_of(optimizer)[0]
        session = open_session(optimizer, rows, relation, EPSILON, DELTA)
        instance: Any = optimizer
        try:
            broken = dataclasses.replace(instance, **{name: value})
            broken.minimize(problem_of(rows, relation, broken), session)
        except (DpcoreError, ValueError):
            assert not session.ledger, f"{name}={value} was refused only after a release."
        else:
            raise AssertionError(f"{name}={value} was accepted.")
    names = sorted({name for name, _ in _broken_parameters(optimizer)})
    return Tested(
        f"NaN and infinities as {', '.join(names)}" if names else "that it is a frozen dataclass",
        not_tested=("other values out of range",),
        ranges=(f"parameters {len(names)}",),
    )


def check_declarations(optimizer: Optimizer) -> Tested:
    """Raise AssertionError unless the facts and presets that the class states are valid.

    Every fact is known, and each preset sets existing parameters and slots to values that can be
    built, and names an existing accountant and conversion.
    """
    instance: Any = optimizer
    fault = load_registry().fault_of("optimizer", type(optimizer))
    assert not fault, f"{type(optimizer).__name__} {fault}"
    parameters = {field.name for field in dataclasses.fields(instance)} - {"use"}
    stated = optimizer_facts(optimizer)
    usual = stated.accountant
    for values in stated.presets.values():
        fields = {name: value for name, value in values.items() if name in parameters}
        dataclasses.replace(instance, **fields)
        accountant = load_registry().load("accountant", values.get("accountant", usual))
        accountant.from_budget(EPSILON, DELTA, values.get("accountant_conversion"))
    n = len(stated.presets)
    return Tested(
        f"the facts that its class states, and {n} {'preset' if n == 1 else 'presets'}",
        not_tested=("whether its theorem is true, and a preset the paper's",),
        ranges=(f"presets {n}",),
    )


def _broken_parameters(optimizer: Optimizer) -> Iterator[tuple[str, float]]:
    instance: Any = optimizer
    for field in dataclasses.fields(instance):
        if isinstance(getattr(instance, field.name), float):
            yield from ((field.name, value) for value in (math.nan, math.inf, -math.inf))
