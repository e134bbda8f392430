"""A public penalty about the ball of the minimiser, for where the number of rows is private."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpcore.plugin import InvalidInputError, ordered_norm
from dpcore.plugin.parts import Table, sealed

if TYPE_CHECKING:
    from dpcore.plugin import NeighboringRelation, Problem

__all__ = ["OUTSIDE", "RadialPenalty", "public_rows", "require_relation", "rows_at_most"]

OUTSIDE = 1.125
"""Where the minimiser lies at most, over the radius at which the penalty begins."""
_POWER = 8
_UP = 1.0 + 2.0**-40


def public_rows(problem: Problem) -> int:
    """Return the number of rows that ``l2``, a target and a level are of: n where it is public,
    else the schema's value n0. InvalidInputError where there is none."""
    if problem.n_public is None:
        raise InvalidInputError(
            "The objective and its target are of a public number of rows, and there is none: give "
            "the schema a number (dataset.rows; in Python n0=), about how many there are."
        )
    return problem.n_public


def rows_at_most(problem: Problem) -> int:
    """Return up to how many rows errors are bounded: n where it is public, else 2^27, or the
    ``capacity`` or n0 if that is more. Public terms, whose errors count too, are of n0 rows. (A
    smaller capacity may be a guess, and promises nothing.)"""
    if problem.n is not None:
        return problem.n
    return max(problem.capacity, Table.CAPACITY, problem.n0 or 0)


def require_relation(problem: Problem, relation: NeighboringRelation) -> None:
    """Raise InvalidInputError unless an answer's bound is known: between two rows or one more row,
    under the relation of the problem, which decides what the objective is."""
    if problem.rows_per_unit is not None:
        raise InvalidInputError(
            "The exact minimiser has a known sensitivity where one row differs, and a unit here "
            "has several; leave the schema's unit out, or take another algorithm."
        )
    if relation is not problem.relation or (problem.n is None) == relation.size_is_public:
        raise InvalidInputError(
            f"The sensitivity was worked out for {problem.relation.value}, with a number of rows "
            f"that is public under replace-one alone; it was asked for under {relation.value}."
        )


@sealed
@dataclass(frozen=True, slots=True)
class RadialPenalty:
    """A public term of the objective, the same for all tables and convex, so that no sensitivity
    changes. With t = (||w|| - start) / width, it is 0 up to the start, then a force of ``force``
    t^8 towards 0, which goes on in a straight line from t = 1. There is none where n is public.

    Where n is private the objective is of n0 l2, and with n rows its minimiser satisfies
    n0 l2 ||w||^2 = sum of -m l'(m) <= n P, which bounds it by sqrt(n / n0) times the usual radius:
    no public value. With the penalty, force t^8 ||w|| <= n P too, so that for up to N rows
    (``rows_at_most``) the minimiser has t <= 1 at force = N P / (start + width). The start is the
    radius for n0 rows: at no minimiser of n0 rows or less is there a penalty. The power 8 makes it
    as stiff as n rows need, and not as N would, which would slow a solver down.

    Parameters
    ----------
    start, width : norms, in l2. ``force`` : a gradient's norm; 0 for no penalty.
    """

    start: float
    width: float
    force: float

    @classmethod
    def of(cls, problem: Problem, radius: float, radial_slope: float) -> RadialPenalty:
        """Return the penalty for a minimiser that has to be within ``radius``."""
        start = radius / OUTSIDE
        force = rows_at_most(problem) * radial_slope / radius * _UP if problem.n is None else 0.0
        return cls(start, radius - start, force)

    @property
    def stiffness(self) -> float:
        """The Lipschitz constant of the term's gradient."""
        return _POWER * self.force / self.width * _UP

    def stiffness_at(self, value: float) -> float:
        """Return the Lipschitz constant where the term is at most ``value``, for a solver."""
        if not self.force:
            return 0.0
        t = ((_POWER + 1) * value / (self.force * self.width)) ** (1 / (_POWER + 1))
        return self.stiffness * min(1.0, t) ** (_POWER - 1)

    def slope(self, w: np.ndarray) -> np.ndarray:
        """Return the gradient of the term."""
        norm = ordered_norm(w)
        t = max(0.0, norm - self.start) / self.width
        force = t**_POWER if t <= 1 else 1 + _POWER * (t - 1)
        slope: np.ndarray = (self.force * force / max(norm, self.start)) * w
        return slope

    def value(self, w: np.ndarray) -> float:
        t = max(0.0, ordered_norm(w) - self.start) / self.width
        beyond = max(0.0, t - 1)
        potential = min(t, 1.0) ** (_POWER + 1) / (_POWER + 1) + beyond + _POWER / 2 * beyond**2
        return self.force * self.width * potential

    def value_error(self, size: int) -> float:
        """Return a bound of the error of the value that is computed up to the radius. Its slope is
        at most ``force`` there, and the norm that it is taken at has the error of ``error``."""
        return self.force * (self.start + self.width) * (size + 32) * 2.0**-50

    def error(self, size: int) -> float:
        """Return a bound of the l2 error of the slope that is computed up to twice the radius: of a
        norm of ``size`` terms (Higham 2002, section 3.1) and a few products."""
        return self.stiffness * 2 * (self.start + self.width) * (size + 32) * 2.0**-50
