"""The knowledge of a step, in each phase: public facts, and released values once there are some.

No view holds a row, nor anything that answers exactly: a step asks its session.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.planning.planned import Plan
    from dpcore.fitting.planning.ready import Ready
    from dpcore.protocols import Accountant
    from dpcore.protocols.problem import Problem, Solution

__all__ = ["HeldOut", "PublicFacts", "ResultView"]


@dataclass(frozen=True)
class HeldOut:
    """The public facts of rows held out.

    Parameters
    ----------
    n_units : their number, where the number of rows is public; else ``None``.
    weighted : whether they come with weights.
    """

    n_units: int | None
    weighted: bool


@dataclass(frozen=True, eq=False)
class PublicFacts:
    """The public facts of a run while its steps are checked, and before it has a solution.

    Parameters
    ----------
    schema : of the rows; once bounds were released, with these.
    held_out : ``None`` where no row is held out.
    asked : name and share of the steps that were checked before.
    """

    ready: Ready
    schema: Schema
    held_out: HeldOut | None = None
    asked: tuple[tuple[str, Fraction], ...] = ()

    @property
    def plan(self) -> Plan:
        """The plan of the run, its accountant planned."""
        return self.ready.plan

    @property
    def accountant(self) -> Accountant:
        """The run's filter, empty: shares are of its budget."""
        return self.ready.plan.accountant

    @property
    def problem(self) -> Problem:
        """The problem of the run."""
        return self.ready.problem

    @property
    def held_out_problem(self) -> Problem:
        """The problem with the public facts of the rows held out."""
        if self.held_out is None or self.problem.n is None:
            return self.problem
        return replace(self.problem, n=self.held_out.n_units)

    @property
    def taken(self) -> Fraction:
        """The share of the budget that the steps before have."""
        return sum((share for _, share in self.asked), Fraction(0))

    def after(self, name: str, share: Fraction) -> Self:
        """Return the facts for the next step."""
        return replace(self, asked=(*self.asked, (name, share)))


@dataclass(frozen=True, eq=False, kw_only=True)
class ResultView(PublicFacts):
    """The public facts of a run with the optimizer's solution, one for all of its fits."""

    solution: Solution

    @classmethod
    def of(cls, facts: PublicFacts, solution: Solution) -> ResultView:
        """Return the view of a copy of a solution: a step alters nothing of the run's own."""
        known = {field.name: getattr(facts, field.name) for field in fields(PublicFacts)}
        return cls(
            **known,
            solution=replace(solution, w=solution.w.copy(), details=dict(solution.details)),
        )
