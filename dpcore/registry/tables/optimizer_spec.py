"""Facts that the class of a registered part states, checked at loading: the table of optimizers,
and beside it those of all other kinds (``dpcore.registry.tables.parts``).

The protocols say what a part must have; these, all that is read of it, with type and default.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcore.errors import RegistryError, near_names, replacing
from dpcore.privacy.first_party import is_class
from dpcore.privacy.immutable import by_identity, fault_of_unfrozen
from dpcore.registry.parameters import fault_of_presets
from dpcore.registry.slots import Slot
from dpcore.registry.step_options import fault_of_step
from dpcore.registry.tables.class_metadata import (
    PRESETS,
    RELATIONS,
    SLOTS,
    TEXT,
    TEXTS,
    TRUTH,
    VALUES,
    Method,
    Words,
    fact,
    fault_of,
    read,
)
from dpcore.registry.tables.losses import LossFacts
from dpcore.registry.tables.outside import ExporterFacts, LedgerFacts, LedgerStoreFacts
from dpcore.registry.tables.parts import (
    AccountantFacts,
    AnswerSourceFacts,
    EngineFacts,
    MechanismFacts,
)

if TYPE_CHECKING:
    from dpcore.privacy.events import DpEvent
    from dpcore.registry.expected_utility import ExpectedUtility

__all__ = [
    "NEEDS",
    "TABLES",
    "OptimizerFacts",
    "accountant_facts",
    "engine_facts",
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
    "public-size",
    "fixed-schedule",
)


@dataclass(frozen=True, kw_only=True)
class OptimizerFacts:
    """Facts that the class of an optimizer states."""

    minimize: Callable[..., Any] = fact(
        Method(("problem", "session")), "Returns the `Solution` of a problem, from released values."
    )
    relations: tuple[str, ...] = fact(
        RELATIONS, "The relations under which it has a guarantee; the first is the default."
    )
    other_relations: str = fact(TEXT, "Sentences on why it has none under others.", "")
    needs: tuple[str, ...] = fact(
        Words("need", NEEDS),
        "What a run must have. `public-size`: a public number of rows. `fixed-schedule`: every "
        "event is fixed before the first release.",
    )
    slots: Mapping[str, Slot] = fact(
        SLOTS, "What can fill each slot (`--use`), as `dpcore.plugin.Slot`; given as `use`."
    )
    name: str = fact(TEXT, "Its registered name, for messages.", "")
    accountant: str = fact(TEXT, "The accountant of a run that names none.", "zcdp")
    published_accountant: str = fact(TEXT, "The same with `--as-published`.", "")
    shared_accountant: str = fact(
        TEXT,
        "The same where other releases or fits have a part of the budget and `accountant` is for a "
        "fixed schedule alone.",
        "",
    )
    answered_by: str = fact(
        TEXT,
        'The `"module:Class"` of an `AnswerSource` that has the rows, charges, and answers it in '
        "place of a session; the statement names it unless it is dpcore's.",
        "",
    )
    presets: Mapping[str, Mapping[str, Any]] = fact(
        PRESETS, "Named settings of fields, slots and accountant (`--preset`).", {}
    )
    preset_sources: Mapping[str, Mapping[str, str]] = fact(
        PRESETS, "Of a preset, where each thing that it sets is found: paper, section or code.", {}
    )
    targets: tuple[str, ...] = fact(
        Words("target"),
        "The fields that are options, registered beside its name; epsilon is then an output. "
        "`delta` is the run's: without it the algorithm is pure.",
        (),
    )
    adaptive_accountants: tuple[str, ...] = fact(
        Words("accountant"),
        "Beside `targets`: fully adaptive accountants under which each release is charged as made.",
        (),
    )
    checked_with: Mapping[str, Any] = fact(
        VALUES, "The fields without which it cannot be built, for the checks.", {}
    )
    checked_loss: str = fact(
        TEXT, "The loss that checks run it with, if not `logistic`, or `ridge` of squared loss.", ""
    )
    default_l2: Callable[..., float] | None = fact(
        Method(("problem", "accountant")), "Returns the l2 of a run that was given none.", None
    )
    takes_curves: Callable[..., bool] | None = fact(
        Method(("problem", "accountant")),
        "Returns whether numbers between public bounds are to have hat functions beside them.",
        None,
    )
    schedule: Callable[..., Mapping[DpEvent, int]] | None = fact(
        Method(("problem", "noise_multiplier")),
        "Returns how many of each event a run makes with that noise.",
        None,
    )
    needed_epsilon: Callable[..., float] | None = fact(
        Method(("problem",)), "Returns the epsilon that its targets need, from public facts.", None
    )
    cost_forecast: Callable[..., str] | None = fact(
        Method(("problem", "accountant")),
        "Returns sentences on what a run for its targets is expected to cost, from public facts; "
        "empty for none.",
        None,
    )
    feasible_targets: Callable[..., str] | None = fact(
        Method(("problem", "epsilon_max")),
        "Returns sentences on what would do where `needed_epsilon` is above the worst case, from "
        "public facts.",
        None,
    )
    memory: Callable[..., float] | None = fact(
        Method(("problem",)),
        "Returns the bytes that a run takes beside its rows, from public facts, where these are "
        "more than 512 a column.",
        None,
    )
    expected_utility: Callable[..., ExpectedUtility | None] | None = fact(
        Method(("problem", "accountant"), of_class=True),
        "Returns the `ExpectedUtility` of a run by default parameters, from public facts, or "
        "`None`.",
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
    without_noise: bool = fact(TRUTH, "True where its answers have no noise: no promise.", False)
    as_published: bool = fact(
        TRUTH, "A field: true runs its authors' code (`--as-published`), not private.", False
    )
    published_options: tuple[str, ...] = fact(TEXTS, "The fields its authors' code takes too.", ())
    published_is: str = fact(
        TEXT, "A clause that says why that code is not private.", "which is not sound"
    )
    theorem: str = fact(TEXT, "The theorem that its guarantee rests on, for `dpcore info`.", "")
    departures: tuple[str, ...] = fact(TEXTS, "Where it departs from its paper.", ())

    def load_source(self) -> Any:
        """Return the class of ``answered_by``; RegistryError where it is none of a source."""
        target = self.answered_by
        module, _, name = target.partition(":")

        def told(error: Exception) -> RegistryError:
            return RegistryError(
                f"The source of answers {target!r} cannot be loaded: {type(error).__name__}."
            )

        with replacing(Exception, by=told):
            source = getattr(importlib.import_module(module), name)
            fault = fault_of(AnswerSourceFacts, source)
        if fault:
            raise RegistryError(f"The source of answers cannot be used: {target} {fault}")
        return source


TABLES: dict[str, type[Any]] = {
    "optimizer": OptimizerFacts,
    "mechanism": MechanismFacts,
    "accountant": AccountantFacts,
    "loss": LossFacts,
    "engine": EngineFacts,
    "exporter": ExporterFacts,
    "ledger": LedgerFacts,
    "ledger-store": LedgerStoreFacts,
}


def optimizer_facts(optimizer: Any) -> OptimizerFacts:
    """Return the facts that an optimizer, or its class, states. An optimizer's are those of
    the first call, so that a run is stated, held and named by what it was planned by."""
    return read(OptimizerFacts, optimizer) if is_class(optimizer) else _facts_of(optimizer)


@by_identity
def _facts_of(optimizer: Any) -> OptimizerFacts:
    return read(OptimizerFacts, optimizer)


# What an engine or an accountant, or the class of one, states.
engine_facts = partial(read, EngineFacts)
accountant_facts = partial(read, AccountantFacts)


_NO_DATACLASS = "is not a dataclass of its parameters."


def fault_of_part(kind: str, target: Any) -> str:
    """Return why a target cannot be of its kind, as the end of a sentence; empty if it can."""
    if kind == "dataset":
        return "" if callable(target) else "is no function that returns a data set."
    if kind == "reader":
        return "" if callable(target) else "is no function open(source, facts)."
    if kind in _CALLED:
        return _fault_of_object(kind, target)
    if not isinstance(target, type):
        return "is not a class." if kind != "optimizer" else _NO_DATACLASS
    if kind == "optimizer" and not dataclasses.is_dataclass(target):
        return _NO_DATACLASS
    if kind not in _MAY_CHANGE and (fault := fault_of_unfrozen(target)):
        return fault
    if kind == "step":
        return fault_of_step(target)
    fault = fault_of(TABLES[kind], target, ("conversion",) if kind == "accountant" else ())
    return fault or (_fault_of_optimizer(target) if kind == "optimizer" else "")


# Kinds whose objects have a state: connections, files, users.
_MAY_CHANGE = ("engine", "ledger", "ledger-store")
# The functions that an object of a kind has to have.
_CALLED = {
    "column-kind": ("read",),
    "row-store": ("open", "write", "schema", "check_target"),
    "file-loader": tuple(
        """
        load pieces require_known format_of schema_of partitions requested tested source_of
        with_schema schema_of_rows predict info schema_lines rows features frame_of
        declares_truth schema_keys schema_file schema_toml schema_columns
        with_private_bounds number crosses advice bounded with_curves unbounded_rows rows_of_part
        watched
        """.split()
    ),
}


def _fault_of_object(kind: str, target: Any) -> str:
    missing = [name for name in _CALLED[kind] if not callable(getattr(target, name, None))]
    return f"has no function {' and '.join(missing)}." if missing else ""


def _fault_of_optimizer(target: Any) -> str:
    """Return what does not go together in a class whose single facts are in order."""
    facts = optimizer_facts(target)
    fields = [field.name for field in dataclasses.fields(target) if field.init]
    for name in (*facts.targets, *facts.checked_with):
        if name not in fields:
            return f"states {name!r}, which is no field of it.{near_names(name, fields)}"
    if facts.slots and "use" not in fields:
        return "has no field 'use', which its slots ask for."
    return fault_of_presets(target, facts.presets, facts.slots)
