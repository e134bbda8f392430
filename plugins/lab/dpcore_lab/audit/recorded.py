"""The releases of one recorded run, each with the exact answers of two neighbours that are as far
apart as made rows bring them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import (
    LocalEngine,
    SeededNoise,
    Sensitivity,
    optimizer_facts,
)
from dpcore_accounting.events.objective_perturbation import ObjectivePerturbationDpEvent
from dpcore_lab.audit.pairs import ROW_NORM
from dpcore_lab.audit.transcripts import Transcripts
from dpcore_lab.made_tables.contributions import contributions, vectors_of
from dpcore_lab.made_tables.tables import SEVERAL, Rows, stretching_rows
from dpcore_lab.replay.answers import exact_answer, unsampled
from dpcore_lab.replay.recorded_noise import (
    NoiseRecorder,
    ReplayedNoise,
    ReplayedWords,
    WordRecorder,
)
from dpcore_lab.replay.recording import QUESTION, REFERENCE, RecordingSession
from dpcore_lab.replay.replay import distance

if TYPE_CHECKING:
    from dpcore.plugin.parts import DpEvent
    from dpcore_lab.audit.fits import Fits
    from dpcore_lab.audit.pairs import Side

__all__ = ["Release", "releases_of"]


@dataclass(frozen=True)
class Release:
    """A release at the exact answers of two neighbours.

    ``share`` : how far they are apart, of the sensitivity; above 1 the sensitivity is false.
    Where units have several rows, they are alike, and the sensitivity is that between units.
    ``tables`` : pairs of tables that ``query`` is asked of in each draw, where its answer is a
    random one: of a sample, which the tables' only row joins by its coin, or with noise in it.
    ``place`` : which of its kind it is, empty where the run has one.
    """

    kind: str
    mechanism: Any
    sensitivity: Sensitivity
    here: np.ndarray
    there: np.ndarray
    share: float
    place: str = ""
    query: Any = None
    tables: tuple[tuple[Rows, Rows], ...] = ()

    @property
    def name(self) -> str:
        return f"{self.place} {self.kind}".strip() + f" by {type(self.mechanism).__name__}"

    @property
    def event(self) -> DpEvent:
        event: DpEvent = self.mechanism.event(self.sensitivity)
        if hasattr(self.query, "sampled_event"):
            event = self.query.sampled_event(event, self.sensitivity.relation)
        return event

    def engines(self) -> list[tuple[LocalEngine, ...]]:
        return [tuple(LocalEngine(rows.table()) for rows in pair) for pair in self.tables]

    def answers(self, pair: int) -> dict[str, list[Any]]:
        """Return exact answers of two neighbours in steps, or their rows and labels."""
        ends = dict(here=self.here, there=self.there)
        if self.tables:
            both = zip(ends, self.tables[pair], strict=True)
            ends = {name: np.column_stack((rows.X, rows.y)) for name, rows in both}
        return {name: end.tolist() for name, end in ends.items()}


def releases_of(fits: Fits, seed: int) -> list[Release | Transcripts]:
    """Return the first and the last release of each kind and mechanism of a run: of an algorithm
    whose steps' budgets or questions change those are furthest from each other."""
    session, rows = _recorded(fits, seed)
    started = [r for r in session.records if r.mechanism not in (QUESTION, REFERENCE)]
    kinds: dict[tuple[str, str], list[int]] = {}
    for k, (query, part) in enumerate(session.parts):
        kinds.setdefault((query.kind, type(part).__name__), []).append(k)
    found: list[Release | Transcripts] = []
    for places in kinds.values():
        ends = {"": places[0]} if len(places) == 1 else {"first": places[0], "last": places[-1]}
        for place, k in ends.items():
            query, part = session.parts[k]
            if hasattr(part, "release"):
                found.append(replace(_release(fits, session, query, part, rows), place=place))
            else:
                found.append(Transcripts(part, fits.plan.relation, started[k].exact.size, place))
    return found


def _recorded(fits: Fits, seed: int) -> tuple[RecordingSession, Rows]:
    from dpcore.plugin.commands import Run

    plan = fits.plan
    if optimizer_facts(plan.optimizer).answered_by:
        raise InvalidInputError(
            f"{fits.request.algo} asks users, each with a session of their own: audit its final "
            "model, by --method two-world."
        )
    dataset, table = fits.rows(0, 0)
    ready = Run(plan, dataset).ready()
    accountant, relation = ready.of_each.accountant, plan.relation
    noise = SeededNoise(seed)
    session = RecordingSession(table, accountant, relation, noise, ready.problem)
    ready.plan.optimizer.minimize(ready.problem, session)
    n_classes = SEVERAL if ready.problem.n_margins > 1 else 2
    side = fits.pairs[0].here
    public: dict[str, Any] = {"row_norm": ROW_NORM, "raw_norm_bound": dataset.raw_norm_bound}
    return session, Rows(side.X, side.y, n_classes=n_classes, **public)


