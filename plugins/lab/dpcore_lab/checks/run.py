"""Run the checks: one by one for ``dpcore check``, or as pytest parameters."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from dpcore.errors import InvalidInputError, full_text
from dpcore.plugin.parts import optimizer_facts
from dpcore_lab.checks.coverage_text import BelowThreshold, Tested
from dpcore_lab.checks.guard import require_assertions
from dpcore_lab.checks.kinds import checks_of, kind_of
from dpcore_lab.checks.parts import foreign_parts
from dpcore_lab.checks.utility import UTILITY_CHECKS
from dpcore_lab.isolation import run_apart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dpcore.plugin.parts import Optimizer

__all__ = ["Outcome", "outcome_of", "outcomes_of", "parametrize_with_checks", "run_checks"]


_APART_ALREADY = ("optimizer", "query", "dataset")
"""Kinds whose checks run the part in processes of their own, where none can be started."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a check: the words of what was tested, or the reason of its failure.

    ``of_utility`` : whether what it missed is a threshold of utility, and no fault of privacy.
    """

    check: str
    passed: bool
    tested: Tested
    reason: str = ""
    of_utility: bool = False


def run_checks(part: Any, kind: str | None = None) -> list[Outcome]:
    """Return the outcome of every check of a part of any kind, in order.

    ``part`` : an optimizer or a loss, the class of a mechanism, an accountant, an engine or a pool,
    the loader of a data set, or a function from a problem to a query, a sampler or an interactive
    mechanism. ``kind`` : where it is not to be told from the part. Whatever its kind, it runs in
    processes of its own, and fails if it writes a file there or reaches for the network.

    Of an optimizer one more outcome, which cannot fail, names the parts that are not dpcore's own.
    """
    return list(outcomes_of(part, kind))


def outcomes_of(part: Any, kind: str | None = None) -> Iterator[Outcome]:
    """Yield each outcome of ``run_checks`` as its check ends."""
    require_assertions()
    kind = kind_of(part) if kind is None else kind
    for check in checks_of(part, kind):
        yield outcome_of(check.__name__, partial(check, part), part, kind not in _APART_ALREADY)
    if kind == "optimizer":
        yield from _told_of(part)


def outcome_of(name: str, check: Callable[[], Tested], part: Any, is_apart: bool) -> Outcome:
    """Return the outcome of a check of a part; ``is_apart`` : in a process of its own."""
    nothing = Tested("")
    try:
        tested = run_apart(check) if is_apart else check()
    except BelowThreshold as error:
        return Outcome(name, False, nothing, str(error), of_utility=True)
    except AssertionError as error:
        return Outcome(name, False, nothing, f"{type(error).__name__}: {error}")
    except Exception as error:  # Its text may be shown: the checks make their own rows.
        whose = part if hasattr(part, "__module__") else type(part)
        told = full_text(error, {whose.__module__.split(".")[0]})
        return Outcome(name, False, nothing, told + _advice(error, part))
    return Outcome(name, True, tested)


def _advice(error: Exception, part: Any) -> str:
    """Return what the author of an optimizer may do that refuses the problems of the checks."""
    refused = isinstance(error, InvalidInputError) and hasattr(part, "minimize")
    if not refused or optimizer_facts(part).checked_loss:
        return ""
    return " If it takes another loss alone, state its name as checked_loss."


def _told_of(optimizer: Optimizer) -> list[Outcome]:
    if not optimizer_facts(type(optimizer)).private:
        told = "it is given exact answers, and promises nothing"
        return [Outcome("not_private", True, Tested(told))]
    if optimizer_facts(optimizer).answered_by:
        return []  # Its source runs the parts, and says so.
    try:
        parts = foreign_parts(optimizer)
    except Exception:  # It does not run at all, as the checks before have said.
        return []
    told = f"also runs on exact answers, and is to be trusted: {', '.join(parts)}"
    return [Outcome("foreign_parts", True, Tested(told))] if parts else []


def parametrize_with_checks(parts: Iterable[Any], utility: bool = True) -> Callable[[Any], Any]:
    """Return a pytest decorator that runs a test for every pair of a part and a check of its kind.

    The test takes the part under any name and a ``check``. ``utility`` : include thresholds of
    utility, which a private part may miss.
    """
    require_assertions()
    import pytest

    pairs = [
        pytest.param(part, check, id=f"{_name(part)}-{check.__name__}")
        for part in parts
        for check in checks_of(part)
        if utility or check not in UTILITY_CHECKS
    ]

    def decorate(test: Any) -> Any:
        name = next(name for name in inspect.signature(test).parameters if name != "check")
        return pytest.mark.parametrize((name, "check"), pairs)(test)

    return decorate


def _name(part: Any) -> str:
    return str(getattr(part, "__name__", type(part).__name__))
