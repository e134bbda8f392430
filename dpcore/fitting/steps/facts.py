"""The facts that a step of a run declares of itself, as one table with one reader.

A step decides what is asked of the rows. What it may say beforehand is here, and nothing else is
looked for: its name, its phase, its needs, and the words of a refusal.
"""

import dataclasses
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any

from dpcore.errors import InvalidInputError
from dpcore.privacy.immutable import fault_of_unfrozen

__all__ = ["Phase", "RowsAsked", "StepFacts", "release_bounds", "require_step", "step_facts"]

_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")


class Phase(Enum):
    """The five phases of a run, in their order.

    Rows are held out; bounds are released before rows are encoded; the problem gets its loss; the
    optimizer solves it; the result is scored.
    """

    SPLIT = "split"
    SCHEMA = "schema"
    PROBLEM = "problem"
    SOLVE = "solve"
    RESULT = "result"


class RowsAsked(StrEnum):
    """The rows that a step's session asks: those that are trained on, their cells before they are
    encoded, or the rows held out."""

    ENCODED = "encoded"
    WAITING = "waiting"
    HELD_OUT = "held-out"


@dataclass(frozen=True)
class StepFacts:
    """The declarations of a step.

    Parameters
    ----------
    name : of its section, and of what is stated of it.
    phase : when its releases are made.
    needs : of ``dpcore.fitting.steps.needs.NEEDS``, checked before anything is charged.
    rows : over which its releases are made.
    asks : a clause that says what is released, for a refusal, in which ``{column}`` is the first
        column without bounds; "" for the step by its name.
    instead : a sentence on what the caller may do without it.
    refusal : a sentence for a need that is not met, in which ``{reason}`` is the clause of the
        need; "" for the usual one.
    largest_weight : the most that a weight of a class may come to by it, with which the run is
        checked beforehand; ``None`` where it gives none.
    test_fraction : of the rows, to be held out for it in the phase ``split``; ``None`` for none.
    """

    name: str
    phase: Phase
    needs: frozenset[str] = frozenset({"adaptive-filter"})
    rows: RowsAsked = RowsAsked.ENCODED
    asks: str = ""
    instead: str = "Leave it out"
    refusal: str = ""
    largest_weight: float | None = None
    test_fraction: float | None = None


def require_step(step: Any) -> None:
    """Refuse what is no step: a frozen dataclass with ``check``."""
    is_class = isinstance(step, type)
    kind: type = step if is_class else type(step)
    is_frozen = dataclasses.is_dataclass(kind) and not fault_of_unfrozen(kind)
    if is_class or not (is_frozen and callable(getattr(step, "check", None))):
        hint = f" (a class: write {kind.__name__}(...))" if is_class else ""
        raise InvalidInputError(
            f"Expected also=[...] of steps, each a frozen dataclass with check(facts), and not "
            f"{kind.__name__}{hint}: `dpcore info NAME` says how a step of `dpcore list steps` is "
            "imported, and dpcore.plugin.steps has what they are made of."
        )


def step_facts(step: Any) -> StepFacts:
    """Return the declarations of a step, read once; InvalidInputError where one is missing or of
    another kind."""
    require_step(step)
    names = (field.name for field in dataclasses.fields(StepFacts))
    found = {name: getattr(step, name) for name in names if hasattr(step, name)}
    name, phase, rows = found.get("name"), found.get("phase"), found.get("rows", "encoded")
    for fact, value, is_right in (
        ("name", name, isinstance(name, str) and _NAME.fullmatch(name)),
        ("phase", phase, isinstance(phase, Phase)),
        ("rows", rows, isinstance(rows, str) and rows in [*RowsAsked]),
    ):
        if not is_right:
            raise InvalidInputError(
                f"Expected the step {type(step).__name__} to declare its {fact}, "
                f"{_EXPECTED[fact]}, and not {value!r}."
            )
    facts = StepFacts(**found)
    return dataclasses.replace(facts, needs=frozenset(facts.needs), rows=RowsAsked(facts.rows))


_EXPECTED = {
    "name": "a name of small letters and hyphens such as 'class-counts'",
    "phase": "one of dpcore.plugin.steps.Phase",
    "rows": f"one of {', '.join(RowsAsked)}",
}


def release_bounds(steps: Iterable[Any]) -> bool:
    """Return whether one of the steps releases bounds that a schema lacks."""
    return any(step_facts(step).phase is Phase.SCHEMA for step in steps)
