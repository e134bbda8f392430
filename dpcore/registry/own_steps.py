"""The steps of the core and their options, registered by the hook that any plugin uses, and the
class of a registered step, for what its package has beside the step itself."""

from collections.abc import Callable
from typing import Any

from dpcore.errors import RegistryError
from dpcore.registry.catalogue import load_registry
from dpcore.registry.hookspecs import hookimpl
from dpcore.registry.step_options import StepOption

__all__ = ["step_class"]

_LARGEST = 10.0


_STEPS: dict[str, tuple[str, str, tuple[StepOption, ...]]] = {
    "balanced": (
        "dpcore.fitting.balanced:BalancedWeights",
        "Weights that even the classes out, from noisy counts of them.",
        (
            StepOption(
                "class-weight",
                "texts",
                None,
                "CLASS=NUMBER,... (1 for others), or balanced: from counts that are released.",
                word="balanced",
            ),
            StepOption(
                "largest-weight",
                "float",
                _LARGEST,
                "The most that a balanced weight may come to.",
                field="largest",
                alone="Expected largest_weight={value} beside class_weight='balanced' alone, whose "
                "weights it caps.",
            ),
        ),
    ),
}
"""Target, summary and options, by name."""


@hookimpl
def register_steps(register: Callable[..., None]) -> None:
    for name, (target, summary, options) in _STEPS.items():
        register(name, target, summary=summary, options=options)


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
