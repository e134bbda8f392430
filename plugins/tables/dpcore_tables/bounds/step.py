"""Bounds released from the rows of a fit, out of its own budget, before the rows are encoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from dpcore.plugin import Gaussian
from dpcore.plugin.steps import Outcome, Phase, StepSession, mechanism_for
from dpcore_tables.bounds.choice import CountNoise, are_defaults, bounds_of
from dpcore_tables.bounds.counts import BinCounts
from dpcore_tables.bounds.target import share_beyond, target_bounds_of
from dpcore_tables.bounds.unbounded import UnboundedLabel

if TYPE_CHECKING:
    from dpcore import Schema
    from dpcore.plugin import Geometric
    from dpcore.plugin.parts import Mechanism, Query
    from dpcore.plugin.steps import PublicFacts

__all__ = ["SHARE", "BoundsRelease", "PrivateBounds"]

SHARE = Fraction(1, 10)
"""The part of a run's budget that its private bounds take, whatever their number."""


@dataclass(frozen=True)
class PrivateBounds:
    """Noisy bounds of the columns for which a schema has none.

    One release: noisy counts of cells in public bins (``BinCounts``), normal noise where the filter
    holds it, else geometric; the bounds follow from these (``bounds_of``). It is charged, like
    every other release of the run, to the run's filter and ledger, ``share`` of the budget at most,
    and what follows has what is left. Where units have several rows, the session multiplies the
    sensitivity of this sum over the rows that are kept (``dpcore.session.unit_sensitivity``).

    There is no exponential mechanism beside it, on ranks and for two quantiles of each column
    (Kaplan, Schnapp & Stemmer 2022): at the same price a fit is as accurate. Of models of adult and
    bank at epsilon .1, .4 and 2, pure and under zCDP, it is better by .09 points at most and worse
    by up to .17 (``bench/private_bounds_exponential.py``, eight fits each).

    Parameters
    ----------
    share : of the budget.

    Examples
    --------
    >>> import numpy as np
    >>> from dpcore import PrivateBounds, fit
    >>> X, y = np.array([[0.0], [20.0], [90.0], [99.0]] * 50), np.array([0, 0, 1, 1] * 50)
    >>> model = fit(X, y, classes=(0, 1), epsilon=5.0, also=[PrivateBounds()])
    >>> model.privacy["private_bounds"]["share"]
    0.1
    """

    name: ClassVar[str] = "private_bounds"
    phase: ClassVar[Phase] = Phase.SCHEMA
    needs: ClassVar[frozenset[str]] = frozenset({"adaptive-filter", "rows-here"})
    rows: ClassVar[str] = "waiting"
    asks: ClassVar[str] = "The bounds of column {column} are private"
    instead: ClassVar[str] = "Give public bounds"

    share: Fraction = SHARE

    def check(self, facts: PublicFacts) -> BoundsRelease:
        """Return the release of the counts (``RunStep``)."""
        share = StepSession.exact_share(self.share, "PrivateBounds")
        mechanism = mechanism_for(facts.accountant, share)
        query = BinCounts(len(facts.schema.unbounded), mechanism.needs)
        return BoundsRelease(share, facts.schema, query, mechanism)


@dataclass(frozen=True, eq=False)
class BoundsRelease:
    """Counts of cells in bins (``Request``). ``mechanism`` : costs the share, at most."""

    share: Fraction
    schema: Schema
    query: BinCounts
    mechanism: Gaussian | Geometric
    stated: ClassVar[None] = None

    @property
    def releases(self) -> Sequence[tuple[Query, Mechanism]]:
        """The one."""
        return ((self.query, self.mechanism),)

    def run(self, session: StepSession, view: PublicFacts) -> Outcome:
        """Return the bounds that follow.

        Stated are columns and share, the columns in which no rows were seen, if any, and of a
        target the noisy shares of rows in its last bins and beyond its bounds (``share_beyond``).
        """
        n_columns = self.query.n_columns
        counts = session.release(self.query, self.mechanism).reshape(n_columns, -1)
        deviation = session.deviation(self.query, self.mechanism)
        added = CountNoise(deviation, isinstance(self.mechanism, Gaussian), n_columns)
        bounds: dict[str, tuple[float, float]] = {}
        unseen, ends = [], {}
        for column, own in zip(self.schema.unbounded, counts, strict=True):
            released = own, added, column.lower, column.upper
            is_target = isinstance(column, UnboundedLabel)
            bounds[column.name] = (target_bounds_of if is_target else bounds_of)(*released)
            unseen += [column.name] if are_defaults(*released) else []
            if is_target:
                shares = share_beyond(own, added, *bounds[column.name])
                ends = dict(zip(("last", "beyond", "error"), shares, strict=True))
        stated: dict[str, Any] = {"columns": list(bounds), "share": float(self.share)}
        stated |= {"unseen": unseen} if unseen else {}
        stated |= {"target_shares": ends} if ends else {}
        return Outcome(bounds=bounds, stated=stated)
