"""The only way of a command to its terminal: lines, JSON and the bytes of a file."""

from __future__ import annotations

import json
import sys
from typing import Any

import typer

from dpcore.visible import visible

__all__ = ["print_bytes", "print_json", "print_lines"]


def print_lines(*lines: object, err: bool = False) -> None:
    """Print each text as one line, whatever it holds (``dpcore.visible``). Nothing is markup."""
    for line in lines:
        typer.echo(visible(line), err=err)


def print_json(value: Any, *, allow_nan: bool = False) -> None:
    """Print an object as JSON in ASCII, whose escapes leave a terminal nothing to obey.

    ``allow_nan`` : numbers that are not finite are written as Python has them, not refused.
    """
    text = json.dumps(value, indent=2, allow_nan=allow_nan)
    typer.echo(text.replace("\x7f", r"\u007f"))  # the one control character that is left as it is


def print_bytes(piece: str | bytes) -> None:
    """Print the text of a file as it is, without a line break after it; to a terminal as lines."""
    content = piece.encode("utf-8", "surrogateescape") if isinstance(piece, str) else piece
    if sys.stdout.isatty():
        text = content.decode("utf-8", "backslashreplace")
        typer.echo("\n".join(visible(line) for line in text.split("\n")), nl=False)
    else:
        typer.echo(content, nl=False)
