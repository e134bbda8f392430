"""Bounds released from the rows of a fit, out of its own budget, before the rows are encoded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.bounds.choice import CountNoise, are_defaults, bounds_of
from dpcore.bounds.counts import BinCounts
from dpcore.bounds.waiting import WaitingRows, bounded_schema, encoded_rows, rehearsed_rows
from dpcore.fitting.reporting import charged_in
from dpcore.fitting.shares import deviation_of, mechanism_for, norm_of, rehearse_run, require_share
from dpcore.mechanisms.gaussian import Gaussian
from dpcore.noise.source import SeededNoise
from dpcore.session.ledger import Ledger, LedgerEntry
from dpcore.session.session import TableSession

if TYPE_CHECKING:
    from dpcore.data.dataset import Dataset
    from dpcore.data.schema.schema import Schema
    from dpcore.fitting.plan import Plan
    from dpcore.fitting.public_facts import Ready
    from dpcore.mechanisms.geometric import Geometric
    from dpcore.noise.source import NoiseSource
    from dpcore.protocols import Accountant
    from dpcore.session.charges import Charges

__all__ = ["SHARE", "Bounded", "check_private_bounds", "with_bounds"]

SHARE = Fraction(1, 10)
"""The part of a run's budget that its private bounds take, whatever their number."""


@dataclass(frozen=True)
class Bounded:
    """Encoded rows, and the run's budget as it is then.

    Parameters
    ----------
    accountant : the filter after the release of the bounds.
    stated : columns and share of the bounds that were released, and the columns in which no rows
        were seen, if any; ``None`` for none.
    """

    dataset: Dataset
    accountant: Accountant
    stated: dict[str, Any] | None = None


def check_private_bounds(plan: Plan, schema: Schema) -> None:
    """Raise InvalidInputError where bounds are private and the plan has no budget to share: one
    whose filter composes releases that are not fixed beforehand.

    ``plan`` : its accountant planned.
    """
    if not schema.unbounded:
        return
    column = schema.unbounded[0].name
    require_share(plan, f"The bounds of column {column!r} are private", "Give public bounds")


def with_bounds(
    ready: Ready,
    dataset: Dataset,
    noise: NoiseSource,
    on_release: Callable[[TableSession], None] | None,
    charges: Charges,
    ledger: Ledger[LedgerEntry],
    accountant: Accountant,
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

    ``accountant`` : the plan's, charged perhaps for what is released after the run.
    """
    plan, schema = ready.plan, dataset.schema
    if not schema.unbounded:
        return Bounded(dataset, accountant)
    mechanism = mechanism_for(plan.accountant, SHARE)
    query = BinCounts(len(schema.unbounded), norm_of(mechanism))
    _rehearse(ready, accountant, dataset, query, mechanism)
    engine, asked = WaitingRows(dataset), (accountant, plan.relation, noise, on_release)
    session = TableSession(engine, *asked, problem=ready.problem, ledger=ledger)
    charges.follow(lambda: charged_in(session))
    counts = session.release(query, mechanism).reshape(query.n_columns, -1)
    deviation = deviation_of(mechanism, query, ready.problem)
    added = CountNoise(deviation, isinstance(mechanism, Gaussian), query.n_columns)
    bounds, unseen = {}, []
    for column, own in zip(schema.unbounded, counts, strict=True):
        released = own, added, column.lower, column.upper
        bounds[column.name] = bounds_of(*released)
        unseen += [column.name] if are_defaults(*released) else []
    return Bounded(
        encoded_rows(dataset, bounded_schema(schema, bounds)),
        session.accountant,
        {"columns": list(bounds), "share": float(SHARE), **({"unseen": unseen} if unseen else {})},
    )


def _rehearse(
    ready: Ready,
    accountant: Accountant,
    dataset: Dataset,
    query: BinCounts,
    mechanism: Gaussian | Geometric,
) -> None:
    """Make the release of no rows, and what follows it (``rehearse_run``)."""
    plan, problem = ready.plan, ready.problem
    none = dataset.take(np.zeros(dataset.X.shape[0], dtype=bool))
    table, nobodys = rehearsed_rows(dataset, dataset.schema).table(), SeededNoise(0)
    ledger = Ledger[LedgerEntry]()
    asked = accountant, plan.relation, nobodys
    first = TableSession(WaitingRows(none), *asked, problem=problem, ledger=ledger)
    first.release(query, mechanism)
    rehearse_run(ready, table, dataset.schema, first, ledger)
