"""Bounds released from the rows of a fit, out of its own budget, before the rows are encoded."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.accountants.calibrate import noise_multiplier
from dpcore.bounds.choice import CountNoise, are_defaults, bounds_of
from dpcore.bounds.counts import BinCounts
from dpcore.bounds.waiting import WaitingRows, bounded_schema, encoded_rows, rehearsed_rows
from dpcore.errors import InvalidInputError
from dpcore.fitting.engines import engine_at_hand
from dpcore.fitting.optimizer_run import run_optimizer
from dpcore.fitting.reporting import charged_in
from dpcore.mechanisms.gaussian import Gaussian
from dpcore.mechanisms.geometric import Geometric
from dpcore.noise.source import SeededNoise
from dpcore.queries.count import RowCount
from dpcore.registry.declarations import accountant_facts, optimizer_facts
from dpcore.session.rehearsal import load_noise
from dpcore.session.session import TableSession
from dpcore.session.units import sensitivity_of_units

if TYPE_CHECKING:
    from dpcore.data.dataset import Dataset
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.plan import Plan
    from dpcore.fitting.public_facts import Ready
    from dpcore.noise.source import NoiseSource
    from dpcore.protocols import Accountant, DerivedQuery, Query, TableQuery
    from dpcore.protocols.problem import Problem
    from dpcore.session.charges import Charges
    from dpcore.session.exchange import Known
    from dpcore.session.ledger import LedgerEntry

__all__ = ["SHARE", "Bounded", "check_private_bounds", "with_bounds"]

SHARE = Fraction(1, 10)
"""The part of a run's budget that its private bounds take, whatever their number."""


@dataclass(frozen=True)
class Bounded:
    """Encoded rows, and the run's budget as it is then.

    Parameters
    ----------
    accountant : the filter after the release of the bounds.
    charged : the ledger so far.
    stated : columns and share of the bounds that were released, and the columns in which no rows
        were seen, if any; ``None`` for none.
    """

    dataset: Dataset
    accountant: Accountant
    charged: tuple[LedgerEntry, ...] = ()
    stated: dict[str, Any] | None = None


def check_private_bounds(plan: Plan, schema: Schema) -> None:
    """Raise InvalidInputError where bounds are private and the plan has no budget to share: one
    whose filter composes releases that are not fixed beforehand.

    ``plan`` : its accountant planned.
    """
    if not schema.unbounded:
        return
    stated, accountant = optimizer_facts(plan.optimizer), plan.accountant
    promised, name = accountant_facts(type(accountant)), plan.entry.name
    reasons = {
        "its rows stay with users, who have a budget each": "user-pool" in stated.needs,
        "its epsilon is an output": bool(stated.targets),
        "the authors' code counts on the whole budget": stated.as_published,
        f"{accountant.name} is no filter of a budget": not (stated.private and promised.private),
        f"the {accountant.name} accountant bounds one release": not promised.holds_several,
        f"the {accountant.name} accountant holds it to a fixed schedule, which has no place for "
        "them; name another one, such as --accountant gdp": not accountant.fully_adaptive,
    }
    for reason, holds in reasons.items():
        if holds:
            raise InvalidInputError(
                f"The bounds of column {schema.unbounded[0].name!r} are private, and {name} cannot "
                f"leave a share of the budget to their release: {reason}. Give public bounds."
            )


