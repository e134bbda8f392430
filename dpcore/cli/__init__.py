"""The command line. Each command is a file; heavy imports happen inside the commands."""

from __future__ import annotations

import functools
import gc
import io
import sys
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from dpcore import __version__
from dpcore.cli.commands import command_of, commands_by_heading, registry_of, stub_of
from dpcore.cli.errors import OneLineErrors
from dpcore.cli.terminal.printing import print_lines
from dpcore.cli.terminal.streams import hush, open_closed_streams
from dpcore.errors import NOT_HERE, visible
from dpcore.moved import where_to_get
from dpcore.registry.catalogue import load_registry

if TYPE_CHECKING:
    app: typer.Typer

__all__ = ["app", "main"]


def _print_version(asked: bool) -> None:
    if asked:
        print_lines(f"dpcore {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Differentially private linear models, one plugin per published algorithm."""


class _Commands(OneLineErrors):
    """The group of all commands. Its list needs names and summaries only."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [entry.name for entries in commands_by_heading().values() for entry in entries]

    def get_command(self, ctx: Any, name: str) -> Any:
        registry = registry_of(name)
        if name not in registry.names("command") and not registry.failures:
            if where_to_get("command", name):
                registry.get("command", name)  # which says it
            # What may have been meant; none of them is built for it.
            self.commands = cast(Any, dict.fromkeys(registry.names("command")))
            return None
        return command_of(registry, name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        headings = commands_by_heading()
        names = [entry.name for entries in headings.values() for entry in entries]
        limit = formatter.width - 6 - max(map(len, names))
        for heading, entries in headings.items():
            with formatter.section(heading):
                formatter.write_dl(
                    [(e.name, stub_of(e).get_short_help_str(limit)) for e in entries]
                )
        failures = load_registry("command").failures
        if failures:
            with formatter.section("Failed plugins"):
                formatter.write_dl([(f.name, visible(f"{f.owners}: {f.reason}")) for f in failures])


@functools.cache
def _app() -> typer.Typer:
    # Pretty tracebacks would print local variables, which may hold rows.
    group = typer.Typer(
        cls=_Commands,
        name="dpcore",
        help="Differentially private linear models, one plugin per published algorithm.",
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    group.callback()(_options)
    return group


def __getattr__(name: str) -> Any:
    if name == "app":
        return _app()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def main() -> None:
    """Run the command line of the process and exit."""
    if NOT_HERE:
        raise SystemExit(f"dpcore: {NOT_HERE}")
    open_closed_streams()
    hush(False)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A file name that a terminal has no letters for is no reason to fail after a fit.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        _app()()
    finally:
        gc.freeze()  # The process ends: a last search for cycles among modules would free nothing.
