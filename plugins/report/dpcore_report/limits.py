"""The limits of a guarantee: what it takes as public, what is outside it, and who keeps secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.plugin.parts import exact
from dpcore_report.guarantee import public_number
from dpcore_report.sections import Item, Section

if TYPE_CHECKING:
    from dpcore.plugin.parts import Model

__all__ = ["outside_section", "public_section", "secrets_section"]


_OF_QUERIES = {
    "query": "The types of the columns, as the database declares them, and that each row of the "
    "query's result comes from one row of its table alone.",
    "query of units": "The types of the columns, as the database declares them, and that each row "
    "of the query's result comes from rows of its unit alone.",
    **{
        f"{how} query{types}{unit}": f"{declared}{said} each row of the query's result comes from "
        f"{source} alone."
        for how, said in (
            ("checked", "That, by the query's text,"),
            ("claimed", "The claim of whoever asked that"),
        )
        for types, declared in (
            ("", ""),
            (" of types", "The types of the columns, as the database declares them. "),
        )
        for unit, source in (("", "one row of its table"), (" of units", "rows of its unit"))
    },
}
"""Claims on the rows of a query."""


def public_section(model: Model) -> Section:
    """Return the facts that were taken as public: the guarantee says nothing of them."""
    privacy = model.privacy
    of_label = "bounds" if model.schema.label.is_real else "classes"
    columns = "The columns above, with their kinds, bounds and categories"
    items = [f"{columns}, and the label's {of_label}."]
    if model.released_bounds:
        names = ", ".join(map(repr, model.released_bounds))
        items[0] += f" Not the bounds of {names}: they were released within the budget."
    if number := public_number(privacy):
        items.append(f"The number of {number}.")
    items += _rows_in_words(privacy)
    items.append("The settings of the run: algorithm, parameters, loss, l2, budget.")
    if privacy.get("search") is not None:
        items[-1] = (
            "The settings of the run: the candidates of the search and how many were to be tried, "
            "loss, budget. Which candidate was chosen is part of what was released."
        )
    if model.class_weights and privacy.get("balanced") is None:
        items.append("The weights of the classes.")
    if model.weight_bound is not None:
        items.append(f"The largest weight of a row, {model.weight_bound:g}; weights are private.")
    if (claimed := privacy.get("typed_by")) is not None:
        types = f"The types of the columns, as the program chose them that made the {claimed}."
        items.append(_OF_QUERIES.get(claimed, types))
    if privacy.get("users") is not None:
        items.append("The number of users, their budgets, and who joins a round.")
    items.append(
        "Whoever chose one of these by looking at the rows has told something of them that no "
        "budget counts."
    )
    return Section("What was taken as public", items=tuple(Item(text) for text in items))


def _rows_in_words(privacy: Any) -> list[str]:
    said = []
    if privacy.get("n0") is not None:
        said.append(f"n0 = {privacy['n0']:,}, a number of rows in place of the exact one.")
    if privacy.get("most_rows") is not None:
        said.append(
            f"That the table has at most {privacy['most_rows']:,} rows: the guarantee is for such."
        )
    elif privacy.get("capacity") is not None:
        said.append(
            f"capacity = {privacy['capacity']:,} rows; sums over more may wrap around, which costs "
            "accuracy, not privacy."
        )
    return said


def outside_section(privacy: dict[str, Any]) -> Section:
    """Return what the guarantee, if there is one, is not about."""
    items = [
        Item(
            "What the model says of people in general is true of you whether your row was there or "
            "not: to learn that is its purpose."
        ),
        _other_runs(privacy),
        Item(
            "Tables with rows that do not satisfy the schema, unless they were dropped (--bad-rows "
            "drop); running time, memory, and whoever can read the process or the machine.",
            "guarantee.md#what-is-outside",
        ),
        Item("Loss and accuracy on rows, which are computed without privacy, for the owner."),
    ]
    if privacy["parts_not_from_dpcore"]:
        parts = ", ".join(privacy["parts_not_from_dpcore"])
        items.append(Item(f"Whether these parts, which are not from dpcore, are right: {parts}."))
    if privacy.get("ex_post_epsilon") is not None:
        items.append(
            Item(
                f"The ex-post epsilon {exact(privacy['ex_post_epsilon'])} is a function of the "
                "outcome, and no guarantee made beforehand."
            )
        )
    return Section("What is outside", items=tuple(items))


def _other_runs(privacy: dict[str, Any]) -> Item:
    place = privacy.get("ledger")
    if place is not None:
        # All that models of earlier versions have is the number of the entry, as that of the run.
        kind = "run" if "entry" in place else "entry"
        return Item(
            f"Other runs over the same rows: this one is {kind} {place['run']} of the ledger "
            f"{place['id']}, whose cap is the promise for all of them.",
            "ledger.md",
        )
    return Item(
        "Other runs over the same rows: what they cost adds up, and nothing here says how many "
        "there were. A ledger of the table would.",
        "ledger.md",
    )


def secrets_section(model: Model) -> Section:
    """Return who must keep what secret."""
    privacy = model.privacy
    owner = (
        "The owner of the rows: the rows, stores of `dpcore convert`, what checks of the schema "
        "said, and the losses and accuracies that `dpcore train` printed."
    )
    if not privacy["private"]:
        return Section(
            "Who must keep what secret",
            items=(
                Item("Whoever has the model file, or this page: both are as secret as the rows."),
                Item(owner),
            ),
        )
    items = ["Nobody: the model file, its coefficients and this page may be published.", owner]
    items.append("Nobody has the noise: it came from the system's entropy and is in no file.")
    search = privacy.get("search")
    if search is not None:
        items.append(
            "Nobody has the other candidates' models, nor any score of the search."
            if search["kind"] == "list"
            else "Nobody has the number of fits that the search made, the models that lost, nor "
            "any score. How long it took tells the number: that is for nobody's eyes."
        )
    if privacy.get("ledger") is not None:
        items.append("Who keeps the ledger: that file, which has days, times and names.")
    if privacy.get("users") is not None:
        items[1] = (
            "Each user: their rows, gradients before noise, which rounds drew their rows, and "
            "their own ledger. The server: nothing more than the trust model says it sees."
        )
    if model.algo.get("engine", "local") != "local":
        items.append(
            f"The engine {model.algo['engine']}: its scheduler and workers held the rows, and so "
            "did whoever may connect to them."
        )
    return Section("Who must keep what secret", items=tuple(Item(text) for text in items))
