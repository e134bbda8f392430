"""The guarantee of a model file in plain words: whose privacy, and what it means in odds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import PrivacyStatement, Units, sqrt_up
from dpcore_report.explained import Explained
from dpcore_report.sections import Item, Section

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["explained_of", "meaning_section", "public_number", "units_in", "whose_section"]

_NEIGHBOURS = {
    "add-or-remove-one": "one has one {thing} more than the other",
    "replace-one": "they differ in one {thing}",
    "replace-special": (
        "one {thing} of the one is swapped for one that contributes nothing in the other"
    ),
}


def explained_of(privacy: dict[str, Any]) -> Explained | None:
    """Return what a file's guarantee means; ``None`` where it has none."""
    if not privacy["private"]:
        return None
    relation = NeighboringRelation.parse(privacy["neighboring_relation"])
    numbers = privacy["epsilon"], privacy["delta"], relation
    units = units_in(privacy)
    if units is not None:
        return Explained(
            *numbers,
            secret=f"that a certain {units.thing} has rows in the table",
            holder=f"the rows of one {units.thing}",
            several=f"values of {units.column!r}",
            mu=_mu_of(privacy),
        )
    if privacy.get("users") is not None:
        return Explained(
            *numbers,
            secret="that a certain row is among a user's",
            holder="one row of a user",
            several="rows with one user",
        )
    return Explained(*numbers, mu=_mu_of(privacy))


def units_in(privacy: Mapping[str, Any]) -> Units | None:
    """Return the units of a statement; ``None`` for rows."""
    stated = privacy.get("units")
    if stated is None:
        return None
    per_row = stated["rows_without_an_id"] == "per row"
    missing: Literal["refuse", "row"] = "row" if per_row else "refuse"
    is_claimed = "rows_in_one_file" in stated
    return Units(stated["column"], stated["rows_per_unit"], missing, is_claimed)


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
    warnings = PrivacyStatement.guarantee_warnings(explained.epsilon, explained.delta)
    return Section(
        "What the guarantee means",
        lines=(
            "These are bounds for everyone, whatever else they know and however they compute.",
            *(f"Caution: {text}" for text in warnings),
        ),
        items=(
            *(Item(sentence) for sentence in explained.sentences()),
            Item(f"In the words of the file: {privacy['sentence']}"),
            Item("The numbers are bounds, proved and rounded to the safe side.", "report.md#odds"),
        ),
    )


def whose_section(privacy: dict[str, Any]) -> Section:
    """Return whose privacy it is: the unit, and which tables count as neighbours."""
    if not privacy["private"]:
        return Section("Whose privacy", lines=("Nobody's: there is no guarantee.",))
    units, users = units_in(privacy), privacy.get("users")
    thing = "row" if units is None else units.thing
    differ = _NEIGHBOURS[NeighboringRelation.parse(privacy["neighboring_relation"]).value].format(
        thing=thing
    )
    if users is not None:
        return Section(
            "Whose privacy",
            lines=(
                f"Rows stay with {users['count']} users. Two tables of a user are neighbours if "
                f"{differ}: the unit is one row of a user, not the user.",
                f"Trust model {users['trust_model']}: {users['server_sees']}.",
            ),
        )
    if units is None:
        whose = "The unit is one row: a person with several rows is protected less."
    else:
        whose = f"All rows of a {units.thing} are one unit, {units.used}.{units.note}"
    if privacy.get("part") is not None:
        whose += f" The table is a part of a larger one: the rows of {privacy['part']} alone."
    number = public_number(privacy)
    secret = f"The number of {number} is public." if number else "The number of rows is private."
    return Section(
        "Whose privacy", lines=(f"Two tables are neighbours if {differ}. {secret}", whose)
    )


def public_number(privacy: Mapping[str, Any]) -> str:
    """Return the things whose exact number was taken as public, if there are any: under replace-one
    rows, or, where units are of several rows, units, whose rows are then uncounted."""
    units = units_in(privacy)
    if privacy.get("users") is not None:
        return "rows of each user"
    if privacy["neighboring_relation"] != "replace-one":
        return ""
    return "rows" if units is None else f"values of {units.column!r}"
