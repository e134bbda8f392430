"""Weights that even the classes out: from counts of them that are released from the rows of a fit,
out of its own budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.exact.reproducible import ordered_sum
from dpcore.fitting.class_weights import BALANCED, with_weights
from dpcore.fitting.engines import engine_at_hand
from dpcore.fitting.public_facts import Ready, with_default_l2
from dpcore.fitting.reporting import charged_in
from dpcore.fitting.shares import deviation_of, mechanism_for, norm_of, rehearse_run, require_share
from dpcore.noise.source import SeededNoise
from dpcore.queries.columns import CategoricalColumn
from dpcore.queries.histogram import Histogram
from dpcore.session.ledger import Ledger, LedgerEntry
from dpcore.session.session import TableSession

if TYPE_CHECKING:
    from dpcore.data.blocks.table import Table
    from dpcore.fitting.private_bounds import Bounded
    from dpcore.noise.source import NoiseSource
    from dpcore.protocols import Engine
    from dpcore.session.charges import Charges

__all__ = ["SHARE", "Balanced", "balanced_weights", "check_balanced", "with_balanced"]

SHARE = Fraction(1, 20)
"""The part of a run's budget that counts of its classes take, whatever their number."""


@dataclass(frozen=True)
class Balanced:
    """A run's plan and public facts with the weights of its classes, and its budget as it is then.

    Parameters
    ----------
    bounded : its filter after the release.
    stated : the share of the budget that the counts took; ``None`` where nothing was released.
    """

    ready: Ready
    bounded: Bounded
    stated: dict[str, Any] | None = None


def check_balanced(ready: Ready) -> None:
    """Raise InvalidInputError where counts of classes are asked for and the plan, its accountant
    planned, has no budget to share."""
    if ready.plan.settings.class_weight == BALANCED:
        require_share(
            ready.plan,
            "Balanced weights follow from counts of the classes, which are private",
            "Give a public weight for each class",
        )


def with_balanced(
    ready: Ready,
    bounded: Bounded,
    engine: Engine | None,
    table: Table | None,
    noise: NoiseSource,
    on_release: Callable[[TableSession], None] | None,
    charges: Charges,
    ledger: Ledger[LedgerEntry],
) -> Balanced:
    """Return the run with weights that even its classes out, by counts that are released here.

    One release: how many rows are of each class (``Histogram``, with its sensitivity: 1 in l2 under
    add-or-remove-one, the square root of 2 under replace-one), by normal noise where the filter
    holds it, else geometric. Where units have several rows, the door multiplies the sensitivity of
    this sum over rows (``dpcore.session.units``): all rows of a unit may be of one class. Public
    weights stay as they are. ``ready`` has passed ``check_balanced``.

    ``engine`` : over the rows of ``table``; both ``None`` where each class has a fit of its own,
    which has no weights.
    """
    plan, problem = ready.plan, ready.problem
    if plan.settings.class_weight != BALANCED or engine is None or table is None:
        return Balanced(ready, bounded)
    mechanism = mechanism_for(plan.accountant, SHARE)
    schema = bounded.dataset.schema
    label = CategoricalColumn((), schema.label.names)
    query = Histogram(label, norm=norm_of(mechanism))
    asked = bounded.accountant, plan.relation
    none, nobodys = table.without_rows(), Ledger[LedgerEntry]()
    rehearsed: dict[str, Any] = {"problem": problem, "ledger": nobodys}
    of_none = engine_at_hand(plan.engine, none, schema, 1)
    first = TableSession(of_none, *asked, SeededNoise(0), **rehearsed)
    first.release(query, mechanism)
    rehearse_run(ready, none, schema, first, nobodys)
    facts: dict[str, Any] = {"problem": problem, "ledger": ledger}
    session = TableSession(engine, *asked, noise, on_release=on_release, **facts)
    charges.follow(lambda: charged_in(session))
    counts = session.release(query, mechanism)
    floor = max(1.0, deviation_of(mechanism, query, problem))
    plan = with_weights(plan, balanced_weights(counts, floor, plan.settings.largest_weight))
    problem = with_default_l2(replace(problem, loss=plan.loss, l2=plan.settings.l2 or 0.0), plan)
    return Balanced(
        Ready(plan, problem, plan),
        replace(bounded, accountant=session.accountant),
        {"share": float(SHARE)},
    )


def balanced_weights(counts: np.ndarray, floor: float, largest: float) -> tuple[float, ...]:
    """Return the weight n / (K count) of each of K classes, at most ``largest``, from released
    counts: each taken for ``floor`` where it is less, and n for their sum.

    Every weight is from 1 / K to ``largest``. ``floor`` : public, > 0: the noise's deviation, below
    which a count tells nothing.
    """
    held = np.maximum(counts.astype(np.float64), floor)
    weights: list[float] = np.minimum(ordered_sum(held) / (held.size * held), largest).tolist()
    return tuple(weights)
