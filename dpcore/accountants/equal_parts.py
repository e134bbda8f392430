"""A budget in equal parts, fixed beforehand: a filter for each of several runs over the same rows.

Where an accountant says how (``split``), so many parts are together within its own filter, whose
theorem then bounds all runs: rho, mu^2, a Renyi divergence at one order and pure epsilons add up.

Any other has basic composition: runs that are (epsilon_i, delta_i)-DP, values fixed beforehand and
each of them also given the outputs of those before it, are together (sum of epsilon_i, sum of
delta_i)-DP (Dwork, Kenthapadi, McSherry, Mironov & Naor 2006; Dwork & Roth 2014, Theorem B.1). So
each part is the filter of (epsilon / parts, delta / parts), both rounded down. The relation is one
and the same for all of them, whichever it is.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter
from typing import TYPE_CHECKING, Any

from dpcore.accountants.additive import AdditiveAccountant
from dpcore.accountants.delta_reserve import ReservingAccountant
from dpcore.errors import InvalidInputError
from dpcore.exact.rounding import float_down
from dpcore.registry.tables.optimizer_spec import accountant_facts

if TYPE_CHECKING:
    from dpcore.protocols import Accountant

__all__ = ["equal_part", "require_within"]


def require_within(part: Accountant, whole: Accountant, parts: int) -> None:
    """Raise InvalidInputError unless so many equal parts are within what remains of the whole
    filter. Compared are its unit, the delta that is kept for releases, and delta."""
    budgets = parts * Fraction(part.budget) <= Fraction(nextafter(whole.remaining, inf))
    if isinstance(part, AdditiveAccountant) and isinstance(whole, AdditiveAccountant):
        budgets = parts * part.budget_ticks <= whole.budget_ticks - whole.spent_ticks
    alike = type(part) is type(whole) and part.delta <= whole.delta
    reserves = True
    if isinstance(part, ReservingAccountant) and isinstance(whole, ReservingAccountant):
        left = whole.reserve_ticks - whole.reserved_ticks
        reserves = parts * part.reserve_ticks <= left and not part.reserved_ticks
    if part.spent or not (budgets and reserves and alike):
        raise InvalidInputError(
            f"The {whole.name} accountant splits its budget in {parts} parts that are together "
            "more than it has."
        )


def equal_part(accountant: Accountant, parts: int) -> Accountant:
    """Return the filter of each of so many equal parts of what remains.

    Raises InvalidInputError for a part that would be nothing, and for a filter that was charged
    already and does not say how it is split.
    """
    if accountant_facts(accountant).splits:
        divided: Any = accountant
        part: Accountant = divided.split(parts)
        require_within(part, accountant, parts)
        return part
    if accountant.spent:
        raise InvalidInputError(
            f"The {accountant.name} accountant does not say how what remains of it is split; name "
            "another one, such as --accountant zcdp (accountant='zcdp')."
        )
    epsilon, delta = (
        float_down(Fraction(value) / parts) for value in (accountant.epsilon, accountant.delta)
    )
    return type(accountant).from_budget(epsilon, delta, accountant.conversion)
