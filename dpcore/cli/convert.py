"""``dpcore convert``: a table larger than memory as a store, which ``dpcore train`` maps."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from dpcore.errors import InvalidInputError

__all__ = ["convert_command"]


def convert_command(
    source: Annotated[Path, typer.Argument(help="CSV, Parquet or other file with named columns.")],
    out: Annotated[Path, typer.Argument(help="Store to write; its name ends in .dpcore.")],
    schema: Annotated[Path | None, typer.Option(help="Schema (TOML) of the file.")] = None,
    bad_rows: Annotated[
        str,
        typer.Option(
            help="Rows that do not satisfy the schema: refuse or drop. A store whose rows were "
            "dropped fits under add-or-remove-one only."
        ),
    ] = "refuse",
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Convert a file of rows to a store for tables larger than memory.

    Then train with --data OUT; the store keeps the schema. It holds every row that the file holds:
    it is as private as the file is.
    """
    from dpcore.data.schema import Schema
    from dpcore.data.store import convert
    from dpcore.outfile import refuse_inputs

    refuse_inputs(out, {"SOURCE": source, "--schema": schema})
    if schema is None:
        raise InvalidInputError(
            f"{source} needs a schema of its public bounds and categories: write one from "
            f"`dpcore schema {source} > schema.toml`, fill it in, and name it with --schema."
        )
    with _rows_progress(hidden=quiet) as on_piece:
        convert(source, out, Schema.read(schema), bad_rows=bad_rows, on_piece=on_piece)  # type: ignore[arg-type]
    if not quiet:
        typer.echo(f"Store: {out} (readable by you only)")


@contextmanager
def _rows_progress(*, hidden: bool) -> Iterator[Callable[[int], None] | None]:
    """Yield a callback for the rows written so far, shown to the owner at a terminal only."""
    if hidden or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.completed:,} rows"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("rows", total=None)
        yield lambda n_rows: progress.update(task, completed=n_rows)
