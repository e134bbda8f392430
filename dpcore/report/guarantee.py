"""The guarantee of a model file in plain words: whose privacy, and what it means in odds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from dpcore.exact.rounding import sqrt_up
from dpcore.privacy.relations import parse_relation
from dpcore.privacy.units import Units
from dpcore.report.card import Item, Section
from dpcore.report.explained import Explained

__all__ = ["explained_of", "meaning_section", "units_in", "whose_section"]

_NEIGHBOURS = {
    "add-or-remove-one": (
        "Two tables are neighbours if one has one {thing} more than the other. The number of rows "
        "is private too."
    ),
    "replace-one": (
        "Two tables are neighbours if they differ in one {thing}. The number of rows is public."
    ),
    "replace-special": (
        "Two tables are neighbours if one {thing} of the one is swapped for one that contributes "
        "nothing in the other."
    ),
}


def explained_of(privacy: dict[str, Any]) -> Explained | None:
    """Return what a file's guarantee means; ``None`` where it has none."""
    if not privacy["private"]:
        return None
    relation = parse_relation(privacy["neighboring_relation"])
    figures = privacy["epsilon"], privacy["delta"], relation
    units = units_in(privacy)
    if units is not None:
        return Explained(
            *figures,
            secret=f"that a certain {units.thing} has rows in the table",
            holder=f"all rows of a {units.thing}",
            several=f"values of {units.column!r}",
            mu=_mu_of(privacy),
        )
    if privacy.get("users") is not None:
        return Explained(
            *figures,
            secret="that a certain row is among a user's",
            holder="one row of a user",
            several="rows with one user",
        )
    return Explained(*figures, mu=_mu_of(privacy))


def units_in(privacy: dict[str, Any]) -> Units | None:
    """Return the units of a statement; ``None`` for rows."""
    stated = privacy.get("units")
    if stated is None:
        return None
    per_row = stated["rows_without_an_id"] == "per row"
    return Units(stated["column"], stated["rows_per_unit"], "row" if per_row else "refuse")


def _mu_of(privacy: dict[str, Any]) -> Fraction | None:
    """Return the mu of Gaussian differential privacy that the gdp filter enforced, rounded up.

    Its budget in the file is mu^2, rounded down to a float (``AdditiveAccountant.budget``): the
    float above it is no smaller. Of several fits the sum of parts is no budget of one filter.
    """
    is_one = privacy.get("fits", 1) == 1 and privacy.get("users") is None
    if not is_one or (privacy["accountant"], privacy["unit"]) != ("gdp", "mu^2"):
        return None
    above = math.nextafter(privacy["budget"], math.inf)
    return sqrt_up(Fraction(above)) if above > 0 else None


def meaning_section(privacy: dict[str, Any], explained: Explained | None) -> Section:
    """Return what the guarantee means, in odds and as the file states it."""
    if explained is None:
        reasons = tuple(Item(reason) for reason in privacy["why_not_private"])
        return Section(
            "Why it is not private",
            lines=(
                "Nothing is promised: whoever has the model may learn about single rows. The "
                "epsilon and delta that were asked for mean nothing for it.",
            ),
            items=reasons,
        )
    return Section(
        "What the guarantee means",
        lines=("These are bounds for everyone, whatever else they know and however they compute.",),
        items=(
            *(Item(sentence) for sentence in explained.sentences()),
            Item(f"In the words of the file: {privacy['sentence']}"),
            Item("The figures are bounds, proved and rounded to the safe side.", "report.md#odds"),
        ),
    )


def whose_section(privacy: dict[str, Any]) -> Section:
    """Return whose privacy it is: the unit, and which tables count as neighbours."""
    units, users = units_in(privacy), privacy.get("users")
    thing = "row" if units is None else units.thing
    lines = []
    relation = _NEIGHBOURS.get(privacy["neighboring_relation"])
    if relation is not None:
        lines.append(relation.format(thing=thing))
    if units is not None:
        lines.append(f"All rows of a {units.thing} are one unit, {units.used}.{units.note}")
    elif users is None:
        lines.append("The unit is one row: a person with several rows is protected less.")
    else:
        lines.append(
            f"Rows stay with {users['count']} users. The unit is one row of a user, not the user. "
            f"Trust model {users['trust_model']}: {users['server_sees']}."
        )
    return Section("Whose privacy", lines=tuple(lines))
