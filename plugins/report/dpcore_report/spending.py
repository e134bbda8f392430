"""The charges of a run, and the theorem behind each kind of them."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcore.plugin.parts import PrivacyStatement, exact, load_registry, optimizer_facts
from dpcore_report.attack_bounds import percent_up
from dpcore_report.sections import Item, Section
from dpcore_report.theorems import ACCOUNTANTS, MECHANISMS, PAGE, Theorem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dpcore.plugin.parts import Model

__all__ = ["ledger_section", "theorems_section"]

_BESIDE_ITS_CODE = "{}: it is {}; the theorem is beside its code."
_A_PLUGINS = "a plugin's"
_UP = Context(prec=4, rounding=ROUND_CEILING)
_HEADS = ("released", "mechanism", "times", "cost", "share of the budget")


def ledger_section(model: Model) -> Section:
    """Return what was charged for what, kind by kind, in the filter's unit."""
    privacy = model.privacy
    budget = privacy["budget"]
    charged = f"{exact(privacy['spent'])} of {exact(budget)} ({privacy['unit']})"
    rows = tuple(
        (
            str(entry["kind"]),
            str(entry["mechanism"]),
            f"{entry['count']:,}",
            _shown_up(entry["cost"]),
            percent_up(Fraction(entry["cost"]) / Fraction(budget)) if budget > 0 else "-",
        )
        for entry in model.ledger
    )
    told = (
        f"Charged: {charged}, by the {privacy['accountant']} filter, {privacy['conversion']} "
        "conversion. Costs are rounded up. This is book-keeping: the guarantee is epsilon and "
        "delta, however little of them was used."
    )
    if not privacy["private"]:
        told = f"Book-keeping of a run that is not private: {charged}. It guarantees nothing."
    lines = (told, *_shares(privacy))
    if not rows:
        releases = ", ".join(f"{count:,} {kind}" for kind, count in privacy["releases"].items())
        lines += (f"Releases: {releases or 'none'}.",)
    return Section("What was spent on what", lines=lines, heads=_HEADS if rows else (), rows=rows)


def _shown_up(number: float) -> str:
    """Return a number of what was spent in four digits, rounded up."""
    return f"{_UP.create_decimal_from_float(number).normalize():f}"


def _shares(privacy: Mapping[str, Any]) -> list[str]:
    said = []
    if privacy.get("private_bounds") is not None:
        names = ", ".join(map(repr, privacy["private_bounds"]["columns"]))
        share = privacy["private_bounds"]["share"]
        said.append(f"The bounds of {names} took {share:.0%} of the budget.")
    if privacy.get("balanced") is not None:
        said.append(f"Counts of the classes took {privacy['balanced']['share']:.0%} of the budget.")
    if privacy.get("evaluation") is not None:
        share = privacy["evaluation"]["share"]
        said.append(f"Metrics of the model on rows held out took {share:.3g} of the budget.")
    if privacy.get("intervals") is not None:
        share = privacy["intervals"]["share"]
        sums = "sums behind intervals of the coefficients"
        if "intervals" in privacy["releases"]:
            said.append(f"S{sums[1:]} took at most {share:.3g} of the budget.")
        else:
            said.append(f"{share:.3g} of the budget was set aside for {sums}; none was released.")
    for name, stated in privacy.get("steps", {}).items():
        said.append(f"The step {name} took at most {stated['share']:.3g} of the budget.")
    if privacy.get("fits", 1) > 1:
        said.append(
            f"{privacy['fits']} fits, one for each class against the rest, had equal parts of it."
        )
    if privacy.get("search") is not None:
        said.append(str(privacy["search"]["words"]))
    users = privacy.get("users")
    if users is not None:
        least, most = users["epsilon"]
        said.append(
            f"Each of {users['count']} users has a budget and a filter of their own: epsilon from "
            f"{exact(least)} to {exact(most)}. The numbers are those of the user who gave most."
        )
    return said


def theorems_section(model: Model) -> Section:
    """Return the theorems of the algorithm, of each kind of release, and of the filter."""
    title = "By which theorems"
    if not model.privacy["private"]:
        return Section(title, lines=("By none: what voids the guarantee is named above.",))
    foreign = {part.rpartition(":")[2]: part for part in model.privacy["parts_not_from_dpcore"]}
    used = dict.fromkeys(str(entry["mechanism"]) for entry in model.ledger)
    items, search = [_of_algorithm(model.algo)], model.privacy.get("search")
    if search is not None:
        # One release, whose fits and scores are in no file.
        items.append(Item(f"The search: {search['theorem']}.", "tuning.md"))
        used.pop("Search", None)
    for name in used:
        own = None if name in foreign else MECHANISMS.get(name)
        items.append(_item(name, own) if own else _of_plugin(name, foreign.get(name)))
    filter_name = model.privacy["accountant"]
    own = ACCOUNTANTS.get(filter_name)
    beside = Item(_BESIDE_ITS_CODE.format(filter_name, _A_PLUGINS))
    items.append(_item(filter_name, own) if own else beside)
    return Section(title, items=tuple(items))


def _of_algorithm(algo: Mapping[str, Any]) -> Item:
    """Return the theorem that an algorithm states where the version of the file is installed."""
    of = algo["name"], algo.get("distribution"), algo.get("version")
    registry = load_registry()
    for entry in registry.entries("optimizer"):
        if (entry.name, entry.distribution, entry.version) == of:
            stated = optimizer_facts(registry.load("optimizer", entry.name)).theorem
            return Item(f"{algo['name']}: {stated or 'states none'}.", "algorithms.md")
    return Item(f"{algo['name']}: that version is not installed here.", "algorithms.md")


def _of_plugin(name: str, part: str | None) -> Item:
    """Return the theorem that the class of a plugin's mechanism states, as it is installed here.

    ``part`` : its ``"module:Class"``, where the statement names it as not from dpcore.
    """
    registry = load_registry()
    for entry in registry.entries("mechanism"):
        is_ours = entry.distribution in PrivacyStatement.DISTRIBUTIONS and entry.target.endswith(
            f":{name}"
        )
        if entry.target == part or (part is None and is_ours):
            made_by = registry.load("mechanism", entry.name)
            stated = registry.facts_of("mechanism", made_by).theorem
            whose = f"{entry.distribution} {entry.version}"
            return Item(f"{name}: {stated or 'states none'} (by {whose}, as it is installed here).")
    return Item(_BESIDE_ITS_CODE.format(name, "not from dpcore" if part else _A_PLUGINS))


def _item(name: str, theorem: Theorem) -> Item:
    return Item(f"{name}: {theorem.says} ({theorem.source}).", f"{PAGE}#{name.lower()}")
