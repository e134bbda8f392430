"""Imports of a command: what they make lives as long as the process."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["modules_for_good"]


@contextmanager
def modules_for_good() -> Iterator[None]:
    """Keep Python's collector of cycles from what is imported meanwhile, then and later.

    It would go through more than a hundred thousand objects whenever they had grown by a quarter,
    and again during the fit. What is made afterwards is collected as ever.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collects:
            gc.enable()