def _release(
    fits: Fits, session: RecordingSession, asked: Any, mechanism: Any, rows: Rows
) -> Release:
    query = unsampled(asked)
    relation, k = fits.plan.relation, fits.request.rows_per_unit
    of_unit = k > 1
    sensitivity = session.sensitivity_of(query)
    # A unit that a sum scales down as a whole is as large with one row as with several.
    alike = k if of_unit and not getattr(type(query), "clips_units", False) else 1
    sizes = partial(_sizes, mechanism, sensitivity)
    known: dict[str, Any] = {}
    if hasattr(query, "answer_block"):
        extreme = _extreme_rows(query, rows, fits.plan.loss.classification)
        here, there, row = _of_sum(query, rows, extreme, relation, sizes, alike)
        if asked is not query and relation is NeighboringRelation.ADD_OR_REMOVE_ONE and not of_unit:
            nothing = replace(row, X=row.X[:0], y=row.y[:0])
            known = {"query": asked, "tables": ((row, nothing),)}
    else:
        sides = [(pair.here, pair.there) for pair in fits.pairs]
        # The answer has noise of its own.
        if isinstance(mechanism.event(sensitivity), ObjectivePerturbationDpEvent):
            pairs = ((replace(rows, X=s.X, y=s.y) for s in both) for both in sides)
            known = {"query": asked, "tables": tuple((a, b) for a, b in pairs)}
        ends = [_of_table(query, rows, *both) for both in sides]
        here, there = ends[int(sizes(np.array([b - a for a, b in ends])).argmax())]
    share = 1.0 if known and len(known["tables"]) > 1 else distance(here, there, sensitivity)
    return Release(query.kind, mechanism, sensitivity, here, there, share, **known)


def _sizes(mechanism: Any, sensitivity: Sensitivity, changes: np.ndarray) -> np.ndarray:
    """Return how large each change of an answer is for a mechanism, in floats, to choose one by: a
    selection does not see what all scores have in common."""
    flat = changes.reshape(len(changes), -1).astype(np.float64)
    order = {"l1": 1, "l2": 2, "linf": np.inf}[sensitivity.norm]
    of_range = mechanism.needs == "range"
    sizes: np.ndarray = np.ptp(flat, axis=1) if of_range else np.linalg.norm(flat, order, axis=1)
    return sizes


def _of_sum(
    query: Any,
    rows: Rows,
    extreme: Rows,
    relation: NeighboringRelation,
    sizes: Callable[[np.ndarray], np.ndarray],
    alike: int,
) -> tuple[np.ndarray, np.ndarray, Rows]:
    """Return the answer of a table with one row beside empty ones, and with another row or none in
    its place, for the two of the ``extreme`` rows that are furthest apart, and the first of both;
    ``alike`` : how often each is there."""
    parts = alike * contributions(query, extreme)
    others = parts if relation is NeighboringRelation.REPLACE_ONE else np.zeros_like(parts[:1])
    found = [sizes(others - part) for part in parts]
    at = int(np.argmax([each.max() for each in found]))
    common = exact_answer(query, replace(rows, X=0 * rows.X[:-1], y=rows.y[:-1]))
    row = replace(rows, X=extreme.X[at : at + 1], y=extreme.y[at : at + 1])
    return common + parts[at], common + others[found[at].argmax()], row


def _extreme_rows(query: Any, rows: Rows, classification: bool) -> Rows:
    """Return rows at the bound: along what the query holds and across it, where two slopes are as
    steep and opposite, or in the planes of the axes; with every label, and of targets 0 too."""
    width = rows.X.shape[1]
    vectors, axes = vectors_of(query, width, rows.n_classes), list(np.eye(width))
    across = [e - (e @ v) / (v @ v) * v for v in vectors if np.any(v) for e in axes]
    known = stretching_rows(width, [*vectors, *across] or axes, rows.n_classes)
    X, y = known.X, known.y
    if not classification:
        X, y = np.vstack([X, X[y > 0]]), np.append(y, 0 * y[y > 0])
    return replace(rows, X=X, y=y)


def _of_table(query: Any, rows: Rows, one: Side, other: Side) -> tuple[np.ndarray, np.ndarray]:
    """Return the answers of two tables; secret random choices are the same for both."""
    tape, replayed = WordRecorder(SeededNoise(1)), ReplayedWords()
    tape.kept = []
    here = exact_answer(query, replace(rows, X=one.X, y=one.y), NoiseRecorder(tape))
    replayed.left = tape.kept
    return here, exact_answer(
        query, replace(rows, X=other.X, y=other.y), ReplayedNoise(replayed, 0)
    )
