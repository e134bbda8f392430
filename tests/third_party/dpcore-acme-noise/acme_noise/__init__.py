"""Mechanisms of someone else: they fill slots of dpcore's optimizers."""

from collections.abc import Callable

from dpcore.plugin import hookimpl

__all__: list[str] = []


@hookimpl
def register_mechanisms(register: Callable[..., None]) -> None:
    register(
        "acme-normal",
        "acme_noise.normal:Normal",
        summary="Normal noise for an l2 bound.",
    )
    register(
        "acme-discrete-laplace",
        "acme_noise.discrete_laplace:DiscreteLaplace",
        summary="Discrete Laplace noise for an l1 bound: pure epsilon.",
    )
