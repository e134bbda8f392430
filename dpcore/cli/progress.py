"""Bars on standard error that show the budget being spent; silent when not a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpcore.session.charges import Charges
    from dpcore.session.session import TableSession

__all__ = ["budget_progress", "rounds_progress"]


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


@contextmanager
def rounds_progress(charges: Charges, *, hidden: bool) -> Iterator[None]:
    """Show the rounds that users have joined, of those that their filters hold, a figure that is
    known beforehand, and the time that remains. It looks at the charges now and then: a round does
    not wait for it."""
    if hidden or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Remaining

    class Rounds(Progress):
        def get_renderables(self) -> Any:
            for task in self.tasks:
                if (figures := charges.figures) is not None:
                    self.update(task.id, completed=figures[0], total=figures[1])
            return super().get_renderables()

    columns = (TextColumn("rounds"), BarColumn(), MofNCompleteColumn(), Remaining())
    progress = Rounds(*columns, console=Console(stderr=True), transient=True)
    progress.add_task("rounds", total=None)
    with progress:
        yield
