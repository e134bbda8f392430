"""The class of a registered step, for what its package has beside the step itself."""

from typing import Any

from dpcore.errors import RegistryError
from dpcore.registry.catalogue import load_registry

__all__ = ["step_class"]


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
