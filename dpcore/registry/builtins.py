"""The project's own parts, registered by the hooks that any plugin uses."""

from collections.abc import Callable

from dpcore.registry.builtin_commands import register_commands
from dpcore.registry.builtins_of_data import register_column_kinds
from dpcore.registry.hookspecs import hookimpl

__all__ = [
    "register_column_kinds",
    "register_commands",
]


@hookimpl
def register_mechanisms(register: Callable[..., None]) -> None:
    _register_all(register, _MECHANISMS)


@hookimpl
def register_accountants(register: Callable[..., None]) -> None:
    _register_all(register, _ACCOUNTANTS)


@hookimpl
def register_losses(register: Callable[..., None]) -> None:
    _register_all(register, _LOSSES)


@hookimpl
def register_engines(register: Callable[..., None]) -> None:
    register(
        "local",
        "dpcore.engines.local:LocalEngine",
        summary="Sums the blocks of a table in this process.",
    )


def _register_all(register: Callable[..., None], parts: tuple[tuple[str, ...], ...]) -> None:
    for name, target, summary, reference in parts:
        register(name, target, summary=summary, reference=reference)


_MECHANISMS = (
    (
        "gaussian",
        "dpcore.mechanisms.gaussian:Gaussian",
        "Exact normal noise, floored to the grid of the sum.",
        "Karney 2016; Bun & Steinke 2016",
    ),
    (
        "laplace",
        "dpcore.mechanisms.laplace:Laplace",
        "Exact Laplace noise, floored to the grid of the sum.",
        "Dwork, McSherry, Nissim & Smith 2006",
    ),
    (
        "geometric",
        "dpcore.mechanisms.geometric:Geometric",
        "Two-sided geometric noise on the integers.",
        "Ghosh, Roughgarden & Sundararajan 2009",
    ),
)

_ACCOUNTANTS = (
    (
        "zcdp",
        "dpcore.accountants.zcdp:ZcdpAccountant",
        "Adds up rho of zero-concentrated DP; a fully adaptive filter.",
        "Bun & Steinke 2016; Canonne, Kamath & Steinke 2020",
    ),
    (
        "gdp",
        "dpcore.accountants.gdp:GdpAccountant",
        "Adds up mu^2 of Gaussian DP; exact where all releases are Gaussian.",
        "Dong, Roth & Su 2022; Balle & Wang 2018",
    ),
    (
        "best",
        "dpcore.accountants.best:BestAccountant",
        "The one under which a schedule fixed beforehand takes the least noise.",
        "",
    ),
    (
        "pure",
        "dpcore.accountants.pure:PureAccountant",
        "Adds up epsilons: basic composition.",
        "Dwork, McSherry, Nissim & Smith 2006; Rogers et al. 2016",
    ),
)

_LOSSES = (
    (
        "logistic",
        "dpcore.losses.logistic:Logistic",
        "log(1 + exp(-y z)): logistic regression.",
        "",
    ),
    (
        "softmax",
        "dpcore.losses.logistic:Softmax",
        "log(sum_k exp(z_k)) - z_y: logistic regression of three classes or more.",
        "",
    ),
    (
        "hinge-svm",
        "dpcore.losses.hinge:HingeSvm",
        "max(0, 1 - y z): support vector machine.",
        "",
    ),
    (
        "ridge",
        "dpcore.losses.squared:Squared",
        "(z - y)^2 / 2 on real-valued targets: ridge regression.",
        "",
    ),
)
