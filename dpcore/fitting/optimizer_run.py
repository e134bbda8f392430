"""The run of an optimizer, and the report of its failure.

An error in a run is reported by type and place; by its own text, which may hold a private value,
only where the rows are no secret.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from dpcore.errors import DpcoreError, OptimizerError, full_text, replacing, type_and_place
from dpcore.model.details import LONGEST_TEXT, bounded
from dpcore.privacy.immutable import private_copy
from dpcore.protocols.problem import Problem, Solution
from dpcore.registry.catalogue import KINDS, Registration, load_registry

if TYPE_CHECKING:
    from dpcore.protocols.optimizer import Optimizer
    from dpcore.protocols.session import PrivacySession

__all__ = ["packages_of", "run_optimizer"]

_CORE = "dpcore"


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
        failure = OptimizerError(
            _failed(entry, told(error, packages_of(type(optimizer).__module__)))
        )
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


def packages_of(module: str) -> set[str]:
    """Return the packages that an error is placed in: that of a part's module, and those of parts
    that are registered, such as a mechanism in its slot."""
    entries = [entry for kind in KINDS for entry in load_registry().entries(kind)]
    named = (module, *(entry.target.partition(":")[0] for entry in entries))
    return {name.split(".")[0] for name in named} - {_CORE}
