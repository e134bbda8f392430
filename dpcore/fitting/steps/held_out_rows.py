"""Rows beside those that are trained on. Coins hold them out for the steps that need them, before
all other steps (the phase ``split``), or the class of the step ``evaluation`` tests on them without
privacy.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dpcore.data.dataset import Dataset
from dpcore.errors import InvalidInputError, RegistryError
from dpcore.fitting.steps.facts import step_facts
from dpcore.registry.step_class import foreign_step, step_class

if TYPE_CHECKING:
    from dpcore.fitting.planning.planned import Plan
    from dpcore.fitting.request.run_request import DataRequest
    from dpcore.fitting.request.settings import Settings

__all__ = [
    "exact_metrics",
    "exact_metrics_if_there",
    "metrics_asked",
    "foreign_metrics",
    "holds_out",
    "parted",
    "require_held_out",
]


def holds_out(settings: Settings) -> bool:
    """Return whether a step needs rows held out."""
    return any("held-out-rows" in step_facts(step).needs for step in settings.also)


def require_held_out(plan: Plan, test_fraction: float | None) -> None:
    """Raise InvalidInputError where an evaluation is asked for and no rows are held out for it."""
    if not holds_out(plan.settings):
        return
    if test_fraction is None:
        raise InvalidInputError(
            f"Expected --test-fraction (test_fraction=) beside {_asked(plan)}: rows of the same "
            "table are held out for it."
        )
    if plan.engine_facts.reads_files:
        raise InvalidInputError(
            f"Expected no {_asked(plan)} with an engine that reads the files itself: it holds no "
            "rows out."
        )


def _asked(plan: Plan) -> str:
    """Return the option by which the first step was asked for that needs rows held out."""
    step: Any = next(s for s in plan.settings.also if "held-out-rows" in step_facts(s).needs)
    if step_facts(step).name != "evaluation":
        return f"the step {step_facts(step).name}"
    name = "evaluate_share" if step.epsilon is None else "evaluate_epsilon"
    return f"--{name.replace('_', '-')} ({name}=)"


def parted(plan: Plan, rows: Any, test_fraction: float | None) -> tuple[Dataset, Dataset | None]:
    """Return the rows to train on and those held out for a step, ``None`` where none is asked for.
    ``rows`` : a Dataset, or, of an engine that reads them itself, their facts.

    Raises InvalidInputError for rows held out for nothing.
    """
    if test_fraction is None:
        return rows, None
    if not holds_out(plan.settings):
        raise InvalidInputError(
            "Expected evaluate_share or evaluate_epsilon beside test_fraction: rows are held out "
            "for a private evaluation. For exact metrics of a model, hold rows out beforehand."
        )
    return Dataset.split(rows, test_fraction, plan.relation, plan.settings.seed)


_STEP = "evaluation"


def exact_metrics() -> Any:
    """Return the class that has metrics of rows without privacy, by static methods:
    ``exact_metrics(loss, model, train, test)``, ``exact_accuracy(model, rows)`` and
    ``exact_in_words(metrics)``.

    Raises RegistryError, with what to install, where there is none.
    """
    methods = "exact_metrics", "exact_accuracy", "exact_in_words"
    return step_class(_STEP, *methods, told="No package makes metrics of rows to test on.")


def exact_metrics_if_there() -> Any:
    """Return the class of ``exact_metrics``, ``None`` where there is none."""
    with suppress(RegistryError):
        return exact_metrics()
    return None


def metrics_asked(request: DataRequest, settings: Settings) -> Any:
    """Return the class that makes exact metrics, ``None`` where none are asked for: rows held out
    for a step have those that it releases. Raises as ``exact_metrics``."""
    asked = request.test is not None or request.test_fraction is not None
    return exact_metrics() if asked and not holds_out(settings) else None


def foreign_metrics(metrics: Any) -> tuple[str, ...]:
    """Return who makes exact metrics of the rows, where that is none of ours."""
    return () if metrics is None else foreign_step(_STEP)
