"""Tables of the facts that the class of a registered part states, by kind, checked at loading.

The protocols (``dpcore.protocols``) say what a part must have; these say all that is read of it by
name, with type and default. Nothing else of a class is asked for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcore.errors import near_names
from dpcore.losses.facts import LossFacts
from dpcore.registry.facts import Method, Shape, Words, fact, fault_of, read
from dpcore.registry.presets import fault_of_presets
from dpcore.registry.shapes import (
    NUMBER,
    PRESETS,
    RELATIONS,
    SLOTS,
    TEXT,
    TEXTS,
    TRUTH,
    VALUES,
    WHOLE,
)
from dpcore.registry.slots import FIGURES, Slot

if TYPE_CHECKING:
    from dpcore.privacy.events import DpEvent
    from dpcore.protocols.outlook import Outlook

__all__ = [
    "NEEDS",
    "TARGETS",
    "AccountantFacts",
    "EngineFacts",
    "MechanismFacts",
    "OptimizerFacts",
    "PoolFacts",
    "accountant_facts",
    "fault_of_part",
    "optimizer_facts",
]

NEEDS = (
    "classification",
    "convex-loss",
    "lipschitz-loss",
    "smooth-loss",
    "squared-loss",
    "strong-convexity",
    "fixed-schedule",
    "user-pool",
)
TARGETS = (
    "target_accuracy",
    "target_excess_risk",
    "target_risk",
    "slack",
    "failure_probability",
    "release_last",
)
"""Names of fields that are options of their own where epsilon is an output."""


@dataclass(frozen=True, kw_only=True)
class OptimizerFacts:
    """Facts that the class of an optimizer states."""

    minimize: Callable[..., Any] = fact(
        Method(("problem", "session")), "Returns the `Solution` of a problem, from released values."
    )
    relations: tuple[str, ...] = fact(RELATIONS, "The relations under which it has a guarantee.")
    needs: tuple[str, ...] = fact(
        Words("need", NEEDS),
        "What a run must have. `fixed-schedule`: every event is fixed before the first release; "
        "without it the accountant has to be fully adaptive. `user-pool`: `minimize` is handed a "
        "`UserPool`.",
    )
    slots: Mapping[str, Slot] = fact(
        SLOTS, "What can fill each slot (`--use`), as `dpcore.plugin.Slot`; given as `use`."
    )
    name: str = fact(TEXT, "Its registered name, for messages.", "")
    accountant: str = fact(TEXT, "The accountant of a run that names none.", "zcdp")
    secure_accountant: str = fact(TEXT, "The same under `--trust secure-aggregation`.", "")
    trust_models: tuple[str, ...] = fact(
        Words("trust model"), "What a server of users may see, the default first.", ("local",)
    )
    rows_per_user: int = fact(
        WHOLE, "A field: rows of each user where nobody shared the rows out.", 1
    )
    presets: Mapping[str, Mapping[str, Any]] = fact(
        PRESETS, "Named settings of fields, slots and accountant (`--preset`).", {}
    )
    targets: tuple[str, ...] = fact(
        Words("target", TARGETS), "The fields that are options; epsilon is then an output.", ()
    )
    checked_with: Mapping[str, Any] = fact(
        VALUES, "The fields without which it cannot be built, for the checks.", {}
    )
    default_l2: Callable[..., float] | None = fact(
        Method(("problem", "accountant")), "Returns the l2 of a run that was given none.", None
    )
    schedule: Callable[..., Mapping[DpEvent, int]] | None = fact(
        Method(("problem", "noise_multiplier")),
        "Returns how many of each event a run makes with that noise.",
        None,
    )
    needed_epsilon: Callable[..., float] | None = fact(
        Method(("problem",)), "Returns the epsilon that its targets need, from public facts.", None
    )
    expect: Callable[..., Outlook | None] | None = fact(
        Method(("problem", "accountant"), of_class=True),
        "Returns the `Outlook` of a run by default parameters, from public facts, or `None`.",
        None,
    )
    choose: Callable[..., Any] | None = fact(
        Method(("settings",)),
        "A class method of a name in place of others: returns `Settings` with one, and why. Of "
        "these only algo, accountant, conversion, preset, use and params are taken.",
        None,
    )
    for_units: bool = fact(
        TRUTH, "True where it releases sums over rows alone: it takes units of several rows.", False
    )
    multiclass: bool = fact(
        TRUTH, "True where it takes a loss of several classes, `w` of `problem.w_shape`.", False
    )
    private: bool = fact(TRUTH, "False where it promises no privacy.", True)
    without_noise: bool = fact(TRUTH, "True where its users add no noise: no promise.", False)
    as_published: bool = fact(
        TRUTH, "A field: true runs its authors' code (`--as-published`), not private.", False
    )
    published_options: tuple[str, ...] = fact(TEXTS, "The fields its authors' code takes too.", ())
    published_is: str = fact(
        TEXT, "A clause that says why that code is not private.", "which is not sound"
    )
    theorem: str = fact(TEXT, "The theorem that its guarantee rests on, for `dpcore info`.", "")
    departures: tuple[str, ...] = fact(TEXTS, "Where it departs from its paper.", ())


@dataclass(frozen=True, kw_only=True)
class MechanismFacts:
    """Facts that the class of a registered mechanism states."""

    name: str = fact(TEXT, "Its registered name, for messages.")
    needs: str = fact(
        Shape("l2, l1 or range", lambda value: value in FIGURES),
        "The figure of the sensitivity that its noise is scaled to.",
    )
    noise_multiplier: float = fact(NUMBER, "A field: the scale of its noise over that figure.")
    is_share: bool = fact(
        TRUTH,
        "True where it draws a part of the noise of a sum: refused by any session but that of a "
        "user whose answers are masked.",
        False,
    )
    scalar_only: bool = fact(
        TRUTH,
        "True where it releases single numbers alone: an answer that declares several coordinates "
        "is refused uncharged.",
        False,
    )
    nominal_event: Callable[..., Any] | None = fact(
        Method(("noise_multiplier",)),
        "Returns the cost of a release with that noise, for `dpcore.plugin.noise_multiplier`.",
        None,
    )
    event: Callable[..., Any] = fact(
        Method(("sensitivity",)), "Returns the cost of a release as it is drawn."
    )
    release: Callable[..., Any] = fact(
        Method(("exact", "sensitivity", "noise")), "Returns the noisy value."
    )


@dataclass(frozen=True, kw_only=True)
class AccountantFacts:
    """Facts that the class of an accountant states."""

    name: str = fact(TEXT, "Its registered name, for messages and statements.")
    unit: str = fact(TEXT, "What its budget counts.")
    fully_adaptive: bool = fact(
        TRUTH, "Whether it is a filter when events are chosen from earlier outputs."
    )
    from_budget: Callable[..., Any] = fact(
        Method(("epsilon", "delta", "conversion"), of_class=True),
        "Returns the empty filter of a budget.",
    )
    supports: Callable[..., bool] = fact(
        Method(("event",), of_class=True), "Whether it has a rule for an event."
    )
    cost: Callable[..., Any] = fact(Method(("event",)), "Returns an upper bound of a cost.")
    compose: Callable[..., Any] = fact(Method(("event",)), "Returns the filter after an event.")
    get_epsilon: Callable[..., float] = fact(
        Method(("delta",)), "Returns the epsilon of what was spent."
    )
    conversions: tuple[str, ...] = fact(
        Words("conversion"), "Its rules from (epsilon, delta) to its unit, its own first.", ()
    )
    holds: Callable[..., bool] | None = fact(
        Method(("events",)), "Whether it would take so many of each event.", None
    )
    planned: Callable[..., Any] | None = fact(
        Method(("epsilon", "delta", "schedule"), of_class=True),
        "Returns the filter fitted to a schedule.",
        None,
    )
    of_figure: Callable[..., Any] | None = fact(
        Method(("figure", "delta", "conversion"), of_class=True),
        "Returns the filter of a budget in its own figure (`--rho`, `--mu`).",
        None,
    )
    with_reserve: Callable[..., Any] | None = fact(
        Method(("epsilon", "delta", "reserve", "conversion"), of_class=True),
        "Returns the filter of a budget that keeps a part of delta for (epsilon, delta) releases.",
        None,
    )
    private: bool = fact(TRUTH, "False where it promises no privacy.", True)
    holds_several: bool = fact(
        TRUTH, "False for one release at most: none is chosen or compared over schedules.", True
    )
    delta_may_be_zero: bool = fact(TRUTH, "True where it takes a delta of 0.", False)


@dataclass(frozen=True, kw_only=True)
class EngineFacts:
    """Facts that the class of an engine states."""

    answer: Callable[..., Any] = fact(Method(("query",)), "Returns an exact sum over all blocks.")
    answer_table: Callable[..., Any] | None = fact(
        Method(("query", "noise")), "Returns the exact answer of a query of the whole table.", None
    )
    without_rows: Callable[..., Any] | None = fact(
        Method(), "Returns an engine of the same form without rows.", None
    )


_OPEN_POOL = ("users", "dataset", "loss", "accountant", "rows_per_user", "reference", "trust",
              "threads", "seed")  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PoolFacts:
    """Facts that the class of a pool of users states."""

    open: Callable[..., Any] = fact(
        Method(_OPEN_POOL),
        "A class method: returns the users who own the rows, none of whom was asked yet.",
    )
    begin: Callable[..., Any] = fact(
        Method(("rules", "most")), "Agrees on the rules, and returns how many rounds there can be."
    )
    round: Callable[..., Any] = fact(Method(("index", "w")), "Returns the answers of a round.")
    checks: Callable[..., Any] = fact(
        Method(), "A class method: returns the admission test of an optimizer that asks it."
    )


_TABLES: dict[str, type[Any]] = {
    "optimizer": OptimizerFacts,
    "mechanism": MechanismFacts,
    "accountant": AccountantFacts,
    "loss": LossFacts,
    "engine": EngineFacts,
    "pool": PoolFacts,
}


def optimizer_facts(optimizer: Any) -> OptimizerFacts:
    """Return what an optimizer, or its class, states."""
    return read(OptimizerFacts, optimizer)


def accountant_facts(accountant: Any) -> AccountantFacts:
    """Return what an accountant, or its class, states."""
    return read(AccountantFacts, accountant)


_NO_DATACLASS = "is not a dataclass of its parameters."


def fault_of_part(kind: str, target: Any) -> str:
    """Return why a target cannot be of its kind, as the end of a sentence; empty if it can."""
    if kind == "dataset":
        return "" if callable(target) else "is no function that returns a data set."
    if not isinstance(target, type):
        return "is not a class." if kind != "optimizer" else _NO_DATACLASS
    if kind == "optimizer" and not dataclasses.is_dataclass(target):
        return _NO_DATACLASS
    fault = fault_of(_TABLES[kind], target, ("conversion",) if kind == "accountant" else ())
    return fault or (_fault_of_optimizer(target) if kind == "optimizer" else "")


def _fault_of_optimizer(target: Any) -> str:
    """Return what does not go together in a class whose single facts are in order."""
    facts = optimizer_facts(target)
    fields = [field.name for field in dataclasses.fields(target) if field.init]
    for name in (*facts.targets, *facts.checked_with):
        if name not in fields:
            return f"states {name!r}, which is no field of it.{near_names(name, fields)}"
    asked = {"use": bool(facts.slots), "rows_per_user": "user-pool" in facts.needs}
    for name, is_needed in asked.items():
        if is_needed and name not in fields:
            return f"has no field {name!r}, which its slots or needs ask for."
    return fault_of_presets(target, facts.presets, facts.slots)
