"""Accuracy First (Ligett, Neel, Roth, Waggoner & Wu, NeurIPS 2017) as a dpcore plugin."""

from collections.abc import Callable

from dpcore.plugin import hookimpl
from dpcore.plugin.steps import StepOption

__all__: list[str] = []

_REFERENCE = "Ligett, Neel, Roth, Waggoner & Wu, NeurIPS 2017"
_BROWNIAN = "Whitehouse, Ramdas, Wu & Rogers, NeurIPS 2022"
_OPTIMIZERS: dict[str, tuple[str, ...]] = {
    "output-nr": (
        "noise_reduction:OutputNr",
        "Takes noise off the exact minimiser until a target is met; epsilon is an output.",
    ),
    "cov-nr": (
        "noise_reduction:CovNr",
        "Takes noise off X'X and X'y (ridge) until a target is met; epsilon is an output.",
    ),
    "output-bnr": (
        "brownian_reduction:OutputBnr",
        "Takes normal noise off the exact minimiser until a target is met, at less epsilon than "
        "output-nr.",
        _BROWNIAN,
    ),
    "cov-bnr": (
        "brownian_reduction:CovBnr",
        "Takes normal noise off X'X and X'y (ridge) until a target is met, at less epsilon than "
        "cov-nr.",
        _BROWNIAN,
    ),
    "output-doubling": (
        "doubling:OutputDoubling",
        "Doubles epsilon of the noisy minimiser until a target is met, paying for every try.",
    ),
    "cov-doubling": (
        "doubling:CovDoubling",
        "Doubles epsilon of noisy X'X and X'y (ridge) until a target is met, paying for every try.",
    ),
    "output-theory": (
        "theory:OutputTheory",
        "The noisy minimiser at the epsilon at which a theorem bounds its expected excess risk.",
    ),
    "cov-theory": (
        "theory:CovTheory",
        "Noisy X'X and X'y (ridge) at the epsilon at which a theorem bounds the excess risk.",
    ),
}

_OPTIONS = tuple(
    StepOption(name, kind, default, help, shared=True, group="Where epsilon is an output")
    for name, kind, default, help in (
        ("target-accuracy", "float", None, "Share of training rows to classify right."),
        ("target-excess-risk", "float", None, "Largest mean objective above the minimum."),
        ("target-risk", "float", None, "Largest mean objective."),
        ("slack", "float", None, "By how much a model may miss that accuracy or risk."),
        ("failure-probability", "float", None, "Chance that a target is missed unnoticed; 0.1."),
        ("release-last", "flag", False, "Release the last model where the target is not met."),
    )
)
"""The options of a run that these algorithms take; each states in ``targets`` which."""


@hookimpl
def register_optimizers(register: Callable[..., None]) -> None:
    for name, (target, summary, *other) in _OPTIMIZERS.items():
        reference = other[0] if other else _REFERENCE
        register(
            name,
            f"dpcore_accuracy_first.{target}",
            summary=summary,
            reference=reference,
            options=_OPTIONS,
        )
