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
