"""A bar on standard error that shows the budget being spent; silent when not a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcore.session.session import TableSession

__all__ = ["budget_progress"]


@contextmanager
def budget_progress(*, hidden: bool) -> Iterator[Callable[[TableSession], None] | None]:
    """Yield a callback for each release, or ``None`` where nothing is to be shown."""
    if hidden or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (
        TextColumn("budget"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[n]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("budget", total=1.0, n="")

        def show(session: TableSession) -> None:
            share = session.accountant.spent / session.accountant.budget
            progress.update(task, completed=share, n=f"{len(session.ledger)} releases")

        yield show
