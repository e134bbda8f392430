"""Run the checks: one by one for ``dpcore check``, or as pytest parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcore.fitting.optimizer_run import full_text
from dpcore.fitting.pools import load_pool
from dpcore.registry.catalogue import load_registry
from dpcore.registry.declarations import optimizer_facts
from dpcore.testing.guard import require_assertions
from dpcore.testing.optimizers import checks_of_sessions
from dpcore.testing.parts import foreign_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpcore.protocols.optimizer import Optimizer

__all__ = ["parametrize_with_checks", "run_checks"]


def checks_of(optimizer: Optimizer) -> tuple[Callable[[Any], None], ...]:
    """Return the checks that apply: of the session, or of the users that it asks."""
    if "user-pool" in optimizer.needs:
        return load_pool(load_registry()).checks()
    return checks_of_sessions(optimizer)


def run_checks(optimizer: Optimizer) -> list[tuple[str, bool, str]]:
    """Return (check, passed, reason) for every check, in order; a reason only where it failed.

    One more row, which cannot fail, names the mechanisms and queries that are not dpcore's own.
    """
    require_assertions()
    results = []
    for check in checks_of(optimizer):
        try:
            check(optimizer)
        except AssertionError as error:
            results.append((check.__name__, False, f"{type(error).__name__}: {error}"))
        except Exception as error:  # Its text may be shown: the checks make their own rows.
            reason = full_text(error, type(optimizer).__module__)
            results.append((check.__name__, False, reason))
        else:
            results.append((check.__name__, True, ""))
    if not optimizer_facts(type(optimizer)).private:
        return [*results, ("not_private", True, "it is given exact answers, and promises nothing")]
    return results + _foreign_row(optimizer)


def _foreign_row(optimizer: Optimizer) -> list[tuple[str, bool, str]]:
    if "user-pool" in optimizer.needs:
        return []  # Users run the parts that the terms name, which are dpcore's own.
    try:
        parts = foreign_parts(optimizer)
    except Exception:  # It does not run at all, as the checks before have said.
        return []
    told = f"also runs on exact answers, and is to be trusted: {', '.join(parts)}"
    return [("foreign_parts", True, told)] if parts else []


def parametrize_with_checks(optimizers: Iterable[Optimizer]) -> Callable[[Any], Any]:
    """Return a pytest decorator: the test gets every pair of ``optimizer`` and ``check``."""
    require_assertions()
    import pytest

    pairs = [
        pytest.param(optimizer, check, id=f"{type(optimizer).__name__}-{check.__name__}")
        for optimizer in optimizers
        for check in checks_of(optimizer)
    ]
    return pytest.mark.parametrize(("optimizer", "check"), pairs)
