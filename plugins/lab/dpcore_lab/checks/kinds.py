"""The kinds of parts that have checks, and the check of each."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import load_registry, optimizer_facts
from dpcore_lab.checks.accountants import check_accountant
from dpcore_lab.checks.datasets import check_dataset
from dpcore_lab.checks.engines import check_engine
from dpcore_lab.checks.interactive import check_interactive
from dpcore_lab.checks.losses import check_loss
from dpcore_lab.checks.mechanisms import check_mechanism
from dpcore_lab.checks.optimizers import checks_of_sessions
from dpcore_lab.checks.queries import check_query
from dpcore_lab.checks.samplers import check_sampler
from dpcore_lab.made_tables.tables import made_of_problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore_lab.checks.coverage_text import Tested

    Check = Callable[[Any], Tested]

__all__ = ["CHECKED_KINDS", "checks_of", "default_part", "kind_of"]

_CHECKS: dict[str, Check] = {
    "mechanism": check_mechanism,
    "accountant": check_accountant,
    "loss": check_loss,
    "dataset": check_dataset,
    "engine": check_engine,
    "query": check_query,
    "sampler": check_sampler,
    "interactive": check_interactive,
}
CHECKED_KINDS = ("optimizer", *_CHECKS)
"""Registered kinds that have checks, then those that an optimizer brings along."""

_METHODS = (
    ("optimizer", ("minimize",)),
    ("interactive", ("begin", "event")),
    ("sampler", ("sampled_event",)),
    ("query", ("answer_block", "sensitivity")),
    ("query", ("derive", "sensitivity")),
    ("query", ("answer_table", "sensitivity")),
    ("accountant", ("compose", "cost")),
    ("mechanism", ("release", "event")),
    ("loss", ("value", "dvalue")),
    ("engine", ("answer",)),
)
"""Methods by which a class is told from those of the kinds below it."""


def kind_of(part: Any) -> str:
    """Return the kind of an object, a class or a function: one of a problem makes queries, one of
    nothing loads a data set.

    Raises InvalidInputError for anything else.
    """
    for kind, methods in _METHODS:
        if all(callable(getattr(part, method, None)) for method in methods):
            return kind
    if inspect.isroutine(part):
        asked = inspect.signature(part).parameters.values()
        return _kind_of_made(part) if any(p.default is p.empty for p in asked) else "dataset"
    name = getattr(part, "__qualname__", type(part).__qualname__)
    raise InvalidInputError(
        f"{name} has the methods of no kind of part that is checked ({', '.join(CHECKED_KINDS)})."
    )


def _kind_of_made(make: Any) -> str:
    """Return the kind of what a function makes of a problem."""
    try:
        made = made_of_problem(make)
    except Exception:
        return "query"  # whose check says what it raises
    kind = kind_of(made)
    return kind if kind in ("sampler", "interactive") else "query"


def checks_of(part: Any, kind: str | None = None) -> tuple[Check, ...]:
    """Return the checks that a part is to pass. An optimizer and a loss are objects, any other part
    a class or a function that makes one (a query, a sampler or an interactive mechanism from a
    problem).

    Raises InvalidInputError for a part that its checks cannot take.
    """
    kind = kind_of(part) if kind is None else kind
    if kind == "optimizer":
        try:
            stated = optimizer_facts(part)
        except AttributeError:  # one that has to be stated
            fault = load_registry().fault_of("optimizer", type(part))
            raise InvalidInputError(f"{type(part).__qualname__} {fault}") from None
        if stated.answered_by:
            checks: tuple[Check, ...] = stated.load_source().checks()
            return checks
        return checks_of_sessions(part)
    if kind == "query" or (kind in ("sampler", "interactive") and callable(part)):
        _require_maker(part, kind)
    if kind not in _CHECKS:
        raise InvalidInputError(f"There is no check of a {kind} by itself: its page says how.")
    return (_CHECKS[kind],)


def _require_maker(part: Any, kind: str) -> None:
    try:
        inspect.signature(part).bind("a problem")
    except (TypeError, ValueError) as error:
        name = getattr(part, "__qualname__", type(part).__qualname__)
        raise InvalidInputError(
            f"{name} is not made from a problem alone ({error}): check a function of a problem "
            f"that returns the {kind}, which on the command line is module:function --kind {kind}."
        ) from None


def default_part(kind: str, target: Any) -> Any:
    """Return what the checks of a kind take, from its registered class or function."""
    return target() if kind in ("optimizer", "loss") and isinstance(target, type) else target
