"""The words of a check: what it has tested, with what power, and what it has not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

__all__ = ["BelowThreshold", "Tested"]


class BelowThreshold(AssertionError):
    """A threshold of utility that a part missed: no fault of its privacy."""


@dataclass(frozen=True)
class Tested:
    """The words of a check that passed, which ``dpcore check`` prints.

    Parameters
    ----------
    what : what was compared, with its numbers.
    power : which faults it would have found, and how probably; empty where it found what it looks
        for with certainty or nothing is known.
    not_tested : what it leaves open, as clauses.
    ranges : the least and the largest of what was tried, as clauses: rows, blocks, columns,
        classes, scales, threads.
    """

    what: str
    power: str = ""
    not_tested: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()

    __test__: ClassVar[bool] = False
    """No test, whatever pytest makes of its name."""

    def __str__(self) -> str:
        parts = [self.what, self.power]
        if self.ranges:
            parts.append(f"ranges: {'; '.join(self.ranges)}")
        if self.not_tested:
            parts.append(f"not tested: {'; '.join(self.not_tested)}")
        return ". ".join(part for part in parts if part)
