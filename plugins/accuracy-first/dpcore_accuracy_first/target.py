"""A target as a test on sums over rows: what is asked at a hypothesis, and how far it may move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import optimizer_facts
from dpcore_accuracy_first.objectives.loss_sum import ErrorCount, ObjectiveSum
from dpcore_accuracy_first.objectives.minimizer import MinimumObjective
from dpcore_accuracy_first.objectives.radial_penalty import public_rows

if TYPE_CHECKING:
    import numpy as np

    from dpcore.plugin import Problem
    from dpcore.plugin.parts import DerivedQuery, Sensitivity
    from dpcore_accuracy_first.objectives.minimizer import Minimizer
    from dpcore_accuracy_first.objectives.public_ball import PublicBall
    from dpcore_accuracy_first.options import TargetOptions

__all__ = [
    "Target",
    "absolute_target",
    "excess_target",
    "make_target",
    "tested_excess",
]


@dataclass(frozen=True)
class Target:
    """A test of q(w) <= goal, or of q(w) <= reference + goal, within alpha.

    Where the number of rows n is private, what a mean may be at most is subtracted in q for each
    row, the slack included, so that it is met where q is at most 0 (or the reference): whatever n
    is, a model beside the target is above that. alpha is that of n0 rows and the goal -alpha; a
    model within beta alpha of the target is found where there are n0 rows or more.

    Parameters
    ----------
    text : for the report.
    question : the query q at a hypothesis; its sensitivity is the same for all.
    asked : that sensitivity.
    reference : an exact answer that q is compared with, or ``None``.
    goal : the public value that q is compared with, in the question's unit.
    alpha : in the question's unit, less what computing q exactly enough leaves open.
    distance : D, by how much ``reference - q`` moves between neighbours.
    """

    text: str
    question: Callable[[np.ndarray], Any]
    asked: Sensitivity
    reference: DerivedQuery | None
    goal: float
    alpha: float
    distance: float


def absolute_target(options: TargetOptions, problem: Problem, ball: PublicBall) -> Target:
    """Return the test of an accuracy or of a risk. One row moves a count of errors by at most 1,
    whatever its norm. A risk needs no minimiser, and has half the sensitivity of an excess risk."""
    n = public_rows(problem)
    share = options.slack or 0.0
    slack, is_private = n * share, problem.n is None
    if options.target_accuracy is not None:
        if not problem.loss.classification:
            raise InvalidInputError(
                f"A target accuracy needs a classification loss, and {problem.loss.name} is for "
                "real-valued targets; give --target-excess-risk or --target-risk."
            )
        goal = n * (1 - options.target_accuracy)
        wrong = 1 - options.target_accuracy + share if is_private else 0.0
        target = options.target_accuracy
        text = f"accuracy of at least {target - (options.slack or 0.0):g} on the training rows"
        text += f" (the target of {target:g} less the slack)"

        def question(w: np.ndarray) -> Any:
            return ErrorCount(problem, w, wrong)
    else:
        goal = n * (options.target_risk or 0.0)
        risk = options.target_risk or 0.0
        text = f"mean objective of at most {risk + (options.slack or 0.0):g} on the training rows"
        text += f" (the target of {risk:g} and the slack)"
        most = max(ball.low, risk + share) if is_private else None

        def question(w: np.ndarray) -> Any:
            return ObjectiveSum(problem, w, ball, most)

    goal = -slack if is_private else goal
    return _target(text + _unless(options), question, None, goal, slack, 0.0, problem)


def excess_target(options: Any, problem: Problem, minimizer: Minimizer) -> Target:
    """Return the test of an excess risk: the minimum moves with the rows too."""
    reference, ball = MinimumObjective(minimizer), minimizer.ball
    middle, excess = reference.middle, tested_excess(options, problem, ball.spread)
    less = None if middle is None else middle + excess

    def question(w: np.ndarray) -> Any:
        return ObjectiveSum(problem, w, ball, less)

    return make_target(question, reference, options, reference.gap, problem, excess)


def tested_excess(options: Any, problem: Problem, spread: float) -> float:
    """Return the excess risk that is tested. It is the target, and where n is private at most the
    spread of a row's part, which no more than the l2 term exceeds. The stricter test keeps the
    promise, and what is subtracted for each row stays as large as what a row adds."""
    asked: float = options.target_excess_risk or 0.0
    return asked if problem.n is not None else min(asked, spread)


def make_target(
    question: Callable[[np.ndarray], Any],
    reference: Any,
    options: TargetOptions,
    error: float,
    problem: Problem,
    tested: float | None = None,
) -> Target:
    """Return the test of the excess risk that was asked for, over the reference's. ``tested`` : the
    same, or less."""
    excess = options.target_excess_risk or 0.0
    text = f"excess risk of at most {excess:g} on the training rows{_unless(options)}"
    alpha = public_rows(problem) * (excess if tested is None else tested)
    goal = -alpha if problem.n is None else 0.0
    return _target(text, question, reference, goal, alpha, error, problem)


def _unless(options: TargetOptions) -> str:
    if optimizer_facts(options).as_published:
        return ", by the authors' tests, which miss the failure probability"
    return f", except with probability {options.failure_probability:g}"


def _target(
    text: str,
    question: Callable[[np.ndarray], Any],
    reference: Any,
    goal: float,
    alpha: float,
    error: float,
    problem: Problem,
) -> Target:
    import numpy as np

    relation = problem.relation
    asked = question(np.zeros(problem.w_shape)).sensitivity(relation)
    distance = asked.bound
    if reference is not None:
        distance += reference.sensitivity(relation).bound
    # A grid step and an error of 2^-35 for each row, floors of the noise, and the solver's gap.
    # Where n is private: for tables of up to twice the public value.
    n = problem.n or 2 * public_rows(problem)
    left_open = n * (2.0**-asked.grid_bits + 2.0**-35) + 4 * 2.0**-asked.grid_bits + error
    if alpha <= 4 * left_open:
        raise InvalidInputError("The target is finer than the exact answers are.")
    return Target(text, question, asked, reference, goal, alpha - 2 * left_open, distance)