def with_bounds(
    ready: Ready,
    dataset: Dataset,
    noise: NoiseSource,
    on_release: Callable[[TableSession], None] | None,
    charges: Charges,
) -> Bounded:
    """Return the rows encoded, columns in waiting by bounds that are released here.

    One release: noisy counts of cells in public bins (``BinCounts``), normal noise where the filter
    holds it, else geometric; the bounds follow from these (``bounds_of``). It is charged, like
    every other release of the run, to the run's filter and ledger, ``SHARE`` of the budget at most,
    and what follows has what is left: the filter's own theorem bounds both together. Where units
    have several rows, the door multiplies the sensitivity of this sum over the rows that are kept
    (``dpcore.session.units``). ``ready`` has passed ``check_private_bounds``.

    There is no exponential mechanism beside it, on ranks and for two quantiles of each column
    (Kaplan, Schnapp & Stemmer 2022): at the same price a fit is as accurate. Of models of adult and
    bank at epsilon .1, .4 and 2, pure and under zCDP, it is better by .09 points at most and worse
    by up to .17 (``bench/private_bounds_exponential.py``, eight fits each).
    """
    plan, schema = ready.plan, dataset.schema
    if not schema.unbounded:
        return Bounded(dataset, plan.accountant)
    query, mechanism, spread = _release_of(plan.accountant, len(schema.unbounded))
    _rehearse(ready, dataset, query, mechanism)
    engine, asked = WaitingRows(dataset), (plan.accountant, plan.relation, noise, on_release)
    session = TableSession(engine, *asked, problem=ready.problem)
    charges.follow(lambda: charged_in(session))
    counts = session.release(query, mechanism).reshape(query.n_columns, -1)
    deviation = spread * mechanism.noise_multiplier * _moved(query, ready.problem)
    added = CountNoise(deviation, isinstance(mechanism, Gaussian), query.n_columns)
    bounds, unseen = {}, []
    for column, own in zip(schema.unbounded, counts, strict=True):
        released = own, added, column.lower, column.upper
        bounds[column.name] = bounds_of(*released)
        unseen += [column.name] if are_defaults(*released) else []
    return Bounded(
        encoded_rows(dataset, bounded_schema(schema, bounds)),
        session.accountant,
        session.ledger,
        {"columns": list(bounds), "share": float(SHARE), **({"unseen": unseen} if unseen else {})},
    )


def _release_of(
    accountant: Accountant, n_columns: int
) -> tuple[BinCounts, Gaussian | Geometric, float]:
    """Return the query, its mechanism for the share, and the deviation of the noise over its
    scale."""
    cost = SHARE * Fraction(accountant.budget)
    if accountant.supports(Gaussian.nominal_event(1.0)):
        normal = Gaussian(noise_multiplier(accountant, Gaussian.nominal_event, cost))
        return BinCounts(n_columns, "l2"), normal, 1.0
    pure = Geometric(noise_multiplier(accountant, Geometric.nominal_event, cost))
    return BinCounts(n_columns, "l1"), pure, 2**0.5


def _moved(query: BinCounts, problem: Problem) -> float:
    """Return how far the counts of neighbouring tables are apart at most."""
    k, relation = problem.rows_per_unit, problem.relation
    of_rows = query.sensitivity(relation)
    return (of_rows if k is None else sensitivity_of_units(query, relation, k)).bound


class _Rehearsed(BaseException):
    """A run over no rows came to its first release. No error, for optimizers that catch those."""


class _NoRows(TableSession):
    """A session over no rows in the place of so many as are public: a pass through the table, or a
    sample of a fixed size, which hold that number, end the rehearsal where rows would be asked. No
    session loads their kernels before a charge (``dpcore.session.rehearsal``)."""

    def _exact(self, query: Query | DerivedQuery | TableQuery, known: Known = ()) -> np.ndarray:
        if self.relation.size_is_public and hasattr(query, "answer_table"):
            raise _Rehearsed
        return super()._exact(query, known)


def _rehearse(
    ready: Ready, dataset: Dataset, query: BinCounts, mechanism: Gaussian | Geometric
) -> None:
    """Load what the run needs, and raise what refuses it, before any charge: the run goes over no
    rows, with noise that is nobody's, up to the first release after that of the bounds."""
    plan, schema, problem = ready.plan, dataset.schema, ready.problem
    load_noise(in_bulk=True)
    none = dataset.take(np.zeros(dataset.X.shape[0], dtype=bool))
    table, nobodys = rehearsed_rows(dataset, schema).table(), SeededNoise(0)
    asked = plan.accountant, plan.relation, nobodys
    first = TableSession(WaitingRows(none), *asked, problem=problem)
    first.release(query, mechanism)
    usual = _NoRows(
        engine_at_hand(plan.engine, table, dataset.schema, 1),
        first.accountant,
        *asked[1:],
        on_release=_stop,
        problem=problem,
        earlier=first.ledger,
    )
    usual.rehearse(RowCount("l2"))
    with suppress(_Rehearsed):
        run_optimizer(plan.optimizer, plan.entry, problem, usual, secret_rows=True)


def _stop(session: TableSession) -> None:
    raise _Rehearsed
