"""The distance of an answer between tables that differ in a unit of several rows.

Theorem. Let f be a sum over rows, with ||f(D) - f(D')|| <= B and a range of change of at most R for
any two tables where one has one row more. Then for tables that differ in all rows of one unit,
at most k on either side: under add-or-remove-one (of a unit) ||f(D) - f(D')|| <= k B, and the range
is at most k R; under replace-one 2 k B and 2 k R, whatever the two numbers of rows are. Proof: D'
is reached from D by removing up to k rows and adding up to k, one at a time; a norm and the range
of a vector (max - min, a seminorm) obey the triangle inequality at each of these at most k or 2 k
steps. What the query states under replace-one is of no use here: it takes the number of rows as
fixed, and a unit's is not.

A sample that draws units (``draws_units``), each with all of its rows, moves by no more, and a unit
is in it with the sampler's probability, independently of others: the sampler's event holds with
units for rows. It needs a table that says whose its rows are (``RequireUnits``): with a coin for
each row a unit of k rows would be in the sample k times as often as is charged.

An answer that is derived from sums without random choices obeys the same, where its bound holds for
any two tables with one row more or less: its class states so, by ``by_each_row = True``.

A sum whose parts are those of whole units (``clips_units``) states its sensitivity between units
itself, and is taken at its word, of a table that says whose its rows are: of another, a unit would
be as many parts as it has rows.

Nothing else is released: another derived answer, a pass through the table, a random choice of
sensitivities, a mechanism that answers several questions, and a sample of a fixed size each rest on
a theorem for one row, or on a public number of rows.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.exact.rounding import float_up
from dpcore.privacy.sensitivity import NeighboringRelation, Sensitivity

if TYPE_CHECKING:
    from dpcore.data.blocks.table import Table
    from dpcore.noise.source import NoiseSource

__all__ = ["RequireUnits", "refuse_for_units", "sensitivity_of_units"]

_RELATIONS = (NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE)
_FITS = (
    "Units of several rows fit sums over rows and Poisson samples of units, by one release each; "
    "algorithms that make no other: dpcore info NAME."
)


def sensitivity_of_units(query: Any, relation: NeighboringRelation, k: int) -> Sensitivity:
    """Return the sensitivity of a query between tables that differ in a unit of up to k rows.

    Raises InvalidInputError for a query without one by the theorem above.
    """
    total = query.query if getattr(type(query), "draws_units", False) else query
    is_sum = hasattr(total, "answer_block") and not hasattr(total, "derive")
    is_proved = hasattr(total, "derive") and getattr(type(total), "by_each_row", False)
    if not (is_sum or is_proved) or hasattr(total, "answer_table") or relation not in _RELATIONS:
        refuse_for_units(total)
    clips_units = getattr(type(total), "clips_units", False)
    asked = relation if clips_units else NeighboringRelation.ADD_OR_REMOVE_ONE
    of_row = total.sensitivity(asked)
    if type(of_row) is not Sensitivity or of_row.relation is not asked:
        refuse_for_units(total)
    if clips_units:
        return of_row
    steps = k * relation.rows_changed
    change = of_row.change_range
    return replace(
        of_row,
        bound=_times(steps, of_row.bound),
        change_range=None if change is None else _times(steps, change),
        relation=relation,
    )


class RequireUnits:
    """A query whose answer says nothing: it raises InvalidInputError where a table does not say
    whose its rows are."""

    def answer_table(self, table: Table, noise: NoiseSource) -> np.ndarray:
        if table.units is None:
            raise InvalidInputError(
                "This run's guarantee is for units of several rows, and its table was built "
                "without them: expected Table.from_matrix(..., units=...)."
            )
        return np.empty(0)


def refuse_for_units(part: Any) -> NoReturn:
    """Raise InvalidInputError for what is not known to hold for units of several rows."""
    raise InvalidInputError(
        f"{type(part).__name__} has a guarantee for one row, and this run's is for units of "
        f"several rows. {_FITS}"
    )


def _times(steps: int, bound: float) -> float:
    """Return the product, rounded up."""
    return float_up(steps * Fraction(bound))
