"""Advice on a target that costs too much, from public facts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcore.plugin import InvalidInputError
from dpcore_accuracy_first.objectives.public_ball import loss_at_zero

if TYPE_CHECKING:
    from dpcore.plugin import Problem

__all__ = ["Loosest", "advice", "too_dear"]

_OF_THE_CAP = 0.5
_MOST_ROWS, _MOST_EPSILON = 10**9, 10.0
"""Advice ends there: at more rows than tables have, and where ``dpcore train`` warns of a guarantee
that is next to no protection."""


@dataclass(frozen=True)
class Loosest:
    """How much of an excess risk, or of slack, is asked for, and how much says nothing.

    A model of zeros has a risk of at most the loss at a margin of 0, l(0), and losses are not
    negative: so it meets every excess risk of l(0), and every risk of l(0). One of 1/K of the rows
    right is there on every table of K classes: the constant of the commonest.

    Parameters
    ----------
    name : of the value. ``asked`` : what it is. ``limit`` : from where on it says nothing.
    """

    name: str
    asked: float
    limit: float

    @classmethod
    def of(cls, options: Any, problem: Problem) -> Loosest:
        """Return those of the target that was given."""
        if options.target_excess_risk is not None:
            asked = options.target_excess_risk
            return cls("an excess risk", asked, loss_at_zero(problem))
        if options.target_accuracy is not None:
            limit = options.target_accuracy - 1 / max(problem.n_margins, 2)
        else:
            limit = loss_at_zero(problem) - options.target_risk
        return cls("a slack", options.slack or 0.0, limit)


def too_dear(
    what: str, epsilon: float, cap: float, options: Any, problem: Problem
) -> InvalidInputError:
    """Return the error of a target whose tests exceed the worst case, with what would do.

    What a test costs falls with the value asked for and with the public number of rows. The tests
    are to be half of the worst case: the rest is for a model.
    """
    loosest, half = Loosest.of(options, problem), _OF_THE_CAP * cap
    enough = loosest.asked * epsilon / half
    least = epsilon * loosest.asked / loosest.limit if loosest.limit > 0 else math.inf
    told = advice(loosest, problem, enough, least / half, epsilon / half, cap)
    return InvalidInputError(
        f"{what} epsilon={epsilon:.4g}, too much of the worst case of {cap:.4g}. {told}"
    )


def advice(
    loosest: Loosest, problem: Problem, enough: float, least: float, times: float, cap: float
) -> str:
    """Return what would do: no value that every table meets, no number of rows that no table has,
    and no worst case that protects nothing.

    Parameters
    ----------
    enough : the value that these rows and this worst case bear.
    least, times : by how much the rows, or the worst case, would have to be larger for the loosest
        target that says something, and for the target asked for.
    """
    if loosest.asked >= loosest.limit:
        return "A constant model meets this target on every table, whatever --epsilon-max is."
    n = problem.n_public or 1
    at = f"At {_rows(n)} of {problem.n_features} columns"
    this = f"This target takes about {_ways(n * times, times * cap)}."
    if _up(enough) < loosest.limit:
        return f"{at} {loosest.name} of {_up(enough):g} is realistic. {this}"
    return (
        f"{at} no target of this kind is realistic: a constant model meets {loosest.name} of "
        f"{loosest.limit:.3g} or more on every table, and less takes more than "
        f"{_ways(n * least, least * cap)}. {this}"
    )


def _ways(rows: float, epsilon: float) -> str:
    """Return the number of rows, or the worst case, at which it would do."""
    size = "as many rows as no table has" if rows > _MOST_ROWS else _rows(math.ceil(rows))
    if epsilon > _MOST_EPSILON:
        return f"{size}; an --epsilon-max of {_up(epsilon):,g} would be next to no protection"
    return f"{size}, or --epsilon-max {_up(epsilon):g}"


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def _up(value: float) -> float:
    """Return three digits of a value, rounded up."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return float(f"{math.ceil(value / unit * (1 - 1e-12)) * unit:.3g}")
