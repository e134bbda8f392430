"""A target as a test on sums over rows: what is asked at a hypothesis, and how far it may move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcore.plugin import InvalidInputError
from dpcore.plugin.parts import optimizer_facts
from dpcore_accuracy_first.loss_sum import ErrorCount, ObjectiveSum
from dpcore_accuracy_first.minimizer import MinimumObjective

if TYPE_CHECKING:
    import numpy as np

    from dpcore.plugin import Problem
    from dpcore.plugin.parts import DerivedQuery, Sensitivity
    from dpcore_accuracy_first.minimizer import Minimizer
    from dpcore_accuracy_first.options import TargetOptions
    from dpcore_accuracy_first.public_ball import PublicBall

__all__ = ["Target", "absolute_target", "excess_target", "kind_of", "make_target"]


@dataclass(frozen=True)
class Target:
    """A test of q(w) <= goal, or of q(w) <= reference, within alpha.

    Parameters
    ----------
    text : for the report.
    question : the query q at a hypothesis; its sensitivity is the same for all.
    asked : that sensitivity.
    reference : an exact answer that q is compared with, or ``None``.
    goal : the public figure that q is compared with, in the question's unit.
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


def kind_of(options: TargetOptions) -> str:
    """Return the one target that was given: accuracy, excess-risk or risk.

    Raises InvalidInputError for none, for two, or for a slack that is missing.
    """
    given = {
        "accuracy": options.target_accuracy,
        "excess-risk": options.target_excess_risk,
        "risk": options.target_risk,
    }
    chosen = [name for name, value in given.items() if value is not None]
    if len(chosen) != 1:
        which = " and ".join(f"--target-{name}" for name in chosen) or "none"
        raise InvalidInputError(
            "Expected one of --target-accuracy, --target-excess-risk and --target-risk, not "
            f"{which}."
        )
    if chosen != ["excess-risk"] and options.slack is None:
        raise InvalidInputError(
            f"Expected --slack with --target-{chosen[0]}: how far beside it a model may be. A "
            "target without slack cannot be tested privately."
        )
    return chosen[0]


def absolute_target(options: TargetOptions, problem: Problem, ball: PublicBall) -> Target:
    """Return the test of an accuracy (errors are counted: one row moves them by at most 1, whatever
    its norm) or of a risk (no minimiser is needed: half the sensitivity of an excess risk)."""
    n = problem.n or 0
    slack = n * (options.slack or 0.0)
    if options.target_accuracy is not None:
        if not problem.loss.classification:
            raise InvalidInputError(
                f"A target accuracy needs a classification loss, and {problem.loss.name} is for "
                "real-valued targets; give --target-excess-risk or --target-risk."
            )
        goal = n * (1 - options.target_accuracy)
        target = options.target_accuracy
        text = f"accuracy of at least {target - (options.slack or 0.0):g} on the training rows"
        text += f" (the target of {target:g} less the slack)"

        def question(w: np.ndarray) -> Any:
            return ErrorCount(problem, w)
    else:
        goal = n * (options.target_risk or 0.0)
        risk = options.target_risk or 0.0
        text = f"mean objective of at most {risk + (options.slack or 0.0):g} on the training rows"
        text += f" (the target of {risk:g} and the slack)"

        def question(w: np.ndarray) -> Any:
            return ObjectiveSum(problem, w, ball)

    return _target(text + _unless(options), question, None, goal, slack, 0.0, problem)


def excess_target(options: Any, problem: Problem, minimizer: Minimizer) -> Target:
    """Return the test of an excess risk: the minimum moves with the rows too."""
    reference, ball = MinimumObjective(minimizer), minimizer.ball

    def question(w: np.ndarray) -> Any:
        return ObjectiveSum(problem, w, ball)

    return make_target(question, reference, options, reference.gap, problem)


def make_target(
    question: Callable[[np.ndarray], Any],
    reference: Any,
    options: TargetOptions,
    error: float,
    problem: Problem,
) -> Target:
    """Return the test of the excess risk that was asked for, over the reference's."""
    excess = options.target_excess_risk or 0.0
    text = f"excess risk of at most {excess:g} on the training rows{_unless(options)}"
    return _target(text, question, reference, 0.0, (problem.n or 0) * excess, error, problem)


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
    n = problem.n or 0
    left_open = n * (2.0**-asked.grid_bits + 2.0**-35) + 4 * 2.0**-asked.grid_bits + error
    if alpha <= 4 * left_open:
        raise InvalidInputError("The target is finer than the exact answers are.")
    return Target(text, question, asked, reference, goal, alpha - 2 * left_open, distance)
