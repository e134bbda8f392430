"""Declarations of an optimizer's class, checked when it is loaded, and the report of its failure.

An error in a run is reported by type and place; by its own text, which may hold a private value,
only where the rows are no secret."""

from __future__ import annotations

import copy
import dataclasses
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcore.errors import DpcoreError, InvalidInputError, OptimizerError, RegistryError, near_names
from dpcore.privacy.sensitivity import NeighboringRelation
from dpcore.registry.catalogue import KINDS, Entry, Failure, Registry
from dpcore.registry.presets import fault_of_presets

if TYPE_CHECKING:
    from dpcore.protocols import Optimizer
    from dpcore.protocols.problem import Problem, Solution
    from dpcore.protocols.user_pool import UserPool
    from dpcore.session.session import PrivacySession

__all__ = [
    "NEEDS",
    "default_optimizer",
    "find_failures",
    "full_text",
    "load_optimizer",
    "run_optimizer",
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
_RELATIONS = tuple(relation.value for relation in NeighboringRelation)


def load_optimizer(registry: Registry, name: str) -> Any:
    """Return the class of an optimizer that declares all of ``dpcore.protocols.Optimizer``.

    Raises RegistryError, naming what is missing or wrong, for a class that does not.
    """
    entry = registry.get("optimizer", name)
    target = registry.load("optimizer", name)
    fault = _fault(target)
    if fault:
        raise RegistryError(
            f"The optimizer {name!r} of {entry.distribution} {entry.version} cannot be used: "
            f"{entry.target} {fault}"
        )
    return target


def default_optimizer(registry: Registry, name: str) -> Optimizer:
    """Return an optimizer with its defaults, and what it declares to be checked with (such as a
    target, which has none); InvalidInputError if it cannot be built."""
    factory = load_optimizer(registry, name)
    try:
        return factory(**getattr(factory, "checked_with", {}))
    except DpcoreError:
        raise
    except Exception as error:
        raise InvalidInputError(
            f"{name} cannot be built with its defaults: {type(error).__name__}: {error}"
        ) from error


def find_failures(registry: Registry) -> tuple[Failure, ...]:
    """Return every registered name whose target cannot be used, importing all of them."""
    found = []
    for entry in (entry for kind in KINDS for entry in registry.entries(kind)):
        try:
            if entry.kind == "optimizer":
                load_optimizer(registry, entry.name)
            else:
                registry.load(entry.kind, entry.name)
        except RegistryError as error:
            found.append(Failure(entry.name, entry.distribution, entry.version, str(error)))
    return tuple(found)


def run_optimizer(
    optimizer: Optimizer,
    entry: Entry,
    problem: Problem,
    session: PrivacySession | UserPool,
    *,
    secret_rows: bool = True,
) -> Solution:
    """Return the optimizer's solution, its details as far as ``details`` allows them.

    ``secret_rows`` : whether an error's own text and cause, which may hold a private value, are
    left out.

    Raises OptimizerError for an optimizer that raises anything but the project's own errors, or
    returns anything but a Solution.
    """
    from dpcore.protocols.details import LONGEST_TEXT, bounded
    from dpcore.protocols.problem import Solution

    try:
        asked: Any = session
        # A copy: what is stated afterwards is not the optimizer's to alter.
        solution = optimizer.minimize(copy.copy(problem), asked)
    except DpcoreError:
        raise
    except (Exception, SystemExit) as error:
        module = type(optimizer).__module__
        if not secret_rows:
            raise OptimizerError(_failed(entry, full_text(error, module))) from error
        # Without the cause: a traceback would print its text.
        raise OptimizerError(_failed(entry, _type_and_place(error, module))) from None
    if not isinstance(solution, Solution):
        kind = type(solution).__name__
        raise OptimizerError(_failed(entry, f"minimize returned no Solution but a {kind}"))
    status = solution.status[:LONGEST_TEXT]
    return dataclasses.replace(solution, status=status, details=bounded(solution.details))


def _failed(entry: Entry, what: str) -> str:
    return f"{entry.name} ({entry.distribution} {entry.version}) failed: {what}."


def full_text(error: BaseException, module: str) -> str:
    """Return type, place, text and cause of an error: for runs over rows that are no secret."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    text = f": {error}" if str(error) else ""
    origin = "" if cause is None else f" (from {type(cause).__name__}: {cause})"
    return f"{_type_and_place(error, module)}{text}{origin}"


def _type_and_place(error: BaseException, module: str) -> str:
    return f"{type(error).__name__} in {_place(error, module)}"


def _place(error: BaseException, module: str) -> str:
    """Return file and line of the innermost frame of the optimizer's package, or of any."""
    package = module.split(".")[0]
    frames = list(traceback.walk_tb(error.__traceback__))
    own = [f for f in frames if str(f[0].f_globals.get("__name__")).split(".")[0] == package]
    frame, line = (own or frames)[-1]
    path = Path(frame.f_code.co_filename)
    return f"{'/'.join(path.parts[-2:])}:{line}"


def _fault(target: Any) -> str:
    """Return what an optimizer's class lacks, as the end of a sentence; empty if nothing."""
    if not (isinstance(target, type) and dataclasses.is_dataclass(target)):
        return "is not a dataclass of its parameters."
    for name in ("minimize", "relations", "slots", "needs"):
        if not hasattr(target, name):
            return f"has no {name!r}, which dpcore.protocols.Optimizer asks for."
    declared: Any = target
    faults = (
        "" if callable(declared.minimize) else "has a minimize that cannot be called.",
        _fault_of_slots(declared.slots),
        _fault_of_words("relations", "relation", declared.relations, _RELATIONS),
        "" if declared.relations else "has a guarantee under no relation.",
        _fault_of_words("needs", "need", declared.needs, NEEDS),
    )
    return next(filter(None, faults), "") or fault_of_presets(declared)


def _fault_of_slots(slots: Any) -> str:
    if isinstance(slots, Mapping) and _is_words(tuple(slots)):
        if all(_is_words(names) and names for names in slots.values()):
            return ""
    return "has slots that are not a dict of slot name to a tuple of registered names."


def _fault_of_words(attribute: str, word: str, values: Any, known: tuple[str, ...]) -> str:
    if not _is_words(values):
        return f"has {attribute} that are not a tuple of words."
    unknown = next((value for value in values if value not in known), None)
    if unknown is None:
        return ""
    return f"declares the unknown {word} {unknown!r}.{near_names(unknown, known)}"


def _is_words(values: Any) -> bool:
    return isinstance(values, (tuple, list)) and all(isinstance(v, str) for v in values)
