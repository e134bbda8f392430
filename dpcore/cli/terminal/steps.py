"""The steps of each command, as its progress shows them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from dpcore.cli.terminal.progress import Step
from dpcore.registry.tables.optimizer_spec import accountant_facts
from dpcore.session.charges import Budget, Charges

if TYPE_CHECKING:
    from dpcore.protocols import Accountant
    from dpcore.session.sequential_sessions import OnRelease
    from dpcore.session.session import TableSession

__all__ = [
    "ReleasesMade",
    "fit_progress",
    "rounds_progress",
]

_PAUSE = 0.1
"""Seconds between two looks at a filter, since a session copies it for each."""


class ReleasesMade:
    """The releases of a fit, and the share of its budget that they were charged. Under a filter
    that charges all of it with the first, it is the share of the releases that were planned."""

    def __init__(self) -> None:
        self.step: Step | None = None
        self._count, self._looked = 0, -_PAUSE

    def on_release(self, session: TableSession) -> None:
        """Take note of one more release, in the thread that made it."""
        self._count += 1
        now = time.monotonic()
        if now - self._looked >= _PAUSE:
            self._looked = now
            self.step = self._step(session.accountant)

    def _step(self, filter: Accountant | Budget) -> Step:
        # What fits of one budget add up to was planned for no number of releases.
        added = isinstance(filter, Budget)
        planned = None if added else accountant_facts(filter).planned_releases
        if planned is not None and (total := planned()) > 0:
            return Step("fitting", self._count, total, f"{self._count:,} of {total:,} releases")
        share = filter.spent / filter.budget
        words = f"{self._count:,} release{'s' * (self._count > 1)}, {share:.0%} of the budget"
        return Step("fitting", share, 1.0, words)


@contextmanager
def fit_progress(*, hidden: bool) -> Iterator[OnRelease]:
    """Show the bytes read and then the releases of a fit. Yield what is to be called after each of
    these, ``None`` where nothing is shown."""
    if hidden:
        yield None
        return
    from dpcore.data.loader import loader_if_there

    files, releases = Step.of_files("reading"), ReleasesMade()
    loader = loader_if_there()
    watch = nullcontext() if loader is None else loader.watched(files.on_bytes)
    with watch, Step.shown(lambda: releases.step or files.step, hidden=False):
        yield releases.on_release


@contextmanager
def rounds_progress(charges: Charges, *, hidden: bool) -> Iterator[None]:
    """Show the rounds that a source of answers has charged, of those that it holds, a number that
    is known beforehand."""

    def look() -> Step | None:
        if (charged := charges.charged) is None:
            return None
        joined, held, _ = charged
        return Step("rounds", joined, held, f"{joined}/{held}")

    with Step.shown(look, hidden=hidden):
        yield
