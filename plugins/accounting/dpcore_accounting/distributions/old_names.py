"""The names that distributions had before: for this version alone, each with a warning."""

from __future__ import annotations

import warnings
from typing import Any

__all__ = ["take_old_name", "warn_of_old_name"]


def warn_of_old_name(old: str, new: str, level: int) -> None:
    """Warn that a name is another now, ``level`` frames up from here (``warnings.warn``)."""
    warnings.warn(
        f"{old} is {new} now; the old name is good until the next version.",
        FutureWarning,
        stacklevel=level,
    )


def take_old_name(kind: Any) -> None:
    """Take the ``law`` that a class states for its ``distribution``, with a warning."""
    if "law" in vars(kind) and "distribution" not in vars(kind):
        warn_of_old_name(f"{kind.__name__}.law", f"{kind.__name__}.distribution", 4)
        kind.distribution = kind.law
