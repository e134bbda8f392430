"""Regression by Tukey depth (Amin et al., ICLR 2023) as a dpcore plugin."""

from collections.abc import Callable

from dpcore.plugin import hookimpl

__all__: list[str] = []


@hookimpl
def register_optimizers(register: Callable[..., None]) -> None:
    register(
        "tukey-em",
        "dpcore_tukey.tukey_em:TukeyEm",
        summary="Draws a point deep among the least squares fits of many parts of the rows.",
        reference="Amin et al., ICLR 2023; Dick, Gillenwater & Joseph, NeurIPS 2023",
    )
