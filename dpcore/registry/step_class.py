"""The class of a registered step, for what its package has beside the step itself."""

from typing import Any

from dpcore.errors import RegistryError
from dpcore.registry.catalogue import load_registry

__all__ = ["foreign_step", "step_class"]


def step_class(name: str, *methods: str, told: str) -> Any:
    """Return the class that is registered as a step, which has these methods too.

    ``told`` : a sentence on what there is not without it. Raises RegistryError, with what to
    install, where it is not there, or has no such method.
    """
    try:
        found = load_registry("step").load("step", name)
    except RegistryError as error:
        raise RegistryError(f"{told} {error}") from error
    for method in methods:
        if not callable(getattr(found, method, None)):
            whose = f"{found.__module__}.{found.__qualname__}"
            raise RegistryError(f"{told} The step {whose} has no {method}.")
    return found


def foreign_step(name: str) -> tuple[str, ...]:
    """Return what the statement names of the class of a step, by its own word and by the
    registry's; nothing where it is ours."""
    from dpcore.privacy.first_party import part_of
    from dpcore.privacy.statement import foreign_parts

    registry = load_registry("step")
    return foreign_parts((part_of(registry.load("step", name)), registry.get("step", name).target))
