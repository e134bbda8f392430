"""Advice on choosing epsilon and delta. It is judgement, and no part of any guarantee."""

from __future__ import annotations

from fractions import Fraction

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import PrivacyStatement, exact
from dpcore_report.attack_bounds import percent_up
from dpcore_report.explained import number_up

__all__ = ["advice_on"]

_STRONG, _REASONABLE = 1.0, 10.0
"""Tiers 1 and 2 of epsilon in Ponomareva et al., "How to DP-fy ML", JAIR 77, 2023."""
_EXPECTED = Fraction(1, 100)
"""More rows than this, expected to be given away by a release that delta allows, are too many."""


def advice_on(
    epsilon: float, delta: float, relation: NeighboringRelation, rows: int | None
) -> list[str]:
    """Return sentences on whether these numbers are small, and what to do where they are not.

    ``rows`` : a public number of rows, or about how many there are.
    """
    told = [
        _of_epsilon(epsilon),
        *(_sentence(text) for text in PrivacyStatement.guarantee_warnings(epsilon, delta)),
    ]
    if delta and rows is not None:
        told.append(_of_delta(delta, rows))
    elif delta:
        told.append("Delta should be far below one over the number of rows: --rows says how far.")
    if relation is not NeighboringRelation.REPLACE_ONE:
        told.append(
            "Where people's being in the table is known anyway, their values are what is secret: "
            "look at the numbers of a value, or choose half of epsilon."
        )
    told.append(
        "Half of epsilon takes about twice the rows for the same accuracy: `dpcore plan` forecasts "
        "what to expect. Choose before you look at results, and keep all runs over a table under "
        "one budget: `dpcore ledger`."
    )
    return told


def _of_epsilon(epsilon: float) -> str:
    if epsilon <= _STRONG:
        tier = "strong: at most 1"
    elif epsilon <= _REASONABLE:
        tier = "between 1 and 10: reasonable where smaller would leave nothing to learn"
    else:
        tier = "weak: above 10"
    return (
        f"By common practice (Ponomareva et al. 2023) epsilon = {exact(epsilon)} is {tier}. The "
        "numbers here say what it means; no authority sets it."
    )


def _of_delta(delta: float, rows: int) -> str:
    expected = Fraction(delta) * rows
    given_away = (
        f"delta = {exact(delta)} allows a release that gives each of {rows:,} rows away with that "
        f"probability, {number_up(expected)} of them on average"
    )
    if expected <= _EXPECTED:
        return f"{_sentence(given_away)[:-1]}: small enough by the usual standard."
    least = _power_of_ten_below(_EXPECTED / rows)
    chance = percent_up(min(expected, Fraction(1)))
    return (
        f"{_sentence(given_away)[:-1]}, some row with up to {chance} probability: choose a delta "
        f"of {least} or less. It costs little noise."
    )


def _power_of_ten_below(number: Fraction) -> str:
    """Return the largest power of ten that is no larger than a number, in (0, 1)."""
    power = 0
    while Fraction(1, 10**power) > number:
        power += 1
    return f"1e-{power:02}"


def _sentence(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:].rstrip('.')}."
