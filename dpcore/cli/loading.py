"""Registered parts, all of them loaded, and optimizers built with their defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.errors import DpcoreError, InvalidInputError, RegistryError
from dpcore.registry.catalogue import KINDS, Failure, Registry
from dpcore.registry.tables.declarations import optimizer_facts

if TYPE_CHECKING:
    from dpcore.protocols.optimizer import Optimizer

__all__ = ["default_optimizer", "find_failures"]


def default_optimizer(registry: Registry, name: str) -> Optimizer:
    """Return an optimizer with its defaults, and what it declares to be checked with (such as a
    target, which has none); InvalidInputError if it cannot be built."""
    factory = registry.load("optimizer", name)
    try:
        optimizer: Optimizer = factory(**optimizer_facts(factory).checked_with)
    except DpcoreError:
        raise
    except Exception as error:
        raise InvalidInputError(
            f"{name} cannot be built with its defaults: {type(error).__name__}: {error}"
        ) from error
    return optimizer


def find_failures(registry: Registry) -> tuple[Failure, ...]:
    """Return every registered name whose target cannot be used, importing all of them."""
    found = []
    for entry in (entry for kind in KINDS for entry in registry.entries(kind)):
        try:
            registry.load(entry.kind, entry.name)
        except RegistryError as error:
            found.append(Failure(entry.name, entry.distribution, entry.version, str(error)))
    return tuple(found)
