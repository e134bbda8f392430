"""The releases of one recorded run, each with the exact answers of two neighbours that are as far
apart as made rows bring them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.audit.pairs import ROW_NORM
from dpcore.errors import InvalidInputError
from dpcore.noise.source import SeededNoise
from dpcore.privacy.sensitivity import NeighboringRelation, Sensitivity
from dpcore.session.units import sensitivity_of_units
from dpcore.testing.answers import exact_answer, unsampled
from dpcore.testing.contributions import contributions, vectors_of
from dpcore.testing.recording import RecordingSession
from dpcore.testing.replay import distance
from dpcore.testing.tables import SEVERAL, Rows, stretching_rows
from dpcore.testing.tape import Played, PlayedNoise, Tape, TapedNoise

if TYPE_CHECKING:
    from dpcore.audit.fits import Fits
    from dpcore.audit.pairs import Side
    from dpcore.privacy.events import DpEvent

__all__ = ["Release", "releases_of"]


@dataclass(frozen=True)
class Release:
    """A release at the exact answers of two neighbours.

    ``share`` : how far they are apart, of the sensitivity; above 1 the sensitivity is false.
    A sample's release is looked at as it is when the row is in the sample. Where units have several
    rows, they are alike, and the sensitivity is that between units.
    """

    kind: str
    mechanism: Any
    sensitivity: Sensitivity
    here: np.ndarray
    there: np.ndarray
    share: float

    @property
    def event(self) -> DpEvent:
        event: DpEvent = self.mechanism.event(self.sensitivity)
        return event


def releases_of(fits: Fits, seed: int) -> tuple[list[Release], list[str]]:
    """Return a release of each kind and mechanism of a run, the last one: an algorithm that grows
    its steps' budgets spends most there. And the names of those that are not looked at."""
    session, rows = _recorded(fits, seed)
    parts = {(query.kind, type(part).__name__): (query, part) for query, part in session.parts}
    found, left = [], []
    for (kind, name), (query, part) in parts.items():
        if hasattr(part, "release"):
            found.append(_release(fits, query, part, rows))
        else:
            left.append(f"{kind} by {name}, which goes on over several steps")
    return found, left


def _recorded(fits: Fits, seed: int) -> tuple[RecordingSession, Rows]:
    from dpcore.fitting.public_facts import check_dataset

    plan = fits.plan
    if "user-pool" in plan.optimizer.needs:
        raise InvalidInputError(
            f"{fits.request.algo} asks users, each with a session of their own: audit its final "
            "model, by --method two-world."
        )
    dataset, table = fits.rows(0, 0)
    ready = check_dataset(plan, dataset)
    accountant, relation = ready.of_each.accountant, plan.relation
    noise = SeededNoise(seed)
    session = RecordingSession(table, accountant, relation, noise, ready.problem)
    ready.plan.optimizer.minimize(ready.problem, session)
    n_classes = SEVERAL if ready.problem.n_margins > 1 else 2
    side = fits.pairs[0].here
    public: dict[str, Any] = {"row_norm": ROW_NORM, "raw_norm_bound": dataset.raw_norm_bound}
    return session, Rows(side.X, side.y, n_classes=n_classes, **public)


def _release(fits: Fits, query: Any, mechanism: Any, rows: Rows) -> Release:
    query = unsampled(query)
    relation, k = fits.plan.relation, fits.request.rows_per_unit
    of_unit = k > 1
    sensitivity = (
        sensitivity_of_units(query, relation, k) if of_unit else query.sensitivity(relation)
    )
    # A unit that a sum scales down as a whole is as large with one row as with several.
    alike = k if of_unit and not getattr(type(query), "clips_units", False) else 1
    apart = partial(_apart, mechanism, sensitivity)
    if hasattr(query, "answer_block"):
        here, there = _of_sum(query, rows, relation, apart, alike)
    else:
        pairs = [_of_table(query, rows, pair.here, pair.there) for pair in fits.pairs]
        here, there = max(pairs, key=lambda pair: apart(*pair))
    share = distance(here, there, sensitivity)
    return Release(query.kind, mechanism, sensitivity, here, there, share)


def _apart(mechanism: Any, sensitivity: Sensitivity, here: np.ndarray, there: np.ndarray) -> float:
    """Return how far apart answers are for a mechanism: a selection does not see what all scores
    have in common."""
    if mechanism.needs == "range":
        return float(np.ptp(there.astype(np.float64) - here))
    return distance(here, there, sensitivity)


def _of_sum(
    query: Any,
    rows: Rows,
    relation: NeighboringRelation,
    apart: Callable[..., float],
    alike: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the answer of a table without one of its rows, and with another row or none in its
    place, for the two of many extreme rows that are furthest apart; ``alike`` : how often each is
    there."""
    width = rows.X.shape[1]
    vectors = vectors_of(query, width, rows.n_classes)
    extreme = stretching_rows(width, vectors, rows.n_classes)
    parts = alike * contributions(query, replace(rows, X=extreme.X, y=extreme.y))
    others = parts if relation is NeighboringRelation.REPLACE_ONE else np.zeros_like(parts[:1])
    best, ends = -1.0, (parts[0], others[0])
    for part in parts:
        for other in others:
            if (found := apart(part, other)) > best:
                best, ends = found, (part, other)
    common = exact_answer(query, replace(rows, X=rows.X[:-1], y=rows.y[:-1]))
    return common + ends[0], common + ends[1]


def _of_table(query: Any, rows: Rows, one: Side, other: Side) -> tuple[np.ndarray, np.ndarray]:
    """Return the answers of two tables; secret random choices are the same for both."""
    tape, played = Tape(SeededNoise(1)._entropy), Played()
    tape.kept = []
    here = exact_answer(query, replace(rows, X=one.X, y=one.y), TapedNoise(tape))
    played.left = tape.kept
    return here, exact_answer(query, replace(rows, X=other.X, y=other.y), PlayedNoise(played, 0))
