"""A user's journal of rounds: what a restart must not forget, so that no round is answered twice.

Keys and self-mask seeds are never written anywhere. A user that restarts has lost those of the
round that it was in: for the others it dropped out, and by its journal it knows not to begin that
round again. The next round has fresh ones.
"""

from __future__ import annotations

import json
import os

from dpcore.errors import replacing
from dpcore.plugin import InvalidInputError
from dpcore_a_ddp.pools.synced_lines import SyncedLines

__all__ = ["FileJournal", "RoundJournal"]

_FORMAT = "dpcore secure sums journal 1"


class RoundJournal:
    """The last round that a user began, and its last step in it: in memory.

    ``last`` : -1 before the first round.
    """

    def __init__(self) -> None:
        self.last, self.step = -1, ""

    def begin(self, index: int) -> bool:
        """Return whether round ``index`` may begin, which is then written down: rounds rise."""
        if index <= self.last:
            return False
        self.note(index, "advertised")
        return True

    def note(self, index: int, step: str) -> None:
        """Write down a step, before its message is sent."""
        self.last, self.step = index, step

    def close(self) -> None:
        """Let another process have it."""


class FileJournal(RoundJournal):
    """A ``RoundJournal`` in a file, each step synced before its message leaves.

    Raises InvalidInputError for a file that another process holds, or that is no journal.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__()
        name = os.fspath(path)
        held = InvalidInputError(f"The journal {name!r} is in use by another process.")
        damaged = InvalidInputError(
            f"{name!r} is no journal of rounds: which of them were answered cannot be told."
        )
        self._file = SyncedLines(path, held)
        try:
            self._load(damaged)
        except BaseException:
            self._file.close()
            raise

    def note(self, index: int, step: str) -> None:
        self._file.append({"round": index, "step": step})
        super().note(index, step)

    def close(self) -> None:
        self._file.close()

    def _load(self, damaged: InvalidInputError) -> None:
        if not self._file.lines:
            self._file.append({"format": _FORMAT})
            self._file.sync_folder()
            return
        with replacing(ValueError, RecursionError, by=lambda _: damaged):
            entries = [json.loads(line) for line in self._file.lines]
        if entries[0] != {"format": _FORMAT}:
            raise damaged
        for entry in entries[1:]:
            index = entry.get("round") if isinstance(entry, dict) else None
            if type(index) is not int or index < self.last:
                raise damaged
            self.last, self.step = index, str(entry.get("step"))
