"""Tables in the terminal, by rich; wide and plain where the output is no terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["print_table"]

_PIPE_WIDTH = 400


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows of text under a title and column heads."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    table = Table(*columns, title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    # A name is never broken over lines; what is long, the rest, is.
    table.columns[0].no_wrap = True
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
