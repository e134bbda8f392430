"""Errors a caller can meet. A message never holds a private value: no row, no exact answer."""

from typing import Any

__all__ = [
    "BudgetExceededError",
    "DataError",
    "DpcoreError",
    "InvalidInputError",
    "KernelError",
    "ModelFileError",
    "OptimizerError",
    "RegistryError",
    "TargetNotMetError",
    "UnsupportedEventError",
]


class DpcoreError(Exception):
    """Base of every error of the project; the command line prints it as one line, exit status 2."""


class InvalidInputError(DpcoreError, ValueError):
    """A parameter, a budget or a combination of parts that cannot be used as given."""


class KernelError(DpcoreError):
    """A kernel or a library that cannot be loaded, found before the release was charged."""


class DataError(DpcoreError, ValueError):
    """A file or array that does not satisfy its schema. Its text (file, line, column) is for the
    owner of the data only: it is raised while loading, before anything is asked of the data."""


class BudgetExceededError(DpcoreError):
    """The filter refuses the event: nothing was drawn and nothing was charged."""


class UnsupportedEventError(DpcoreError):
    """The accountant cannot bound the cost of this event, and never guesses."""


class ModelFileError(DpcoreError, ValueError):
    """A model file that is cut short, altered or of another format version."""


class OptimizerError(DpcoreError):
    """An optimizer that broke in a run. Its own error is named by type and place only."""


class TargetNotMetError(DpcoreError):
    """An algorithm that was asked for an accuracy found no model of it. That is a released fact;
    what was charged stays charged. ``report`` : figures of the run, filled in by the fit."""

    def __init__(self, message: str, report: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.report = report or {}


class RegistryError(DpcoreError, LookupError):
    """An unknown, ambiguous or failed plugin name."""
