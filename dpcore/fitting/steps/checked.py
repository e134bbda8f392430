"""The steps of a run in their order, checked: each as it was then, whatever it says later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError
from dpcore.fitting.steps.budget_share import exact_share, stated_share
from dpcore.fitting.steps.facts import Phase, RowsAsked, StepFacts, release_bounds, step_facts
from dpcore.fitting.steps.needs import require_needs
from dpcore.privacy.first_party import (
    is_named_as_a_package_of_ours,
    is_ours,
    module_of,
    part_of,
)
from dpcore.privacy.statement import OF_DPCORE
from dpcore.registry.catalogue import load_registry

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.request.settings import Settings
    from dpcore.fitting.run_state import RunState
    from dpcore.fitting.steps.step import Outcome, Request, RunStep
    from dpcore.fitting.steps.views import PublicFacts
    from dpcore.protocols.problem import Problem

__all__ = ["CheckedStep", "changed", "checked", "steps_of"]


@dataclass(frozen=True, eq=False)
class CheckedStep:
    """A step of a run, and the releases that it asked for.

    Parameters
    ----------
    share : exact.
    problem : the public facts of the rows that it asks, which its queries are held to.
    stated : of it in the privacy statement; ``None`` where that follows from a release.
    parts : of somebody's own, as ``"module:Class"``: the step, and its request.
    """

    facts: StepFacts
    request: Request
    share: Fraction
    problem: Problem
    stated: dict[str, Any] | None
    parts: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.facts.name

    @property
    def phase(self) -> Phase:
        return self.facts.phase

    @property
    def is_ours(self) -> bool:
        """Whether it is a step of dpcore, whose change the run takes."""
        return not self.parts

    @property
    def part(self) -> str:
        """The step of somebody's own, as ``"module:Class"``; "" for one of dpcore."""
        return self.parts[0] if self.parts else ""


def checked(steps: Iterable[RunStep], facts: PublicFacts) -> tuple[CheckedStep, ...]:
    """Return the steps of a run with what each asks for; InvalidInputError, before anything is
    charged, where a step does not fit the run."""
    found: list[CheckedStep] = []
    for step in steps:
        found.append(_checked(step, facts))
        facts = facts.after(found[-1].name, found[-1].share)
        _require_rest(facts)
    return tuple(found)


def _checked(step: RunStep, facts: PublicFacts) -> CheckedStep:
    declared, ours = step_facts(step), is_ours(part_of(step).partition(":")[0])
    _require_name(step, declared, [name for name, _ in facts.asked], ours=ours)
    require_needs(declared, facts)
    request = step.check(facts)
    if request is None:
        raise InvalidInputError(f"check of the step {declared.name} returned no request.")
    share = exact_share(request.share, f"the step {declared.name}")
    if not 0 < share:
        raise InvalidInputError(f"Expected the step {declared.name} to have a share > 0.")
    problem = facts.held_out_problem if declared.rows is RowsAsked.HELD_OUT else facts.problem
    if ours:
        return CheckedStep(declared, request, share, problem, request.stated)
    stated, parts = {"share": stated_share(share)}, (part_of(step), part_of(request))
    return CheckedStep(declared, request, share, problem, stated, parts)


def _require_name(step: RunStep, declared: StepFacts, taken: list[str], *, ours: bool) -> None:
    """Refuse a step under a name that is not its own."""
    part, name = part_of(step), declared.name
    if name in taken:
        raise InvalidInputError(f"Expected one step {name}, and there are two of that name.")
    is_other_version = is_named_as_a_package_of_ours(module_of(type(step)))
    is_taken = name.replace("-", "_") in (*OF_DPCORE, "privacy")
    if not (ours or is_other_version) and (is_taken or "_" in name):
        raise InvalidInputError(
            f"Expected the step {part} to have a name of small letters and hyphens that is none of "
            f"dpcore's own, such as 'class-counts', and not {name!r}."
        )
    if ours:
        return
    if is_ours(module_of(type(step))):
        raise InvalidInputError(
            f"Expected the step {part} to bear the name of its own module, which the statement "
            "then names."
        )
    if declared.phase is Phase.SCHEMA:
        raise InvalidInputError(f"Expected the step {name} to have the phase PROBLEM or RESULT.")


def _require_rest(facts: PublicFacts) -> None:
    """Refuse shares that leave nothing to the fit."""
    if facts.taken < 1:
        return
    (first, share), *others = facts.asked
    told = [f"The {first} would take {float(share):.3g} of the budget"]
    told += [f"the {name} {float(share):.3g}" for name, share in others]
    raise InvalidInputError(
        f"{' and '.join(told)}: expected shares that add up to less than 1, so that the fit has "
        "the rest."
    )


def changed(state: RunState, step: CheckedStep, outcome: Outcome) -> RunState:
    """Return the run with the change of a step: of one of dpcore alone. The filter, the run and
    the steps after one of somebody's own have what they had without it."""
    if step.is_ours and outcome.bounds is not None:
        rows = state.rows.bounded(outcome.bounds)
        return replace(state, rows=rows, facts=replace(state.facts, schema=rows.dataset.schema))
    weights = outcome.class_weights if step.is_ours else None
    return state if weights is None else state.weighted(weights)


def steps_of(settings: Settings, schema: Schema) -> Iterator[RunStep]:
    """Yield the steps that the settings and the schema of a run ask for, in their order: dpcore's
    own, then those of somebody's own as they were given.

    An evaluation scores what ``predict`` returns, so that it is after whatever changes that: after
    steps of dpcore's own without a field in the statement, such as a calibration.
    """
    asked = list(settings.also)
    if schema.unbounded and not release_bounds(asked):
        asked.insert(0, load_registry("step").load("step", "private-bounds")())
    if not schema.unbounded:
        asked = [step for step in asked if not (release_bounds([step]) and _place(step) == 0)]
    yield from sorted(asked, key=_place)


def _place(step: RunStep) -> float:
    """Return the place of a step: all of somebody's own have one, the last."""
    name, module = step_facts(step).name, module_of(type(step))
    if not (is_ours(module) or is_named_as_a_package_of_ours(module)):
        return len(OF_DPCORE)
    return OF_DPCORE.index(name) if name in OF_DPCORE else OF_DPCORE.index("evaluation") - 0.5
