"""Newton's method with private curvature (Ganesh et al., NeurIPS 2023) as a dpcore plugin."""

from collections.abc import Callable

from dpcore.plugin import hookimpl

__all__: list[str] = []


@hookimpl
def register_optimizers(register: Callable[..., None]) -> None:
    register(
        "newton",
        "dpcore_newton.newton:Newton",
        summary="Newton's method with a noisy Hessian.",
        reference="Ganesh et al., NeurIPS 2023",
    )
