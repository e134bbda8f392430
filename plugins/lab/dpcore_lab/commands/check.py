"""``dpcore check``: the admission test of a part of any kind."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from typing import TYPE_CHECKING, Annotated, Any

from dpcore.errors import DpcoreError, InvalidInputError, near_names
from dpcore.plugin.commands import Argument, Option, print_json, print_lines
from dpcore.plugin.parts import load_registry, optimizer_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dpcore.plugin.parts import Optimizer
    from dpcore_lab.checks import Outcome

__all__ = ["check_command", "default_optimizer"]

_BELOW = 3
"""The exit status where all that is below is utility."""


def check_command(
    name: Annotated[
        str,
        Argument(
            help="A registered name of any kind (dpcore list), or module:Name: a class, or a "
            "function from a problem to a query, a sampler or an interactive mechanism."
        ),
    ],
    kind: Annotated[
        str | None,
        Option("--kind", help="The kind, where the name is of several or it cannot be told."),
    ] = None,
    like: Annotated[
        str | None,
        Option(
            help="A schema (TOML) or a data set's name: check at the sizes of a run over such "
            "rows, which are made; no row is read.",
            metavar="SCHEMA",
        ),
    ] = None,
    rows: Annotated[
        int | None,
        Option(help="With --like: rows of the run; the schema's, or 20,000.", min=2),
    ] = None,
    epsilon: Annotated[float, Option(help="With --like: the run's epsilon, at delta 1e-8.")] = 1.0,
    algo: Annotated[
        str | None,
        Option(help="With --like: the run's algorithm; NAME itself if it is one, or the default."),
    ] = None,
    accountant: Annotated[
        str | None,
        Option(help="With --like: the run's accountant; the algorithm's own if not given."),
    ] = None,
    use: Annotated[
        list[str] | None,
        Option("--use", help="With --like: SLOT=NAME, what fills a slot of the algorithm."),
    ] = None,
    loss: Annotated[
        str | None, Option(help="With --like: the run's loss; the usual one if not given.")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        Option("--set", help="With --like: KEY=VALUE of the algorithm, or loss.KEY=VALUE."),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Run the checks of a part; exit 1 if one fails, 3 if only a threshold of utility is missed.

    Each line says what was tested and with what power, and what was not. Passed checks are no
    proof: they find accidents. Examples: dpcore check dp-agd; dpcore check gaussian; dpcore check
    logistic; dpcore check my_plugin.median:Median; dpcore check my_plugin.median:Median --like
    adult --rows 50000 --epsilon 0.5.
    """
    kind, part = _find(name, kind)
    from dpcore_lab.checks.run import outcomes_of
    from dpcore_lab.run_sizes.checks import in_order, outcomes_like
    from dpcore_lab.run_sizes.request import LikeRequest, checked_as_run

    sizes = ""
    if like is None:
        ending = outcomes_of(part, kind)
    else:
        filled, params = Option.assigned(use, "--use"), Option.assigned(assignments, "--set")
        request = LikeRequest(like, rows, epsilon, algo, accountant, filled, loss, params)
        if kind == "optimizer":
            part = default_optimizer(type(part), name, checked_as_run(type(part)))
        sizes, ending = outcomes_like(part, kind, request)
    outcomes = list(ending) if as_json else _printed(sizes, ending)
    passed = all(outcome.passed or outcome.of_utility for outcome in outcomes)
    useful = all(outcome.passed for outcome in outcomes if outcome.of_utility)
    if as_json:
        ordered = in_order(outcomes, kind) if sizes else outcomes
        checks = [_row(outcome) for outcome in ordered]
        told = {"name": name, "kind": kind, "passed": passed, "checks": checks}
        told["useful"] = useful
        print_json(told | ({"like": sizes} if sizes else {}))
    if not (passed and useful):
        raise SystemExit(_BELOW if passed else 1)


def _find(name: str, kind: str | None) -> tuple[str, Any]:
    """Return the kind of a part, and the part as its checks take it."""
    registry, entry = load_registry(), None
    if ":" not in name:
        entries = registry.find(name) if kind is None else (registry.get(kind, name),)
        if len(entries) > 1:
            kinds = " and ".join(entry.kind for entry in entries)
            raise InvalidInputError(f"{name} is the name of {kinds}: say --kind which.")
        entry = entries[0]
        if entry.kind == "optimizer":
            return entry.kind, default_optimizer(registry.load("optimizer", name), name)
    from dpcore_lab.checks.kinds import CHECKED_KINDS, default_part, kind_of

    if entry is not None and entry.kind not in CHECKED_KINDS:
        raise InvalidInputError(
            f"{name} is of the kind {entry.kind}, which has no checks: expected a part that is one "
            f"of {', '.join(CHECKED_KINDS)}."
        )
    if entry is not None:
        return entry.kind, default_part(entry.kind, registry.load(entry.kind, name))
    if kind is not None and kind not in CHECKED_KINDS:
        raise InvalidInputError(f"There is no kind {kind!r}.{near_names(kind, CHECKED_KINDS)}")
    target = _import(name)
    kind = kind or kind_of(target)
    return kind, default_part(kind, target)


def _import(name: str) -> Any:
    """Return what ``module:Name`` names, from this folder too."""
    module, _, attribute = name.partition(":")
    sys.path.insert(0, "")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInputError(f"Cannot import {name}: {error}") from error


def _printed(sizes: str, ending: Iterable[Outcome]) -> list[Outcome]:
    """Print each outcome as its check ends, those of utility last; return all."""
    if sizes:
        print_lines(f"Like a run of {sizes}.")
    found = []
    for outcome in ending:
        found.append(outcome)
        if not outcome.of_utility:
            _print(outcome)
    for outcome in found:
        if outcome.of_utility:
            _print(outcome)
    return found


def _row(outcome: Outcome) -> dict[str, Any]:
    said = {"check": outcome.check, "passed": outcome.passed, "reason": outcome.reason}
    return said | dataclasses.asdict(outcome.tested)


def _print(outcome: Outcome) -> None:
    if outcome.of_utility:
        print_lines("Utility, which is no fault of privacy:")
        print_lines(f"below   {outcome.check}: {outcome.reason}")
        return
    if not outcome.passed:
        print_lines(f"FAILED  {outcome.check}: {outcome.reason}")
        return
    tested = outcome.tested
    print_lines(f"ok      {outcome.check}{': ' if tested.what else ''}{tested.what}")
    if tested.power:
        print_lines(f"        power: {tested.power}")
    if tested.ranges:
        print_lines(f"        ranges: {'; '.join(tested.ranges)}")
    if tested.not_tested:
        print_lines(f"        not tested: {'; '.join(tested.not_tested)}")


def default_optimizer(factory: Any, name: str, given: Mapping[str, Any] | None = None) -> Optimizer:
    """Return an optimizer of a class with its defaults, and what it is ``given``: ``None`` for all
    that it declares to be checked with (such as a target, which has none). InvalidInputError if it
    cannot be built."""
    try:
        known = optimizer_facts(factory).checked_with if given is None else given
        optimizer: Optimizer = factory(**known)
    except DpcoreError:
        raise
    except Exception as error:
        raise InvalidInputError(
            f"{name} cannot be built with its defaults: {type(error).__name__}: {error}"
        ) from error
    return optimizer
