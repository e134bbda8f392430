"""The name that a setting has in a message, for readers of the command line and of Python."""

from __future__ import annotations

__all__ = ["option_of"]


def option_of(name: str) -> str:
    """Return a setting as both readers write it.

    Examples
    --------
    >>> option_of("epsilon_max")
    '--epsilon-max (epsilon_max=)'
    """
    return f"--{name.replace('_', '-')} ({name}=)"
