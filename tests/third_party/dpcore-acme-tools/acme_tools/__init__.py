"""Tools of someone else: each hook registers a name, and imports nothing."""

from collections.abc import Callable

from dpcore.plugin import hookimpl

__all__: list[str] = []


@hookimpl
def register_commands(register: Callable[..., None]) -> None:
    register(
        "acme-sweep",
        "acme_tools.sweep:sweep",
        summary="Fit at several epsilons, and tabulate what each fit spent.",
        group="Many fits",
    )
    register(
        "acme-once",
        "acme_tools.once:once",
        summary="Fit once, at epsilon 1.",
        fits=True,
    )
    register(
        "acme-largest",
        "acme_tools.largest:largest",
        summary="Print the largest coefficient of a model.",
    )


@hookimpl
def register_exporters(register: Callable[..., None]) -> None:
    register(
        "acme-sql",
        "acme_tools.coefficients:Coefficients",
        summary="The coefficients as a table of SQL.",
        suffixes=(".sql",),
    )


@hookimpl
def register_ledger_stores(register: Callable[..., None]) -> None:
    register(
        "acme-lines",
        "acme_tools.lines:LinesStore",
        summary="A file of lines that only grows: acme-lines://PATH.",
        schemes=("acme-lines",),
    )


@hookimpl
def register_losses(register: Callable[..., None]) -> None:
    register("acme-absolute", "acme_tools.parts:Absolute", summary="|y - z|: a median.")
    register("acme-ramp", "acme_tools.parts:Ramp", summary="A hinge that gives up on far rows.")


@hookimpl
def register_accountants(register: Callable[..., None]) -> None:
    register("acme-basic", "acme_tools.parts:BasicAccountant", summary="Adds up epsilons.")


@hookimpl
def register_datasets(register: Callable[..., None]) -> None:
    register("acme-steps", "acme_tools.parts:load_steps", summary="Is a number above one half?")


@hookimpl
def register_engines(register: Callable[..., None]) -> None:
    register("acme-one-thread", "acme_tools.parts:OneThread", summary="Sums one block at a time.")
