"""The command line. Each command is a file; heavy imports happen inside the commands."""

from __future__ import annotations

import functools
import gc
import importlib
import io
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpcore import __version__
from dpcore.cli.errors import OneLineErrors
from dpcore.cli.printing import print_lines
from dpcore.cli.streams import hush, open_closed_streams
from dpcore.systems import NOT_HERE

if TYPE_CHECKING:
    app: typer.Typer

__all__ = ["app", "main"]

_COMMANDS = {
    "train": "train:train_command",
    "tune": "tune:tune_command",
    "predict": "predict:predict_command",
    "export": "export:export_command",
    "compare": "compare:compare_command",
    "plot": "plot:plot_command",
    "list": "list:list_command",
    "info": "info:info_command",
    "check": "check:check_command",
    "audit": "audit:audit_command",
    "account": "account:account_command",
    "explain": "explain:explain_command",
    "report": "report:report_command",
    "summary": "summary_model:summary_command",
    "plan": "plan:plan_command",
    "schema": "schema:schema_command",
    "convert": "convert:convert_command",
    "ledger": "ledger:ledger_app",
}
"""Where each command is, in the order of ``--help``."""


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


def _app_of(names: Iterable[str]) -> typer.Typer:
    """Return the command line with these commands alone, whose files are imported."""
    # Pretty tracebacks would print local variables, which may hold rows.
    group = typer.Typer(
        cls=OneLineErrors,
        name="dpcore",
        help="Differentially private linear models, one plugin per published algorithm.",
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    group.callback()(_options)
    for name in names:
        module, _, attribute = _COMMANDS[name].partition(":")
        command = getattr(importlib.import_module(f"dpcore.cli.{module}"), attribute)
        if isinstance(command, typer.Typer):
            group.add_typer(command, name=name)
        else:
            group.command(name)(command)
    return group


@functools.cache
def _whole_app() -> typer.Typer:
    return _app_of(_COMMANDS)


def __getattr__(name: str) -> Any:
    # Built on use: a process that runs one command imports and builds no other.
    if name == "app":
        return _whole_app()
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
    # With anything else before it, such as an unknown name, all commands are there to choose from.
    asked = [name for name in sys.argv[1:2] if name in _COMMANDS]
    try:
        _app_of(asked or _COMMANDS)()
    finally:
        gc.freeze()  # The process ends: a last search for cycles among modules would free nothing.
