"""The names that plugin authors import: those for an optimizer here, and in ``parts`` those for
queries, mechanisms, accountants and losses. ``dpcore.testing`` has the checks.

Hooks are read at every start of the command line, which loads neither numba nor SciPy for a list of
names: all but ``hookimpl`` is imported when it is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dpcore.registry.hookspecs import hookimpl as hookimpl

if TYPE_CHECKING:
    from dpcore.plugin.optimizers import *  # noqa: F403


def __getattr__(name: str) -> Any:
    return getattr(importlib.import_module("dpcore.plugin.optimizers"), name)
