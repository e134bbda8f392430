"""The names that parts of an evaluation had before: for this version alone, each with a warning."""

import warnings

__all__ = ["warn_of_old_name"]


def warn_of_old_name(old: str, new: str) -> None:
    """Warn whoever uses a name, two frames up from here, that it is another now."""
    told = f"{old} is {new} now; the old name is good until the next version."
    warnings.warn(told, FutureWarning, stacklevel=3)
