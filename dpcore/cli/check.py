"""``dpcore check``: the admission test of an optimizer."""

from __future__ import annotations

from typing import Annotated

import typer

from dpcore.cli.loading import default_optimizer
from dpcore.registry.catalogue import load_registry

__all__ = ["check_command"]


def check_command(
    name: Annotated[str, typer.Argument(help="A registered optimizer.")],
) -> None:
    """Run the privacy checks of dpcore.testing on an optimizer; exit 1 if one fails."""
    optimizer = default_optimizer(load_registry(), name)
    from dpcore.testing import run_checks

    failed = 0
    for check, ok, message in run_checks(optimizer):
        failed += not ok
        typer.echo(f"{'ok    ' if ok else 'FAILED'}  {check}{': ' if message else ''}{message}")
    if failed:
        raise typer.Exit(1)
