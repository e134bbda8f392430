"""The steps of the core and their options, registered by the hook that any plugin uses."""

from collections.abc import Callable

from dpcore.registry.hookspecs import hookimpl
from dpcore.registry.step_options import StepOption

__all__: list[str] = []

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
