"""Bounds released from the rows of a fit, out of its own budget, before the rows are encoded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpcore.bounds.choice import CountNoise, are_defaults, bounds_of
from dpcore.bounds.counts import BinCounts
from dpcore.bounds.waiting import WaitingRows, bounded_schema, encoded_rows
from dpcore.fitting.shares import deviation_of, mechanism_for, norm_of, require_share
from dpcore.fitting.steps import Outcome, Phase
from dpcore.mechanisms.gaussian import Gaussian

if TYPE_CHECKING:
    from dpcore.fitting.steps import RunView
    from dpcore.mechanisms.geometric import Geometric
    from dpcore.protocols import Engine
    from dpcore.protocols.problem import Problem
    from dpcore.session.session import TableSession

__all__ = ["SHARE", "BoundsRelease", "PrivateBounds"]

SHARE = Fraction(1, 10)
"""The part of a run's budget that its private bounds take, whatever their number."""


@dataclass(frozen=True)
class PrivateBounds:
    """The release of the bounds that a schema lacks.

    One release: noisy counts of cells in public bins (``BinCounts``), normal noise where the filter
    holds it, else geometric; the bounds follow from these (``bounds_of``). It is charged, like
    every other release of the run, to the run's filter and ledger, ``share`` of the budget at most,
    and what follows has what is left. Where units have several rows, the door multiplies the
    sensitivity of this sum over the rows that are kept (``dpcore.session.units``).

    There is no exponential mechanism beside it, on ranks and for two quantiles of each column
    (Kaplan, Schnapp & Stemmer 2022): at the same price a fit is as accurate. Of models of adult and
    bank at epsilon .1, .4 and 2, pure and under zCDP, it is better by .09 points at most and worse
    by up to .17 (``bench/private_bounds_exponential.py``, eight fits each).
    """

    share: Fraction = SHARE

    def check(self, view: RunView) -> BoundsRelease:
        """Return the release of the counts (``RunStep``)."""
        plan, unbounded = view.ready.plan, view.dataset.schema.unbounded
        column = unbounded[0].name
        require_share(plan, f"The bounds of column {column!r} are private", "Give public bounds")
        mechanism = mechanism_for(plan.accountant, self.share)
        query = BinCounts(len(unbounded), norm_of(mechanism))
        return BoundsRelease(self.share, view.ready.problem, query, mechanism)


@dataclass(frozen=True, eq=False)
class BoundsRelease:
    """Counts of cells in bins (``Request``). ``mechanism`` : costs the share, at most."""

    share: Fraction
    problem: Problem
    query: BinCounts
    mechanism: Gaussian | Geometric
    name = "private_bounds"
    phase = Phase.SCHEMA
    stated = None

    def over(self, view: RunView) -> Engine:
        """Return an engine over the cells as they are."""
        return WaitingRows(view.dataset)

    def over_none(self, view: RunView) -> Engine:
        """Return one over none of them."""
        rows = view.dataset
        return WaitingRows(rows.take(np.zeros(rows.X.shape[0], dtype=bool)))

    def rehearse(self, session: TableSession, view: RunView) -> None:
        """Make the release."""
        session.release(self.query, self.mechanism)

    def run(self, session: TableSession, view: RunView) -> Outcome:
        """Return the rows encoded by the bounds that follow.

        Stated are columns and share, and the columns in which no rows were seen, if any.
        """
        schema, n_columns = view.dataset.schema, self.query.n_columns
        counts = session.release(self.query, self.mechanism).reshape(n_columns, -1)
        deviation = deviation_of(self.mechanism, self.query, self.problem)
        added = CountNoise(deviation, isinstance(self.mechanism, Gaussian), n_columns)
        bounds, unseen = {}, []
        for column, own in zip(schema.unbounded, counts, strict=True):
            released = own, added, column.lower, column.upper
            bounds[column.name] = bounds_of(*released)
            unseen += [column.name] if are_defaults(*released) else []
        rows = encoded_rows(view.dataset, bounded_schema(schema, bounds))
        stated = {"columns": list(bounds), "share": float(self.share)}
        return Outcome(replace(view, dataset=rows), stated | ({"unseen": unseen} if unseen else {}))
