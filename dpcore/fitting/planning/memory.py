"""The memory that a run takes beside its rows, from public facts: refused where there is less.

Numbers are of the columns, and of several classes of the public number of rows, if there is one:
never of the rows, so that a refusal says nothing of them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dpcore.errors import InvalidInputError
from dpcore.fitting.planning.optimizer_queries import stated_memory
from dpcore.registry.tables.optimizer_spec import optimizer_facts

if TYPE_CHECKING:
    from dpcore.protocols.optimizer import Optimizer
    from dpcore.protocols.problem import Problem

__all__ = ["MUCH_MEMORY", "Bytes", "columns_of", "memory_of", "require_memory"]

_PER_COLUMN = 512
"""Bytes: points, gradients, their noise and copies. ``bench/memory.py`` measures them."""
_PER_MARGIN = 24
"""Bytes: the margins of all classes at a point, along a direction and at a candidate. One margin of
a row is little beside the row."""
_LIMIT = Path("/sys/fs/cgroup/memory.max")
MUCH_MEMORY = 2.0**28
"""So many bytes are worth saying."""


class Bytes(float):
    """A number of bytes, which as text is in words: a megabyte at least."""

    def __str__(self) -> str:
        digits = 1 if self < 1e10 else 0
        return f"{self / 1e9:,.{digits}f} GB" if self >= 1e9 else f"{max(1, round(self / 1e6))} MB"


def memory_of(optimizer: Optimizer, problem: Problem) -> Bytes:
    """Return the bytes that a run takes beside its rows, about."""
    own = _PER_COLUMN * problem.n_features * problem.n_margins
    if problem.n_margins > 1:
        own += _PER_MARGIN * problem.n_margins * (problem.n_public or 0)
    return Bytes(max(stated_memory(optimizer, problem), own))


def require_memory(optimizer: Optimizer, problem: Problem) -> None:
    """Raise InvalidInputError for a run that takes more memory than the machine has."""
    needed, present = memory_of(optimizer, problem), _of_machine()
    if present is not None and needed > present:
        name = optimizer_facts(optimizer).name or type(optimizer).__name__
        raise InvalidInputError(
            f"{name} takes about {needed} of memory for {columns_of(problem)}, and this "
            f"machine has {present}: take fewer columns, or another algorithm."
        )


def columns_of(problem: Problem) -> str:
    """Return in words how many columns a run has, and of how many classes if of several."""
    columns = f"{problem.n_features:,} columns"
    return columns if problem.n_margins == 1 else f"{columns} of {problem.n_margins:,} classes"


def _of_machine() -> Bytes | None:
    """Return the bytes of the machine's memory, or of a container's limit on it; ``None`` where the
    system does not say."""
    try:
        present = Bytes(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return None
    try:
        return min(present, Bytes(_LIMIT.read_text()))
    except (OSError, ValueError):  # no such file, or "max"
        return present
