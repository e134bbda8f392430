"""The project's own parts, registered by the hooks that any plugin uses."""

from collections.abc import Callable

from dpcore.registry.hookspecs import hookimpl

__all__: list[str] = []


@hookimpl
def register_commands(register: Callable[..., None]) -> None:
    for name, place, summary in _COMMANDS:
        register(name, f"dpcore.cli.{place}", summary=summary)


@hookimpl
def register_column_kinds(register: Callable[..., None]) -> None:
    for kind, becomes in _COLUMN_KINDS.items():
        register(kind, f"dpcore.data.schema.kinds:{kind.upper()}", summary=becomes)


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


_COMMANDS = (
    ("train", "train:train_command", "Fit a private linear model."),
    (
        "predict",
        "predict:predict_command",
        "Write scores and labels of new rows as CSV or Parquet.",
    ),
    (
        "list",
        "list:list_command",
        "List the algorithms and parts installed, and what failed.",
    ),
    (
        "info",
        "info:info_command",
        "Show what is known of an algorithm, a part or a model.",
    ),
)
"""Commands, in the order of ``dpcore --help``."""

_COLUMN_KINDS = {
    "numeric": "a number between public bounds, in public bins, or piecewise linear "
    "between public knots",
    "label": "what is to be predicted; exactly one column is of this kind",
    "drop": "not used",
}
"""Kinds of column, in the order of their reference, and a summary of each."""

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
        "ridge",
        "dpcore.losses.squared:Squared",
        "(z - y)^2 / 2 on real-valued targets: ridge regression.",
        "",
    ),
)
