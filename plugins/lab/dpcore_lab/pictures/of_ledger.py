"""The picture of a ledger: what counted as spent of each of its budgets, over time."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from dpcore.errors import DataError, replacing
from dpcore_lab.pictures.content import ledger_of_json
from dpcore_ledger.rendering import to_dict
from dpcore_ledger.state import state_of
from dpcore_ledger.verify import verified
from dpcore_report.pictures.panel import Panel, Picture, Series

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["ledger_picture"]

_SECONDS = 86_400.0
_TOLD = (
    "What counted as spent is book-keeping of the filter; the guarantee is the cap. A run counts "
    "whole from its reservation on, and what it did not need comes back when it is closed, which "
    "is drawn at the time of the entry before."
)


def ledger_picture(name: str) -> Picture:
    """Return the picture of a ledger, of its file, its address, or the JSON of ``dpcore ledger
    show``. Times and sums alone are drawn: no analyst, no run and no table is named.

    Raises LedgerError for a ledger that was altered, DataError for such JSON.
    """
    told = ledger_of_json(name)
    if told is None:
        entries = verified(name)
        told = to_dict(state_of(entries), entries)
    altered = DataError(f"{name!r} is not what dpcore ledger show --json prints.")
    kinds = KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError
    with replacing(*kinds, by=lambda _: altered):
        return Picture("Budget over time", tuple(_panels(told)), _TOLD)


def _panels(told: Mapping[str, Any]) -> Iterator[Panel]:
    for place, budget in enumerate(told["budgets"]):
        cap, unit = float(budget["budget"]), str(budget["unit"])
        times, spent = zip(*_steps(told["history"], place), strict=True)
        series = Series("counts as spent", spent), Series("cap", (cap,) * len(times))
        of = f"epsilon {float(budget['epsilon']):.4g}, delta {float(budget['delta']):.4g}"
        title = f"Budget {place + 1}: {of} ({budget['accountant']})"
        yield Panel(title, times, series, "when (UTC)", unit, is_date=True)


def _steps(history: list[Mapping[str, Any]], place: int) -> Iterator[tuple[float, float]]:
    """Yield the corners of the line: level until the next entry, and then its sum. An entry that
    ends a run has no time, so that none tells how long a run takes, and is at that of the entry
    before it."""
    now = before = None
    for moment in history:
        spent = float(moment["spent"][place])
        now = _days(moment["at"]) if moment["at"] else now
        if now is None:
            raise ValueError("The first entry of a ledger has a time.")
        if before is not None:
            yield now, before
        yield now, spent
        before = spent


def _days(at: str) -> float:
    """Return a time as days since 1970-01-01."""
    return datetime.fromisoformat(at).timestamp() / _SECONDS
