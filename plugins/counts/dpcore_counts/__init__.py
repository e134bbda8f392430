"""Losses of counts and amounts, whose means have a log link, as a dpcore plugin."""

from collections.abc import Callable

from dpcore.plugin import hookimpl

__all__: list[str] = []


@hookimpl
def register_losses(register: Callable[..., None]) -> None:
    register(
        "poisson",
        f"{__name__}.poisson:Poisson",
        summary="Half the deviance of a Poisson count with the mean exp(z): log-linear regression.",
        reference="Nelder & Wedderburn 1972; McCullagh & Nelder 1989",
    )
    register(
        "negative-binomial",
        f"{__name__}.negative_binomial:NegativeBinomial",
        summary="Half the deviance of a count that varies more than a Poisson one (NB2), scaled.",
        reference="Lawless 1987; Cameron & Trivedi 1986",
    )
    register(
        "gamma",
        f"{__name__}.gamma:Gamma",
        summary="Half the deviance of an amount with the mean exp(z) and a constant coefficient of "
        "variation.",
        reference="Nelder & Wedderburn 1972; McCullagh & Nelder 1989, chapter 8",
    )
