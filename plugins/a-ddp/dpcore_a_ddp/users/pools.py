"""The pool that holds users in this process, for whoever runs an optimizer over them."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from dpcore.errors import RegistryError, replacing

if TYPE_CHECKING:
    from dpcore_a_ddp.users.user_pool import LocalPool

__all__ = ["GROUP", "POOL", "load_pool"]

GROUP, POOL = "dpcore.pools", "in-process"
"""It is not the optimizer that names who holds users: a pool sees rows."""


def load_pool() -> tuple[type[LocalPool], str]:
    """Return the class of the pool that holds users in this process, and its ``"module:Class"``.

    Raises RegistryError where two distributions claim the name, or none has it.
    """
    points = {
        (p.value, p.dist.name if p.dist else ""): p for p in entry_points(group=GROUP, name=POOL)
    }
    if len(points) != 1:
        owners = " and ".join(sorted(owner for _, owner in points)) or "no distribution"
        raise RegistryError(f"The pool {POOL!r} is of {owners}: expected one.")
    (point,) = points.values()

    def told(error: Exception) -> RegistryError:
        kind = type(error).__name__
        return RegistryError(f"The pool {POOL!r} cannot be loaded from {point.value}: {kind}.")

    with replacing(Exception, by=told):
        pool: type[LocalPool] = point.load()
    return pool, point.value
