"""The axis of a panel: which values it is from and to, and where it has ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcore_report.pictures.panel import Panel

__all__ = ["date_of", "range_of_values", "shown_numbers", "ticks"]

_MOST_TICKS = 7
_FAR = 4.0
"""Ends of intervals further out than so many widths of the values themselves are cut off."""


def ticks(low: float, high: float, most: int = _MOST_TICKS) -> list[float]:
    """Return round numbers from ``low`` to ``high``, about so many: multiples of 1, 2 or 5 times
    a power of ten."""
    least = (high - low) / most
    power = 10.0 ** math.floor(math.log10(least))
    step = next(power * k for k in (1.0, 2.0, 5.0, 10.0) if power * k >= least * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def shown_numbers(numbers: list[float]) -> list[str]:
    """Return ticks as text, all with the digits that tell them apart."""
    step = min((b - a for a, b in zip(numbers, numbers[1:], strict=False)), default=1.0)
    largest = max(map(abs, numbers), default=0.0)
    if largest >= 1e6 or step < 1e-4:
        return [f"{number:.3g}" for number in numbers]
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return [f"{number + 0.0:,.{digits}f}" for number in numbers]


def date_of(days: float) -> datetime:
    """Return the moment so many days after 1970-01-01."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=days)


def range_of_values(panel: Panel) -> tuple[float, float]:
    """Return the least and the largest value that is drawn, apart. Bars start at 0, which is then
    among them; the ends of intervals count as far as values stay readable beside them."""
    if panel.is_share:
        return 0.0, 1.0
    own = [*_known(chain.from_iterable(each.values for each in panel.series))]
    if any(each.mark == "bars" for each in panel.series):
        own.append(0.0)
    least, largest = min(own, default=0.0), max(own, default=1.0)
    reach = _FAR * (largest - least) or math.inf
    lows = _known(chain.from_iterable(each.low for each in panel.series))
    highs = _known(chain.from_iterable(each.high for each in panel.series))
    low = max(least - reach, min(lows, default=least))
    high = min(largest + reach, max(highs, default=largest))
    low, high = min(low, least), max(high, largest)
    if not low < high:
        apart = abs(low) or 1.0
        return low - apart / 2, high + apart / 2
    aside = 0.04 * (high - low)
    return low - aside, high + aside


def _known(values: Iterable[float | None]) -> Iterator[float]:
    return (value for value in values if value is not None and math.isfinite(value))
