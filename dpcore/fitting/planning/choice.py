"""A name in place of other algorithms: which of them it is in a run, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.fitting.planning.optimizer_queries import chosen_settings
from dpcore.registry.tables.declarations import optimizer_facts

if TYPE_CHECKING:
    from dpcore.fitting.request.settings import Settings
    from dpcore.registry.catalogue import Registry

__all__ = ["choose"]


def choose(settings: Settings, registry: Registry) -> tuple[Settings, dict[str, str] | None]:
    """Return the settings with an algorithm where a name was in its place, and which name it was
    and why; ``None`` for an algorithm's own name.

    Raises RegistryError for an unknown name.
    """
    factory = registry.load("optimizer", settings.algo)
    choice = optimizer_facts(factory).choose
    if choice is None:
        return settings, None
    chosen, why = chosen_settings(choice, settings)
    return chosen, {"name": settings.algo, "why": why}
