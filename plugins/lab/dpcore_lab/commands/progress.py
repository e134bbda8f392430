"""The steps of audits and comparisons, for the bar or the lines of their progress."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcore.plugin.commands import Step

__all__ = ["FitsMade", "RunsMade"]


class RunsMade:
    """The runs of an audit, over made rows."""

    def __init__(self) -> None:
        self._done = 0

    def on_runs(self, runs: int) -> None:
        """Take note of so many more."""
        self._done += runs

    def look(self) -> Step | None:
        if not self._done:
            return None
        return Step("auditing", self._done, None, f"{self._done:,} runs")


class FitsMade:
    """The fits of a comparison, of all that it makes; while this process reads a file, its bytes.
    Processes beside it (``--jobs``) read unseen."""

    def __init__(self) -> None:
        self.step: Step | None = None
        self.reading = Step.of_files("reading")

    def on_row(self, done: int, total: int, row: Mapping[str, Any]) -> None:
        """Take note of a fit, and of all that are done, those of an earlier run included."""
        words = f"{done:,} of {total:,} fits, last {row['algorithm']} on {row['data']}"
        self.step = Step("comparing", done, total, words)
        self.reading.step = None

    def look(self) -> Step | None:
        return self.reading.step or self.step
