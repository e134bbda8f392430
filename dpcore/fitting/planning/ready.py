"""A plan that fits its data, as data: with the public facts of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpcore.accountants.equal_parts import equal_part

if TYPE_CHECKING:
    from dpcore.fitting.planning.planned import Plan
    from dpcore.protocols import Accountant
    from dpcore.protocols.problem import Problem

__all__ = ["Ready"]


@dataclass(frozen=True)
class Ready:
    """A plan that fits the data, its accountant planned for them, and the public facts of both.

    Parameters
    ----------
    of_each : the plan of one of ``fits`` fits, whose accountant is its part of the budget; the plan
        itself where there is one.
    """

    plan: Plan
    problem: Problem
    of_each: Plan
    fits: int = 1

    def part_of(self, accountant: Accountant) -> Accountant:
        """Return the filter of each fit in what the run's own, charged perhaps, has left."""
        if self.fits == 1:
            return accountant
        return equal_part(accountant, self.fits) if accountant.spent else self.of_each.accountant
