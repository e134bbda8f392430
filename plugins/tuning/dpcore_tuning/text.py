"""The words of a statement about a search: public facts alone, whatever was drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.plugin.parts import PrivacyStatement, exact
from dpcore_tuning.stopping_cost import theorem_of

if TYPE_CHECKING:
    from dpcore.plugin import Accountant
    from dpcore_tuning.search import Search

__all__ = ["description_of"]


def description_of(search: Search, part: Accountant, chosen: int | None) -> dict[str, Any]:
    """Return a search as JSON-able data, with a sentence.

    ``part`` : the filter of one fit. ``chosen`` : the place of the candidate that is released.
    """
    each = {
        "accountant": part.name,
        "conversion": part.conversion,
        "unit": part.unit,
        "budget": part.budget,
    }
    listed = [
        {name: _plain(value) for name, value in candidate.items()}
        for candidate in search.candidates
    ]
    facts = {
        "candidates": listed,
        "chosen": None if chosen is None else listed[chosen],
        "held_out": search.held_out,
        "score": search.measure,
        "each": each,
    }
    by: dict[str, Any]
    if search.distribution is None:
        theorem = "equal parts of one budget; permute-and-flip, McKenna & Sheldon 2020"
        by = {"kind": "list", "tries": None}
    else:
        theorem = theorem_of(search.distribution, part.name)
        by = {"kind": "random", "tries": search.distribution.to_dict()}
    return {**by, **facts, "theorem": theorem, "words": f"{_words(search, part)} ({theorem})."}


def _words(search: Search, part: Accountant) -> str:
    count = len(search.plans)
    held = f"rows that were held out ({search.held_out:g} of all)"
    budget = f"{exact(part.budget)} {part.unit}"
    many = "1 candidate" if count == 1 else f"{count} candidates"
    if search.distribution is None:
        return (
            f"It is one of {many}. Each was fitted within an equal part of the budget ({budget} of "
            f"the {part.name} filter), and one was chosen on {held}; the guarantee is for all of "
            "them together"
        )
    return (
        f"It is the best of several fits of {many}. The number of fits was drawn from "
        f"{search.distribution.words()}, and is secret. Each fit, with its score on {held}, was "
        f"held to {budget} by a {part.name} filter; the guarantee is for the whole search, "
        f"whatever the number was{_claim(search)}"
    )


def _claim(search: Search) -> str:
    """Return what the theorem takes from algorithms that are not from dpcore, with a comma before
    it; empty where all are."""
    named = PrivacyStatement.foreign_parts(search.rests_on)
    told = f"{' and '.join(named)} keeps nothing from one fit to the next, and shows nothing of it"
    return f", provided that {told}" if named else ""


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)
