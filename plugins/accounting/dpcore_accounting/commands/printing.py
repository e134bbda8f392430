"""Tables, and the bytes of a file, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import typer

from dpcore.errors import visible

__all__ = ["print_bytes", "print_table"]

_PIPE_WIDTH = 400


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows of text under a title and column heads. All of it is text, never markup: names of
    classes, levels and analysts are whatever someone chose."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    def plain(text: str) -> Text:
        return Text(visible(text))

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    looks: dict[str, Any] = {"title_justify": "left", "title_style": "bold", "box": SIMPLE_HEAD}
    table = Table(title=plain(title), **looks)
    for name in columns:
        table.add_column(plain(name))
    # A name is never broken over lines; what is long, the rest, is.
    table.columns[0].no_wrap = True
    for row in rows:
        table.add_row(*map(plain, row))
    console.print(table)


def print_bytes(piece: str | bytes) -> None:
    """Print the text of a file as it is, without a line break after it; to a terminal as lines."""
    content = piece.encode("utf-8", "surrogateescape") if isinstance(piece, str) else piece
    if sys.stdout.isatty():
        text = content.decode("utf-8", "backslashreplace")
        typer.echo("\n".join(visible(line) for line in text.split("\n")), nl=False)
    else:
        typer.echo(content, nl=False)
