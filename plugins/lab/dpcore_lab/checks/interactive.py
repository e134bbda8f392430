"""Checks of an interactive mechanism by itself: what it says, against the event it states."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import (
    ApproximateDpEvent,
    DpEvent,
    ExPostDpEvent,
    SeededNoise,
    load_registry,
)
from dpcore_lab.checks.coverage_text import Tested
from dpcore_lab.checks.guard import require_assertions, require_frozen
from dpcore_lab.made_tables.tables import make_problem, make_rows
from dpcore_lab.outcomes.frequencies import assert_as_private_as
from dpcore_lab.outcomes.power import PROBABILITY, detectable_factor
from dpcore_lab.recount.ledger import UnknownEventError
from dpcore_lab.replay.canonical import canonical
from dpcore_lab.replay.transcripts import Script, Transcript, shape_of, telling_sets, transcript_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcore.plugin import Problem
    from dpcore.plugin.parts import InteractiveMechanism

__all__ = ["check_interactive"]

_ALARM = 1e-7
"""The chance, over the noise, that an honest mechanism fails: all its tests together."""

_MOST_QUESTIONS, _SEED = 8, 17


def check_interactive(
    make: InteractiveMechanism | Callable[[Problem], InteractiveMechanism],
    n_coordinates: int | None = None,
    n_base: int | None = None,
) -> Tested:
    """Raise AssertionError unless the replies of an interactive mechanism bear out its event.

    ``make`` : the mechanism, or what makes one from a problem of five features. ``n_coordinates`` :
    of the answer to a question; without it, those of the base where a question has the base's
    sensitivity, else one. ``n_base`` : of the answer to the base; without it, as over five
    features. The event is known beforehand and the same each time; its loss stays
    within its cap; and between neighbours that move the base, the reference, one question or all of
    them by what was declared, no set of transcripts is further apart than the event allows: one
    noise that serves two answers shows in it. With a method ``narrowed`` one question moves at a
    time. An honest one fails with probability 1e-7.
    """
    require_assertions()
    loss = load_registry().load("loss", "logistic")()
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    problem = make_problem(make_rows(12), relation, loss)
    mechanism: Any = make if hasattr(make, "begin") else make(problem)
    require_frozen(mechanism)
    script = _script(mechanism, relation, n_coordinates, n_base)
    event = _event(mechanism, script)
    _check_course(mechanism, script, event)
    try:
        power = _audit(mechanism, script, event)
    except UnknownEventError:
        power = ""
    return Tested(
        f"the course of a run, and {script.n_runs} transcripts of up to {script.n_questions} "
        "questions on each of several neighbours",
        power,
        tuple(_left_out(mechanism, power)),
        (f"questions up to {script.n_questions}", f"transcripts {script.n_runs:,}"),
    )


def _left_out(mechanism: Any, power: str) -> Iterator[str]:
    """Yield what was not tested of a mechanism, whose cost was, with this ``power``."""
    yield from ("an interrupt within a reply", "replies in words", "relations but the question's")
    if mechanism.most_questions > _MOST_QUESTIONS:
        yield f"more than {_MOST_QUESTIONS} questions"
    if hasattr(mechanism, "narrowed"):
        yield "what all answers cost together: narrowed may let a row take part in several"
    if not power:
        yield "what it costs, for want of a second count or of draws"


def _script(
    mechanism: Any, relation: NeighboringRelation, n_coordinates: int | None, n_base: int | None
) -> Script:
    question = mechanism.question
    relation = getattr(question, "relation", relation)
    base = mechanism.base.sensitivity(relation)
    reference = mechanism.reference
    size = int(np.prod(shape_of(mechanism.base))) if n_base is None else n_base
    alike = (base.norm, base.bound, base.grid_bits) == (
        question.norm,
        question.bound,
        question.grid_bits,
    )
    asked = n_coordinates or (size if alike else 1)
    most = mechanism.most_questions
    assert type(most) is int and most >= 0, "most_questions is no whole number >= 0."
    return Script(
        base,
        None if reference is None else reference.sensitivity(relation),
        question,
        size,
        asked,
        min(most, _MOST_QUESTIONS),
    )


def _event(mechanism: Any, script: Script) -> DpEvent:
    before = canonical(mechanism)
    first, second = (mechanism.event(script.base, script.reference) for _ in range(2))
    assert isinstance(first, DpEvent), "Its event is none."
    assert first == second, "It states another event when it is asked again."
    assert canonical(mechanism) == before, "It changes when it is asked for its event."
    return first


def _check_course(mechanism: Any, script: Script, event: DpEvent) -> None:
    """Play it twice with one seed, and once to its end: it need not halt by itself, since a session
    holds it to ``most_questions``."""
    still = script.still(0)
    first, second = (transcript_of(mechanism, script, still, SeededNoise(_SEED)) for _ in range(2))
    assert canonical(first) == canonical(second), (
        "Noise is drawn from elsewhere than the noise source."
    )
    state = mechanism.begin(*script.opening(still), SeededNoise(_SEED))
    losses = [state.epsilon]
    question = np.zeros(script.n_asked, dtype=np.int64)
    for _ in range(mechanism.most_questions):
        if state.halted:
            break
        state.reply(question.copy())
        losses.append(state.epsilon)
    _check_losses(losses, event)


def _check_losses(losses: list[Any], event: DpEvent) -> None:
    if losses == [None] * len(losses) and not isinstance(event, ExPostDpEvent):
        return
    assert isinstance(event, (ExPostDpEvent, ApproximateDpEvent)), (
        "It tells a loss, and its event is no ExPostDpEvent."
    )
    assert None not in losses, "It tells a loss at times."
    assert all(low <= high for low, high in zip(losses, losses[1:], strict=False)), (
        "Its loss falls while it goes on."
    )
    assert losses[-1] <= event.epsilon, "Its loss is more than its cap."


def _audit(mechanism: Any, script: Script, event: DpEvent) -> str:
    """Compare transcripts on neighbours, and return the power of it in words."""
    level = _level(mechanism, script)
    still = script.still(level)
    here = _transcripts(mechanism, script, still, _SEED + 1)
    pairs: list[tuple[np.ndarray, np.ndarray]] = []
    for k, moved in enumerate(script.neighbours(level, single=hasattr(mechanism, "narrowed"))):
        there = _transcripts(mechanism, script, moved, _SEED + 2 + k)
        pairs += telling_sets(event, here, there)
    assert_as_private_as(event, pairs, type(mechanism).__name__, _ALARM)
    multiplier = getattr(mechanism, "noise_multiplier", None)
    if hasattr(mechanism, "narrowed") or multiplier is None:
        return "no figure: sets learned from half of the transcripts, tested on the other half"

    def event_of(factor: float) -> DpEvent:
        instance: Any = mechanism
        louder = dataclasses.replace(instance, noise_multiplier=multiplier / factor)
        found: DpEvent = louder.event(script.base, script.reference)
        return found

    factor = detectable_factor(event_of, script.n_runs // 2, _ALARM / (8 * len(pairs)))
    if not math.isfinite(factor):
        return ""
    return f"would have detected, with probability {PROBABILITY}, {factor:.2g} times the claim"


def _transcripts(mechanism: Any, script: Script, answers: Any, seed: int) -> list[Transcript]:
    noise = SeededNoise(seed)
    return [transcript_of(mechanism, script, answers, noise) for _ in range(script.n_runs)]


def _level(mechanism: Any, script: Script) -> int:
    """Return the exact answer of all questions, in steps, at which the end of a run varies most."""
    steps = math.ldexp(script.question.bound, script.question.grid_bits)
    levels = [0] + [sign * int(steps * 4**k) for k in range(-1, 12) for sign in (1, -1)]

    def spread(level: int) -> float:
        noise = SeededNoise(_SEED)
        answers = script.still(level)
        ends = [transcript_of(mechanism, script, answers, noise).course for _ in range(24)]
        return len(set(ends)) + (level == 0) / 2

    return max(levels, key=spread)
