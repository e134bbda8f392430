"""The names that distributions had before: for this version alone, each with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from dpcore.plugin import InvalidInputError

__all__ = ["class_named_before", "take_old_name", "warn_of_old_name"]

_NAMES = {"law", "distribution"}


def warn_of_old_name(old: str, new: str, level: int) -> None:
    """Warn that a name is another now, ``level`` frames up from here (``warnings.warn``)."""
    warnings.warn(
        f"{old} is {new} now; the old name is good until the next version.",
        FutureWarning,
        stacklevel=level,
    )


def class_named_before(module: str, name: str, known: Mapping[str, Any]) -> Any:
    """Return a class of a module by the name that it had, with a warning: for ``__getattr__``."""
    if (found := known.get(name)) is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    warn_of_old_name(f"{module}.{name}", f"{module}.{found.__name__}", 4)
    return found


def take_old_name(kind: Any, *parts: Any) -> None:
    """Take the ``law`` that a class states for its ``distribution``, with a warning: where the
    first of it and its bases that states either states that, as ``law`` was found before.

    Raises InvalidInputError where both are stated, of the class or of objects of it (``parts``),
    and are not the same: the cost that the author states may be that of either.
    """
    each = (_NAMES & vars(cls).keys() for cls in kind.__mro__)
    stated: set[str] = next(filter(None, each), set())
    if "law" not in stated:
        return
    if "distribution" not in stated:
        warn_of_old_name(f"{kind.__name__}.law", f"{kind.__name__}.distribution", 4)
        kind.distribution = kind.law
    if any(each.law is not each.distribution for each in (kind, *parts)):
        raise InvalidInputError(
            f"{kind.__name__} states a law and another distribution, which is its new name. State "
            "the distribution alone: the cost has to be that of what is drawn."
        )
