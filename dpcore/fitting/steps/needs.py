"""The needs of a step, as a table, and the one place that refuses a run without them: before any
charge, naming the step, the need and what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcore.errors import InvalidInputError, near_names
from dpcore.fitting.steps.facts import Phase, RowsAsked, StepFacts
from dpcore.fitting.steps.pre_fit_release import require_share
from dpcore.registry.tables.losses import LossFacts

if TYPE_CHECKING:
    from dpcore.fitting.steps.views import PublicFacts

__all__ = ["NEEDS", "Need", "require_needs"]


@dataclass(frozen=True)
class Need:
    """A need of a step.

    Parameters
    ----------
    words : what the step needs, in words.
    reason : a clause that says what is not so, for the refusal of a step's own.
    is_met : whether a run has it, by public facts.
    advice : what to do where it has not; "" for the step's own ``instead``.
    """

    words: str
    reason: str
    is_met: Callable[[PublicFacts], bool]
    advice: str = ""


def _is_unweighted(facts: PublicFacts) -> bool:
    loss, settings = LossFacts.of(facts.plan.loss), facts.plan.settings
    return not (loss.largest_weight != 1.0 or loss.weighs_rows or settings.class_weight is not None)


NEEDS: Mapping[str, Need] = {
    "rows-here": Need(
        "rows in this process, and the engine reads the files itself",
        "the engine reads the files itself",
        lambda facts: not facts.plan.engine_facts.reads_files,
        "take the engine local",
    ),
    "one-session": Need(
        "one fit, and each class has one of its own",
        "each class has a fit of its own",
        lambda facts: facts.ready.fits == 1,
    ),
    "one-margin": Need(
        "two classes or a number, and each of several classes has margins of its own",
        "each class has a fit of its own, or margins of its own",
        lambda facts: facts.ready.fits == 1 and facts.problem.n_margins == 1,
    ),
    "public-bounds": Need(
        "public bounds of every column, and some are released from the rows",
        "bounds are private",
        lambda facts: not facts.schema.unbounded,
        "give public bounds",
    ),
    "unweighted": Need(
        "rows and classes without weights", "rows or classes have weights", _is_unweighted
    ),
    "held-out-rows": Need(
        "rows held out",
        "no row is held out",
        lambda facts: facts.held_out is not None,
        "give --test-fraction (test_fraction=)",
    ),
}
"""By name. ``adaptive-filter``, a filter that has a share to leave, is a need of every step."""


def require_needs(step: StepFacts, facts: PublicFacts) -> None:
    """Refuse a step that the run cannot have.

    Raises InvalidInputError for a need that is not met, for a name of none, and for a filter
    that composes no releases that are chosen on the way: all its events would have to be one
    schedule, fixed before the first.
    """
    unknown = sorted(step.needs - NEEDS.keys() - {"adaptive-filter"})
    if unknown:
        raise InvalidInputError(
            f"The step {step.name} needs {unknown[0]!r}, which is no need of a step."
            f"{near_names(unknown[0], NEEDS)}"
        )
    require_share(facts.plan, _asks(step, facts), step.instead)
    for name in NEEDS:
        need = NEEDS[name]
        if name in step.needs and not need.is_met(facts):
            if step.refusal:
                raise InvalidInputError(step.refusal.replace("{reason}", need.reason))
            advice = need.advice and f", or {need.advice}"
            raise InvalidInputError(
                f"The step {step.name} needs {need.words}. {step.instead}{advice}."
            )
    if step.phase is Phase.SPLIT or step.phase is Phase.SOLVE:
        raise InvalidInputError(
            f"Expected the step {step.name} to have the phase SCHEMA, PROBLEM or RESULT: the rows "
            "of SPLIT are held out by coins, and SOLVE is the optimizer's."
        )
    if step.rows is RowsAsked.HELD_OUT and facts.held_out is None:
        raise InvalidInputError(f"The step {step.name} asks rows held out, and there are none.")


def _asks(step: StepFacts, facts: PublicFacts) -> str:
    """Return the clause that says what a step releases."""
    column = next((column.name for column in facts.schema.unbounded), "")
    asks = step.asks or f"The step {step.name} is released from the rows"
    return asks.replace("{column}", repr(column))
