"""A user's ledger as a file: what was debited outlives the process, and no debit is spent twice.

JSON lines, appended and synced one by one. The first names the rules; then, for each round that
the user joined, a debit, written before anything is drawn, and the reply, written before it is
sent. A retry gets the stored reply. A debit without a reply, after an interruption, stays spent,
and its round is lost: noise is never drawn a second time for one round. A line that an interruption
cut short was never acted on, so it is cut off; any other damage is refused.
"""

from __future__ import annotations

import base64
import json
import os
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import replacing
from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import ChargeLog
from dpcore_a_ddp.pools.synced_lines import SyncedLines

if TYPE_CHECKING:
    from dpcore_a_ddp.pools.round_rules import GradientRounds
    from dpcore_a_ddp.users.messages import User

__all__ = ["FileLedger", "RoundLedger"]

_FORMAT = "dpcore user ledger 1"
_RULES_BEFORE = "terms"
"""The word for the rules in files of the first versions: what they say was spent is spent."""


class RoundLedger(ChargeLog[int]):
    """The rounds that a user has joined, and the replies that were drawn for them: in memory.

    An entry is the index of a round. ``replies`` : round to the values that were released.
    ``asked`` : round to a digest of what they answer. ``turn`` : held from the look at what is left
    until the reply is stored.
    """

    def __init__(self) -> None:
        super().__init__()
        self.replies: dict[int, np.ndarray] = {}
        self.asked: dict[int, str] = {}
        self.turn = threading.Lock()

    def store(self, index: int, values: np.ndarray, asked: str) -> None:
        """Keep a released reply, to be sent, and sent again if the same is asked again."""
        self.replies[index], self.asked[index] = values, asked

    def close(self) -> None:
        """Let another process have it."""


class FileLedger(RoundLedger):
    """A ``RoundLedger`` with a file behind it, which one process holds at a time.

    Parameters
    ----------
    path : of the file, made if it is not there, readable by its owner only.
    user, rules : what it is for. A budget is one run's: a ledger of other rules is refused.

    Raises InvalidInputError for a ledger that another process holds, that is of another user, of
    other rules or another budget, or that is damaged.
    """

    def __init__(self, path: str | os.PathLike[str], user: User, rules: GradientRounds) -> None:
        super().__init__()
        self._path = os.fspath(path)
        held = InvalidInputError(
            f"The ledger {self._path!r} is in use by another process, which may spend it."
        )
        self._file = SyncedLines(path, held)
        try:
            head = {
                "format": _FORMAT,
                "user": user.name,
                "rows": user.n_rows,
                "budget": [user.epsilon, user.delta],
                "rules": rules.digest,
            }
            self._load(head)
        except BaseException:
            self._file.close()
            raise

    def charge(self, entry: int) -> None:
        """Write a debit to the file, then down. Raises OSError: nothing is drawn then."""
        self._file.append({"debit": entry})
        super().charge(entry)

    def store(self, index: int, values: np.ndarray, asked: str) -> None:
        content = base64.b64encode(values.astype("<i8").tobytes()).decode("ascii")
        self._file.append({"reply": index, "asked": asked, "values": content})
        super().store(index, values, asked)

    def close(self) -> None:
        self._file.close()

    def _load(self, head: dict[str, Any]) -> None:
        lines = self._file.lines
        if not lines:
            self._file.append(head)
            self._file.sync_folder()
            return
        entries = [self._entry(number, line) for number, line in enumerate(lines, 1)]
        first = dict(entries[0])
        if _RULES_BEFORE in first:
            first["rules"] = first.pop(_RULES_BEFORE)
        if first != head:
            raise InvalidInputError(
                f"The ledger {self._path!r} is of another user, of other rules or of another "
                "budget; a budget cannot be moved to another run. Give this run a new one."
            )
        for number, entry in enumerate(entries[1:], 2):
            self._replay(number, entry)

    def _replay(self, number: int, entry: dict[str, Any]) -> None:
        index = entry.get("debit", entry.get("reply"))
        debits = self.entries
        if type(index) is not int or (debits and index < debits[-1]):
            raise self._damaged(number)
        if "debit" in entry and index not in debits:
            super().charge(index)
        elif "reply" in entry and index in debits and index not in self.replies:
            with replacing(ValueError, by=lambda _: self._damaged(number)):
                values = base64.b64decode(str(entry.get("values", "")))
                self.replies[index] = np.frombuffer(values, "<i8").astype(np.int64)
            self.asked[index] = str(entry.get("asked", ""))
        else:
            raise self._damaged(number)

    def _entry(self, number: int, line: bytes) -> dict[str, Any]:
        with replacing(ValueError, RecursionError, by=lambda _: self._damaged(number)):
            entry = json.loads(line)
        if not isinstance(entry, dict):
            raise self._damaged(number)
        return entry

    def _damaged(self, number: int) -> InvalidInputError:
        return InvalidInputError(
            f"The ledger {self._path!r} is damaged in line {number}: what was spent cannot be told."
        )
