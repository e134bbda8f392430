"""The run of an optimizer, and the report of its failure.

An error in a run is reported by type and place; by its own text, which may hold a private value,
only where the rows are no secret.
"""

from __future__ import annotations

import dataclasses
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from dpcore.errors import DpcoreError, OptimizerError, replacing
from dpcore.model.details import LONGEST_TEXT, bounded
from dpcore.privacy.immutable import private_copy
from dpcore.protocols.problem import Solution
from dpcore.registry.catalogue import KINDS, load_registry

if TYPE_CHECKING:
    from dpcore.protocols.optimizer import Optimizer
    from dpcore.protocols.problem import Problem
    from dpcore.protocols.session import PrivacySession
    from dpcore.registry.catalogue import Registration

__all__ = ["full_text", "run_optimizer", "type_and_place"]

_CORE = "dpcore"
_MOST_CAUSES = 8


def run_optimizer(
    optimizer: Optimizer,
    entry: Registration,
    problem: Problem,
    session: PrivacySession,
    *,
    secret_rows: bool = True,
) -> Solution:
    """Return the optimizer's solution, its details as far as ``details`` allows them.

    ``session`` : or what a source of its own gives it in place of one.
    ``secret_rows`` : whether an error's own text and cause, which may hold a private value, are
    left out.

    Raises OptimizerError for an optimizer that raises anything but the project's own errors, or
    returns anything but a Solution.
    """

    def failed(error: BaseException) -> BaseException:
        if isinstance(error, DpcoreError):
            return error
        told = type_and_place if secret_rows else full_text
        failure = OptimizerError(_failed(entry, told(error, type(optimizer).__module__)))
        failure.__cause__ = None if secret_rows else error
        return failure

    with replacing(Exception, SystemExit, by=failed):
        # A copy: what is stated afterwards is not the optimizer's to alter.
        solution = optimizer.minimize(private_copy(problem), session)
    if not isinstance(solution, Solution):
        kind = type(solution).__name__
        raise OptimizerError(_failed(entry, f"minimize returned no Solution but a {kind}"))
    status = solution.status[:LONGEST_TEXT]
    return dataclasses.replace(solution, status=status, details=bounded(solution.details))


def _failed(entry: Registration, what: str) -> str:
    return f"{entry.name} ({entry.distribution} {entry.version}) failed: {what}."


def full_text(error: BaseException, module: str) -> str:
    """Return type, place and text of an error, and those of what it came from, one after the other:
    for runs over rows that are no secret."""
    told = [_whole(error, module)]
    while (cause := _cause(error)) is not None and len(told) < _MOST_CAUSES:
        told.append(_whole(cause, module))
        error = cause
    origin = f" (from {'; from '.join(told[1:])})" if len(told) > 1 else ""
    return f"{told[0]}{origin}"


def _whole(error: BaseException, module: str) -> str:
    return ": ".join(filter(None, (type_and_place(error, module), str(error))))


def _cause(error: BaseException) -> BaseException | None:
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def type_and_place(error: BaseException, module: str) -> str:
    """Return an error without its text, which may hold a private value; ``module`` : of the part
    that is looked for."""
    return f"{type(error).__name__} in {_place(error, module)}"


def _place(error: BaseException, module: str) -> str:
    """Return file and line of the innermost frame of a plugin's package, or of any. It is the
    package of this ``module``, or of another part that is registered: a mechanism in its slot."""
    packages = {module.split(".")[0], *_packages()} - {_CORE}
    frames = list(traceback.walk_tb(error.__traceback__))
    own = [f for f in frames if str(f[0].f_globals.get("__name__")).split(".")[0] in packages]
    frame, line = (own or frames)[-1]
    return f"{'/'.join(Path(frame.f_code.co_filename).parts[-2:])}:{line}"


def _packages() -> set[str]:
    """Return the packages whose parts are registered."""
    entries = [entry for kind in KINDS for entry in load_registry().entries(kind)]
    return {entry.target.partition(":")[0].split(".")[0] for entry in entries}
