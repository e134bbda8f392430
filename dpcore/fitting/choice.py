"""A name that stands for other algorithms: which of them it is in a run, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.errors import RegistryError
from dpcore.registry.contract import load_optimizer

if TYPE_CHECKING:
    from dpcore.fitting.plan import Settings
    from dpcore.registry.catalogue import Registry

__all__ = ["DEFAULT", "choose"]

DEFAULT = "auto"
"""What is taken where no algorithm is named."""


def choose(settings: Settings, registry: Registry) -> tuple[Settings, dict[str, str] | None]:
    """Return the settings with an algorithm in the place of a name that stands for one, and which
    name it was and why; ``None`` for an algorithm's own name.

    Raises RegistryError for an unknown name, and says what to do if it is the default's.
    """
    try:
        registry.get("optimizer", settings.algo)
    except RegistryError as error:
        if settings.algo != DEFAULT:
            raise
        raise RegistryError(
            f"{error} It chooses the algorithm where none is named: install dpcore-baselines, or "
            "name one."
        ) from error
    factory = load_optimizer(registry, settings.algo)
    if not hasattr(factory, "choose"):
        return settings, None
    chosen, why = factory.choose(settings)
    return chosen, {"name": settings.algo, "why": why}
