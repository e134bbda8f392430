"""The registered pool that holds users in this process, for whoever runs an optimizer over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.errors import RegistryError

if TYPE_CHECKING:
    from dpcore.protocols.user_pool import LocalPool
    from dpcore.registry.catalogue import Registry

__all__ = ["POOL", "load_pool", "require_pool"]

POOL = "in-process"
"""The core holds no users itself. It is not the optimizer that names who does: a pool sees rows."""


def require_pool(registry: Registry, asker: str) -> None:
    """Raise RegistryError if no installed pool holds users.

    ``asker`` : the option or algorithm that is of no use without one.
    """
    try:
        registry.get("pool", POOL)
    except RegistryError as error:
        raise RegistryError(
            f"{error} {asker} asks users who keep their rows, whom it holds in this process."
        ) from error


def load_pool(registry: Registry) -> type[LocalPool]:
    """Return the class of the pool that holds users in this process."""
    pool: type[LocalPool] = registry.load("pool", POOL)
    return pool
