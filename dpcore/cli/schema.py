"""``dpcore schema``: a schema to fill in, from a file's header and types."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Annotated

import typer

from dpcore.errors import InvalidInputError

__all__ = ["schema_command"]

_WARNING = (
    "the bounds, categories and classes in this schema were read off the rows: they can be values "
    "of single persons, and every model fitted with it is marked not private."
)
_LEAKS = "".join(f"# {line}\n" for line in textwrap.wrap(_WARNING.capitalize(), 96))


def schema_command(
    file: Annotated[Path, typer.Argument(help="CSV, Parquet or another file of rows.")],
    target: Annotated[str | None, typer.Option(help="Label column.")] = None,
    from_data: Annotated[
        bool, typer.Option("--from-data", help="Copy bounds and categories off the rows: leaks.")
    ] = False,
) -> None:
    """Write a schema template (TOML) to standard output."""
    from dpcore.data.template import document_from_data, schema_template

    if not from_data:
        typer.echo(schema_template(file, target), nl=False)
        return
    if target is None:
        raise InvalidInputError("Expected --target, the label column, with --from-data.")
    text = document_from_data(file, target)
    typer.echo(f"{_LEAKS}{text}", nl=False)
    typer.echo(f"dpcore: {_WARNING}", err=True)
