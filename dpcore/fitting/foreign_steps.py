"""The steps of somebody's own beside a fit: what of them is taken, and what they are shown.

The core makes the door of such a step, over all rows of the run, for its share and no more. The
step has views without a row, and what it returns changes nothing of the run.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcore.errors import DpcoreError, InvalidInputError, OptimizerError, replacing
from dpcore.exact.rounding import float_up
from dpcore.fitting.details import LONGEST_TEXT, bounded
from dpcore.fitting.optimizer_run import type_and_place
from dpcore.fitting.reporting import plain
from dpcore.fitting.shares import require_share
from dpcore.fitting.steps import Outcome, Phase, Section
from dpcore.privacy.first_party import is_ours
from dpcore.privacy.statement import OF_DPCORE, part_of
from dpcore.registry.declarations import engine_facts

if TYPE_CHECKING:
    from dpcore.fitting.steps import Request, RunStep, RunView
    from dpcore.protocols import Engine
    from dpcore.protocols.problem import Problem
    from dpcore.session.session import TableSession

__all__ = ["SLACK", "ForeignRequest", "require_fit"]

SLACK = 1 + Fraction(1, 2**30)
"""For what figures of a filter are rounded by."""
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True, eq=False)
class ForeignRequest:
    """The request of a step of somebody's own, as it was when it was checked. The filter, the run
    and the steps after it have what they had without it, whatever its outcome says. It is shown no
    row, and its releases are of all rows of the run.

    Parameters
    ----------
    problem : the run's, so that the door knows the units whose rows are protected together.
    """

    step: RunStep
    asked: Request
    name: str
    phase: Phase
    share: Fraction
    problem: Problem

    @classmethod
    def of(cls, step: RunStep, view: RunView) -> ForeignRequest:
        """Return the request, with a share that is a float taken as its shortest decimal."""
        asked = step.check(view.of_no_rows())
        name, phase, share = str(asked.name), asked.phase, asked.share
        with suppress(TypeError, ValueError, OverflowError):
            exact = Fraction(str(share) if isinstance(share, float) else share)
            return cls(step, asked, name, phase, exact, view.ready.problem)
        raise InvalidInputError(f"Expected the step {name} to have a share that is a number.")

    @property
    def stated(self) -> dict[str, Any]:
        """The share of the budget, rounded up."""
        return {"share": float_up(self.share)}

    def over(self, view: RunView) -> Engine:
        """Return an engine over the rows of the run."""
        return view.over_rows()

    def over_none(self, view: RunView) -> Engine:
        """Return one over none of them."""
        return view.over_none()

    def rehearse(self, session: TableSession, view: RunView) -> None:
        """Make its releases; InvalidInputError where they cost more than its share."""
        before = Fraction(session.accountant.spent)
        with self._told_by_place():
            self.asked.rehearse(session, view.of_no_rows())
        cost = Fraction(session.accountant.spent) - before
        if cost > self.share * Fraction(view.ready.plan.accountant.budget) * SLACK:
            raise InvalidInputError(
                f"The step {self.name} states a share of {float(self.share):.3g} of the budget, "
                "and its releases cost more: mechanism_for(accountant, share) has the noise of one."
            )

    def run(self, session: TableSession, view: RunView) -> Outcome:
        """Return its section, as data."""
        with self._told_by_place():
            section = self.asked.run(session, view.of_no_rows()).section
            if section is None:
                return Outcome(view)
            lines = tuple(str(line)[:LONGEST_TEXT] for line in section.lines)
            data = plain(bounded(dict(section.data)))
            return Outcome(view, section=Section(data, lines, int(section.version)))

    def _told_by_place(self) -> AbstractContextManager[None]:
        """Raise OptimizerError without an error's own text, which may hold a private value."""

        def failed(error: BaseException) -> BaseException:
            if isinstance(error, DpcoreError):
                return error
            told = type_and_place(error, type(self.step).__module__)
            return OptimizerError(f"The step {self.name} failed: {told}.")

        return replacing(Exception, SystemExit, by=failed)


def require_fit(step: RunStep, request: Request, view: RunView, taken: list[str]) -> None:
    """Refuse a step of somebody's own where the plan cannot leave it a share, whatever its own
    check says, or its name is not one of its own."""
    plan, name = view.ready.plan, request.name
    require_share(plan, f"The step {name} is released from the rows", "Leave it out")
    if not _NAME.fullmatch(name) or name in (*OF_DPCORE, *taken):
        raise InvalidInputError(
            f"Expected the step {part_of(step)} to have a name of small letters and hyphens that "
            f"no other has, such as 'class-counts', and not {name!r}."
        )
    if is_ours(type(step).__module__):
        raise InvalidInputError(
            f"Expected the step {part_of(step)} to bear the name of its own module, which the "
            "statement then names."
        )
    if request.phase not in (Phase.PROBLEM, Phase.RESULT):
        raise InvalidInputError(f"Expected the step {name} to have the phase PROBLEM or RESULT.")
    if not 0 < request.share < 1 - view.taken:
        raise InvalidInputError(
            f"The steps beside the fit would take {float(view.taken + request.share):.3g} of the "
            "budget: expected shares that add up to less than 1, so that the fit has the rest."
        )
    if engine_facts(plan.engine).reads_files:
        raise InvalidInputError(
            f"An engine that reads files itself has no step {name}: leave it out, or take the "
            "engine local."
        )
