"""A release before an optimizer's run, for a share of the run's own budget.

What is public of a fit, bounds of columns or weights of classes, may be released from its rows. The
release is charged, like every other one of the run, to the run's filter and ledger; what follows
has what is left, and the filter's own theorem bounds both together. So the filter must be one for
releases that are not fixed beforehand.
"""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcore.accountants.calibrate import noise_multiplier
from dpcore.errors import InvalidInputError
from dpcore.fitting.optimizer_run import run_optimizer
from dpcore.fitting.planning.engines import engine_at_hand
from dpcore.mechanisms.gaussian import Gaussian
from dpcore.mechanisms.geometric import Geometric
from dpcore.noise.source import BULK_SIZE, NoiseSource, SeededNoise
from dpcore.queries.count import RowCount
from dpcore.registry.tables.optimizer_spec import accountant_facts, optimizer_facts
from dpcore.session.session import TableSession

if TYPE_CHECKING:
    import numpy as np

    from dpcore.data.blocks.table import Table
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.planning.planned import Plan
    from dpcore.fitting.planning.ready import Ready
    from dpcore.protocols import Accountant, DerivedQuery, Query, TableQuery
    from dpcore.session.interactive_handle import CachedAnswers
    from dpcore.session.ledger import ChargeLog, LedgerEntry

__all__ = [
    "mechanism_for",
    "norm_of",
    "dry_run_optimizer",
    "require_share",
]


def require_share(plan: Plan, what: str, instead: str) -> None:
    """Raise InvalidInputError where the plan has no budget to share: one whose filter composes
    releases that are not fixed beforehand.

    ``plan`` : its accountant planned. ``what`` : a clause that says what is to be released.
    ``instead`` : what the caller may do without a release.
    """
    stated, accountant = optimizer_facts(plan.optimizer), plan.accountant
    promised, name = accountant_facts(type(accountant)), plan.entry.name
    reasons = {
        "its rows stay with users, who have a budget each": bool(stated.answered_by),
        "its epsilon is an output": bool(stated.targets),
        "the authors' code counts on the whole budget": stated.as_published,
        f"{accountant.name} is no filter of a budget": not (stated.private and promised.private),
        f"the {accountant.name} accountant bounds one release": not promised.holds_several,
        f"the {accountant.name} accountant holds it to a fixed schedule, which has no place for "
        "them; name another one, such as --accountant gdp (accountant='gdp'), or rdp for samples": (
            not accountant.fully_adaptive
        ),
    }
    for reason, holds in reasons.items():
        if holds:
            raise InvalidInputError(
                f"{what}, and {name} cannot leave a share of the budget to their release: "
                f"{reason}. {instead}."
            )


def mechanism_for(accountant: Accountant, share: float | Fraction) -> Any:
    """Return the mechanism of a release of counts that costs this share of the whole budget: what
    it ``needs`` is the norm of their sensitivity.

    Its noise is normal where the filter holds that, else geometric. Raises InvalidInputError for
    a share that is none.
    """
    if not 0 < share <= 1:
        raise InvalidInputError("Expected the share of a release to be above 0, and 1 at most.")
    noise = Gaussian if accountant.supports(Gaussian.nominal_event(1.0)) else Geometric
    cost = Fraction(share) * Fraction(accountant.budget)
    return noise(noise_multiplier(accountant, noise.nominal_event, cost))


def norm_of(mechanism: Any) -> Any:
    return mechanism.needs


class _DryRunEnded(BaseException):
    """A run over no rows came to its first release. No error, for optimizers that catch those."""


class _NoRows(TableSession):
    """A session over no rows in the place of so many as are public: a pass through the table, or a
    sample of a fixed size, which hold that number, end the dry run where rows would be asked. No
    session loads their kernels before a charge (``dpcore.session.dry_run``)."""

    def _exact(
        self, query: Query | DerivedQuery | TableQuery, known: CachedAnswers = ()
    ) -> np.ndarray:
        if self.relation.size_is_public and hasattr(query, "answer_table"):
            raise _DryRunEnded
        return super()._exact(query, known)


def dry_run_optimizer(
    ready: Ready, table: Table, schema: Schema, left: Accountant, ledger: ChargeLog[LedgerEntry]
) -> TableSession:
    """Run the algorithm on an empty table before any charge, to load what it needs and raise what
    refuses it. It goes on to the first release, with noise of its own. Returns the session after
    that release, for what it knows of the parts. ``table`` : one of no rows, encoded by ``schema``.
    ``left`` : the run's filter, and ``ledger`` the charges, after the releases before it."""
    plan, problem = ready.plan, ready.problem
    NoiseSource.load_kernels(BULK_SIZE)
    usual = _NoRows(
        engine_at_hand(plan.engine, table, schema, 1),
        ready.part_of(left),
        plan.relation,
        SeededNoise(0),
        on_release=_stop,
        problem=problem,
        ledger=ledger,
    )
    usual.dry_run(RowCount("l2"))
    with suppress(_DryRunEnded):
        run_optimizer(plan.optimizer, plan.entry, problem, usual, secret_rows=True)
    return usual


def _stop(session: TableSession) -> None:
    raise _DryRunEnded
