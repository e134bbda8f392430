"""The only way of a command to its terminal: lines and JSON."""

import json
from typing import Any

import typer

from dpcore.errors import visible

__all__ = ["print_json", "print_lines"]


def print_lines(*lines: object, err: bool = False) -> None:
    """Print each text as one line, whatever it holds (``visible``). Nothing is markup."""
    for line in lines:
        typer.echo(visible(line), err=err)


def print_json(value: Any, *, allow_nan: bool = False) -> None:
    """Print an object as JSON in ASCII, whose escapes leave a terminal nothing to obey.

    ``allow_nan`` : numbers that are not finite are written as Python has them, not refused.
    """
    # The one control character that is left as it is.
    typer.echo(json.dumps(value, indent=2, allow_nan=allow_nan).replace("\x7f", r"\u007f"))
