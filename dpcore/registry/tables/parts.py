"""Tables of the facts that the classes of mechanisms, accountants, engines and answerers state."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpcore.registry.slots import SENSITIVITY_BOUNDS
from dpcore.registry.tables.class_metadata import (
    NUMBER,
    TEXT,
    TRUTH,
    WHOLE,
    Method,
    Shape,
    Words,
    fact,
)

__all__ = ["AccountantFacts", "AnswerSourceFacts", "EngineFacts", "MechanismFacts"]


@dataclass(frozen=True, kw_only=True)
class MechanismFacts:
    """Facts that the class of a registered mechanism states."""

    name: str = fact(TEXT, "Its registered name, for messages.")
    needs: str = fact(
        Shape("l2, l1, linf or range", lambda value: value in SENSITIVITY_BOUNDS),
        "The norm of the sensitivity, or its range, that the noise is scaled to.",
    )
    noise_multiplier: float = fact(NUMBER, "A field: the scale of its noise over that bound.")
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
    coordinates: int | None = fact(
        WHOLE,
        "A field: how many numbers it releases, where its cost is about so many; an answer that "
        "declares another number is refused uncharged.",
        None,
    )
    nominal_event: Callable[..., Any] | None = fact(
        Method(("noise_multiplier",)),
        "Returns the cost of a release with that noise, for `dpcore.plugin.noise_multiplier`.",
        None,
    )
    no_slot: str = fact(
        TEXT, "Why it fills no slot, as the end of a sentence; of one without a nominal event.", ""
    )
    event: Callable[..., Any] = fact(
        Method(("sensitivity",)), "Returns the cost of a release as it is drawn."
    )
    theorem: str = fact(TEXT, "The theorem that this cost rests on, for `dpcore report`.", "")
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
    planned_releases: Callable[..., int] | None = fact(
        Method(()),
        "How many releases it was planned for, all charged with the first; 0 where it was not.",
        None,
    )
    of_native_budget: Callable[..., Any] | None = fact(
        Method(("native", "delta", "conversion"), of_class=True),
        "Returns the filter of a budget in its own unit (`--rho`, `--mu`).",
        None,
    )
    with_reserve: Callable[..., Any] | None = fact(
        Method(("epsilon", "delta", "reserve", "conversion"), of_class=True),
        "Returns the filter of a budget that keeps a part of delta for (epsilon, delta) releases.",
        None,
    )
    split: Callable[..., Any] | None = fact(
        Method(("parts",)),
        "Returns the filter of an equal part of what remains: it holds so many together.",
        None,
    )
    private: bool = fact(TRUTH, "False where it promises no privacy.", True)
    holds_several: bool = fact(
        TRUTH, "False for one release at most: none is chosen or compared over schedules.", True
    )
    delta_may_be_zero: bool = fact(TRUTH, "True where it takes a delta of 0.", False)

    @property
    def splits(self) -> bool:
        """Whether equal parts of a filter are together within it: a filter of a single release has
        no parts."""
        return self.split is not None and self.holds_several


@dataclass(frozen=True, kw_only=True)
class EngineFacts:
    """Facts that the class of an engine states."""

    open: Callable[..., Any] = fact(
        Method(("source", "schema", "threads"), of_class=True),
        "A class method: returns the engine of a `Table`, or of `Files` where it `reads_files`; "
        "a number of threads of `None` is left to it.",
    )
    answer: Callable[..., Any] = fact(Method(("query",)), "Returns an exact sum over all blocks.")
    answer_table: Callable[..., Any] | None = fact(
        Method(("query", "noise")), "Returns the exact answer of a query of the whole table.", None
    )
    without_rows: Callable[..., Any] | None = fact(
        Method(), "Returns an engine of the same form without rows.", None
    )
    reads_files: bool = fact(
        TRUTH, "True where it opens files, which its own processes read (`FileEngine`).", False
    )
    reads_frames: bool = fact(
        TRUTH, "True where it also opens frames in partitions elsewhere (`FrameParts`).", False
    )
    reads_registered: bool = fact(
        TRUTH, "True where its processes also load data sets by name (`Registered`).", False
    )
    with_curves: Callable[..., Any] | None = fact(
        Method(("schema",)),
        "Returns an engine of the same rows, whose numbers have the hat functions of the schema; "
        "`None` where it makes none of rows that it has read.",
        None,
    )
    executor: Callable[..., Any] | None = fact(
        Method(("address", "workers"), of_class=True),
        "A class method: lends (`with`) a `concurrent.futures.Executor` of its processes, so many "
        "of this machine where the address is `None`; whole fits of `dpcore compare` are its "
        "tasks.",
        None,
    )


@dataclass(frozen=True, kw_only=True)
class AnswerSourceFacts:
    """Facts that the class of a source of answers states."""

    refuse: Callable[..., None] = fact(
        Method(("optimizer", "settings", "of_loss")),
        "A class method: refuses settings that it cannot answer, before any data.",
    )
    usual_accountant: Callable[..., str] = fact(
        Method(("optimizer", "settings")),
        "A class method: returns the accountant of a run that names none; empty for the "
        "optimizer's own.",
    )
    open: Callable[..., Any] = fact(
        Method(("plan", "dataset")),
        "A class method: returns the source of a run's rows, of which nothing was asked yet. "
        "`asked` of it is what `minimize` is handed.",
    )
    charged: Callable[..., Any] = fact(
        Method(), "Returns what was charged, of how much, and the unit; `None` for nothing."
    )
    stated: Callable[..., Any] = fact(
        Method(("relation",)),
        "Returns `fields`, `why_not_private` and `parts` for the privacy statement.",
    )
    checks: Callable[..., Any] = fact(
        Method(), "A class method: returns the admission test of an optimizer that asks it."
    )
