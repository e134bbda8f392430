"""The exact side of a session: its engine, and the parts that are let near exact answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import AnswerError, InvalidInputError, replacing
from dpcore.moved import renamed_method
from dpcore.session.dry_run import DryRun, load_now
from dpcore.session.interactive_handle import CachedAnswers, require_whole
from dpcore.session.one_process import OneProcess
from dpcore.session.trust_boundary import TrustedParts
from dpcore.session.unit_sensitivity import RequireUnits, sensitivity_of_units

if TYPE_CHECKING:
    from dpcore.noise.source import NoiseSource
    from dpcore.privacy.events import DpEvent
    from dpcore.privacy.sensitivity import NeighboringRelation, Sensitivity
    from dpcore.protocols import Accountant, DerivedQuery, Engine, Mechanism, Query, TableQuery
    from dpcore.protocols.problem import Problem

__all__ = ["ExactAnswers", "overwrite_freed"]

_NO_ROOM = "There is not enough memory to work out the answer."


class ExactAnswers(OneProcess):
    """Knows the rows, and answers nobody: a session works out exact answers here once it has
    charged what it releases of them. Before, it asks what a question is worth and whether it may be
    asked. ``load_now(load)`` calls a function for the kernels that it loads, before a charge."""

    load_now = staticmethod(load_now)

    def __init__(
        self,
        engine: Engine,
        accountant: Accountant,
        relation: NeighboringRelation,
        noise: NoiseSource,
        problem: Problem | None,
        takes_shares: bool = False,
        earlier: TrustedParts | None = None,
    ) -> None:
        super().__init__()
        self._engine = engine
        self._relation = relation
        self._noise = noise
        self._takes_shares = takes_shares
        self._rows_per_unit = None if problem is None else problem.rows_per_unit
        self._parts = (earlier or TrustedParts()).beside(problem, (engine, accountant))
        self._dry_run = DryRun(engine, problem)

    def dry_run(self, query: Query | DerivedQuery | TableQuery) -> None:
        """Load what an answer needs; the rows are not asked.

        Raises KernelError for what cannot be loaded, AnswerError for a sum whose answer is not
        int64 of the shape that it states, InvalidInputError where the engine cannot answer the
        query.
        """
        self._require_engine(query)
        self._dry_run.ask(query, self._parts.check(query))

    rehearse = renamed_method("rehearse", "dry_run")

    def _admitted(self, query: Query | DerivedQuery | TableQuery, *wholes: Any) -> list[Any]:
        """Return these and all that they hold, once the engine can answer the query and what its
        answer needs is loaded; raise before anything is charged otherwise."""
        self._require_engine(query)
        parts = self._parts.check(*wholes)
        for part in parts:
            self._require_whole_noise(part)
        self._dry_run.ask(query, parts)
        return parts

    def _sensitivity(self, query: Query | DerivedQuery | TableQuery) -> Sensitivity:
        if self._rows_per_unit is not None:
            return sensitivity_of_units(query, self._relation, self._rows_per_unit)
        sensitivity = query.sensitivity(self._relation)
        if sensitivity.relation is not self._relation:
            raise InvalidInputError(
                f"{type(query).__name__} states its sensitivity under "
                f"{sensitivity.relation.value}, the session runs under {self._relation.value}."
            )
        return sensitivity

    def _event(
        self, query: Query | DerivedQuery | TableQuery, mechanism: Mechanism, bound: Sensitivity
    ) -> DpEvent:
        """Return what the release costs; where only a sample is asked, its sampler says so."""
        _require_numbers_alike(query, mechanism)
        # |x|_inf <= |x|_2 <= |x|_1: a bound in a norm is one in those on its left.
        larger = {"linf": ("l1", "l2"), "l2": ("l1",)}.get(bound.norm, ())
        if getattr(mechanism, "needs", None) in larger:
            raise InvalidInputError(
                f"{type(mechanism).__name__} needs an {mechanism.needs} sensitivity, and that of "
                f"{type(query).__name__} is in {bound.norm}."
            )
        event = mechanism.event(bound)
        asked: Any = query
        if hasattr(asked, "sampled_event"):
            event = asked.sampled_event(event, self._relation)
        return event

    def _exact(
        self, query: Query | DerivedQuery | TableQuery, known: CachedAnswers = ()
    ) -> np.ndarray:
        """Return the exact answer; ``known`` are queries whose answers are worked out already."""
        for other, exact in known:
            if other is query:
                return exact.copy()
        # NumPy says which array found no room: its shape is the rows'. So is what it warns of.
        no_room = replacing(MemoryError, by=lambda _: MemoryError(_NO_ROOM))
        with no_room, np.errstate(all="ignore"):
            return self._worked_out(query, known)

    def _worked_out(
        self, query: Query | DerivedQuery | TableQuery, known: CachedAnswers = ()
    ) -> np.ndarray:
        asked: Any = query
        engine: Any = self._engine
        if hasattr(asked, "derive"):
            answer = asked.derive(lambda part: self._part(part, known), self._noise)
            return _whole_steps(answer, f"{type(asked).__name__}.derive")
        if hasattr(asked, "answer_table"):
            answer = engine.answer_table(asked, self._noise)
            return _whole_steps(answer, f"{type(asked).__name__}.answer_table")
        return _whole_steps(engine.answer(asked), f"{type(engine).__name__}.answer")

    def _part(self, query: Query | DerivedQuery, known: CachedAnswers) -> np.ndarray:
        """Return the exact answer of what a derived query asks for."""
        self._parts.note(self._parts.check(require_whole(query)))
        self._require_engine(query)
        return self._exact(query, known)

    def _require_whole_noise(self, part: Any) -> None:
        """Refuse a mechanism that draws a share of the noise it is charged for, which is sound only
        of a sum that is opened with the other shares in it."""
        if getattr(type(part), "is_share", False) and not self._takes_shares:
            raise InvalidInputError(
                f"{type(part).__name__} adds one user's share of the noise, which alone hides next "
                "to nothing: only users whose answers are masked release it. Take a mechanism "
                "that adds all of it, such as gaussian."
            )

    def _require_engine(self, query: Query | DerivedQuery | TableQuery) -> None:
        of_units = self._rows_per_unit is not None and getattr(type(query), "clips_units", False)
        needs_table = hasattr(query, "answer_table") or of_units
        if needs_table and not hasattr(self._engine, "answer_table"):
            needs = (
                "adds up whole units"
                if of_units
                else getattr(type(query), "whole_table", "goes through the rows in its own way")
            )
            other = "" if of_units else ", or for sums alone --algo auto (algo='auto')"
            raise InvalidInputError(
                f"{type(query).__name__} {needs}, and the engine "
                f"{type(self._engine).__name__} has no table at hand; use --engine local "
                f"(engine='local'){other}."
            )
        if needs_table and self._rows_per_unit is not None:
            engine: Any = self._engine
            with replacing(MemoryError, by=lambda _: MemoryError(_NO_ROOM)):
                engine.answer_table(RequireUnits(), self._noise)

    @property
    def relation(self) -> NeighboringRelation:
        return self._relation

    @property
    def most_rows(self) -> int | None:
        """The least ``most_rows`` of the parts, the tables that the promise is for; or ``None``."""
        return self._parts.most_rows

    @property
    def rows_that_fit(self) -> int | None:
        """The least ``rows_that_fit`` of the parts; ``None`` where no sum can wrap around."""
        return self._parts.rows_that_fit

    @property
    def foreign_parts(self) -> tuple[str, ...]:
        return self._parts.foreign

    @property
    def parts_not_private(self) -> tuple[str, ...]:
        """``module:Class`` of every released part that promises no privacy, whoever asked."""
        return self._parts.not_private

    @property
    def trusted_parts(self) -> tuple[str, ...]:
        """``module:Class`` of every part that ran inside the trust boundary."""
        return self._parts.names


def overwrite_freed(size: int) -> None:
    """Write zeros over what was freed of so many numbers, such as an exact answer and the sums that
    it was made of. NumPy keeps seven such arrays below 1 kB, and hands them to whoever asks for an
    empty one next. A larger one is the allocator's: whether it is written over is not known."""
    _ = [np.zeros(size) for _ in range(8)]  # held together, so that each is another one


def _whole_steps(answer: Any, whose: str) -> np.ndarray:
    """Return an answer; AnswerError where it is no array of grid steps. Its own type and shape are
    not said: they may be the rows'."""
    if not isinstance(answer, np.ndarray) or answer.dtype != np.int64:
        raise AnswerError(f"{whose} must return int64 in whole steps of the sensitivity's grid.")
    return answer


def _require_numbers_alike(query: Any, mechanism: Mechanism) -> None:
    """Refuse a mechanism that releases single numbers alone, or so many numbers, for a sum that
    declares another number of them."""
    total = query.query if hasattr(query, "sampled_event") else query
    is_scalar = getattr(type(mechanism), "scalar_only", False)
    most = 1 if is_scalar else getattr(mechanism, "coordinates", None)
    if most is None or not hasattr(total, "start"):
        return
    size = np.size(total.start())
    if size != most:
        numbers = "single numbers alone" if is_scalar else f"answers of {most} coordinates"
        raise InvalidInputError(
            f"{type(mechanism).__name__} releases {numbers}, and the answer of "
            f"{type(total).__name__} has {size} coordinates; take another mechanism."
        )
