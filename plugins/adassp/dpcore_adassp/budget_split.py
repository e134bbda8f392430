"""Shares of a budget, and the refusal of accountants that hold one release."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcore.errors import UnsupportedEventError
from dpcore.plugin import NeighboringRelation, RowCount, mechanism_in, noise_multiplier
from dpcore.plugin.commands import Plan
from dpcore.plugin.parts import Registry
from dpcore_adassp.row_map import MOST_COLUMNS

if TYPE_CHECKING:
    from dpcore.plugin import PrivacySession, Problem

__all__ = [
    "bytes_of_products",
    "deviation_of",
    "noise_of",
    "penalty_rows",
    "require_room",
    "require_several",
]

_OF_A_COLUMN, _OF_A_PAIR = 2.0**18, 48.0
"""Bytes: two unfolded blocks of rows in each of two threads; matrices of all pairs of columns."""


def bytes_of_products(problem: Problem) -> float:
    """Return the bytes that products of all pairs of columns take: nothing that counts of more
    columns than products are taken of."""
    d = problem.n_features
    return _OF_A_COLUMN * d + _OF_A_PAIR * d**2 if d <= MOST_COLUMNS else 0.0


def noise_of(optimizer: Any, session: PrivacySession, share: float | Fraction) -> Any:
    """Return the mechanism that takes this share of what is left of the budget."""
    accountant, kind = session.accountant, mechanism_in(optimizer, "noise", session.accountant)
    cost = Fraction(accountant.remaining) * Fraction(share)
    return kind(noise_multiplier(accountant, kind.nominal_event, cost))


def deviation_of(mechanism: Any, query: Any, problem: Problem) -> float:
    """Return the standard deviation of normal noise on an answer: for units of several rows, the
    session takes what one row more moves, once for each row that changes."""
    if problem.rows_per_unit is None:
        return float(mechanism.noise_multiplier * query.sensitivity(problem.relation).bound)
    bound = query.sensitivity(NeighboringRelation.ADD_OR_REMOVE_ONE).bound
    return float(mechanism.noise_multiplier * bound * problem.rows_changed)


def require_several(optimizer: Any, session: PrivacySession) -> None:
    """Raise UnsupportedEventError, before the first release, for an accountant that holds one."""
    accountant = session.accountant
    event = mechanism_in(optimizer, "noise", accountant).nominal_event(1.0)
    if accountant.supports(event) and not Registry.facts_of("accountant", accountant).holds_several:
        raise UnsupportedEventError(
            f"{optimizer.name} makes two or more releases, and the {accountant.name} accountant "
            f"holds one; choose {Plan.accountants_for(optimizer, event, event)}."
        )


def require_room(mechanism: Any, query: Any, problem: Problem) -> None:
    """Raise InvalidInputError, before anything is spent, if the query cannot be asked with this
    noise, units considered."""
    relation, times = problem.relation, 1
    if problem.rows_per_unit is not None:  # as the session takes it (deviation_of)
        relation, times = NeighboringRelation.ADD_OR_REMOVE_ONE, problem.rows_changed
    wider = type(mechanism)(mechanism.noise_multiplier * times)
    wider.event(query.sensitivity(relation))


def penalty_rows(
    optimizer: Any, problem: Problem, session: PrivacySession, share: float | Fraction
) -> float:
    """Return the rows that the regulariser counts times its weight: of a public number, or of a
    noisy one, which takes this share of what is left; 0 without a regulariser."""
    if problem.l2 == 0:
        return 0.0
    if problem.n_public is not None:
        return problem.l2 * problem.n_public
    mechanism = noise_of(optimizer, session, share)
    return problem.l2 * max(1.0, float(session.release(RowCount(mechanism.needs), mechanism)[0]))
