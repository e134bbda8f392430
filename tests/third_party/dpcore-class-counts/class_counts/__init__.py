"""A step for dpcore: registered with its option; the step itself is imported when it is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpcore.plugin import hookimpl
from dpcore.plugin.steps import StepOption

__all__ = ["ClassCounts"]


@hookimpl
def register_steps(register: Callable[..., None]) -> None:
    """Register the step."""
    register(
        "class-counts",
        "class_counts.step:ClassCounts",
        summary="How many rows are of each class, with noise.",
        options=(
            StepOption(
                "class-counts-share",
                "float",
                help="Release how many rows are of each class, for this share of the budget.",
                field="share",
            ),
        ),
    )


def __getattr__(name: str) -> Any:
    if name == "ClassCounts":
        from class_counts.step import ClassCounts

        return ClassCounts
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
