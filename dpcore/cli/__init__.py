"""The command line. Each command is a file; heavy imports happen inside the commands."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from dpcore import __version__
from dpcore.cli.account import account_command
from dpcore.cli.audit import audit_command
from dpcore.cli.check import check_command
from dpcore.cli.compare import compare_command
from dpcore.cli.convert import convert_command
from dpcore.cli.errors import OneLineErrors
from dpcore.cli.explain import explain_command
from dpcore.cli.export import export_command
from dpcore.cli.info import info_command
from dpcore.cli.ledger import ledger_app
from dpcore.cli.list import list_command
from dpcore.cli.plan import plan_command
from dpcore.cli.plot import plot_command
from dpcore.cli.predict import predict_command
from dpcore.cli.report import report_command
from dpcore.cli.schema import schema_command
from dpcore.cli.streams import open_closed_streams
from dpcore.cli.summary_model import summary_command
from dpcore.cli.train import train_command
from dpcore.cli.tune import tune_command

__all__ = ["app", "main"]

# Pretty tracebacks would print local variables, which may hold rows.
app = typer.Typer(
    cls=OneLineErrors,
    name="dpcore",
    help="Differentially private linear models, one plugin per published algorithm.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"dpcore {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Differentially private linear models, one plugin per published algorithm."""


app.command("train")(train_command)
app.command("tune")(tune_command)
app.command("predict")(predict_command)
app.command("export")(export_command)
app.command("compare")(compare_command)
app.command("plot")(plot_command)
app.command("list")(list_command)
app.command("info")(info_command)
app.command("check")(check_command)
app.command("audit")(audit_command)
app.command("account")(account_command)
app.command("explain")(explain_command)
app.command("report")(report_command)
app.command("summary")(summary_command)
app.command("plan")(plan_command)
app.command("schema")(schema_command)
app.command("convert")(convert_command)
app.add_typer(ledger_app, name="ledger")


def main() -> None:
    """Run the command line of the process and exit."""
    open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A file name that a terminal has no letters for is no reason to fail after a fit.
        sys.stdout.reconfigure(errors="backslashreplace")
    app()
