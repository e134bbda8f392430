"""Figures of rows to test on, without privacy: made by the class of the step ``evaluation``."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dpcore.errors import RegistryError
from dpcore.fitting.steps.held_out_rows import holds_out
from dpcore.registry.step_class import foreign_step, step_class

if TYPE_CHECKING:
    from dpcore.fitting.request.data_request import DataRequest
    from dpcore.fitting.request.settings import Settings

__all__ = ["exact_figures", "exact_figures_if_there", "figures_asked", "foreign_figures"]

_STEP = "evaluation"


def exact_figures() -> Any:
    """Return the class that has figures of rows without privacy, by static methods:
    ``exact_figures(loss, model, train, test)``, ``exact_accuracy(model, rows)`` and
    ``exact_in_words(figures)``.

    Raises RegistryError, with what to install, where there is none.
    """
    methods = "exact_figures", "exact_accuracy", "exact_in_words"
    told = "No package makes figures of rows to test on."
    return step_class(_STEP, *methods, told=told)


def exact_figures_if_there() -> Any:
    """Return the class of ``exact_figures``, ``None`` where there is none."""
    with suppress(RegistryError):
        return exact_figures()
    return None


def figures_asked(request: DataRequest, settings: Settings) -> Any:
    """Return the class that makes exact figures, ``None`` where none are asked for: rows held out
    for a step have those that it releases. Raises as ``exact_figures``."""
    asked = request.test is not None or request.test_fraction is not None
    return exact_figures() if asked and not holds_out(settings) else None


def foreign_figures(figures: Any) -> tuple[str, ...]:
    """Return who makes exact figures of the rows, where that is none of ours."""
    return () if figures is None else foreign_step(_STEP)
