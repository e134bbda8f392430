"""Checks of an interactive mechanism by itself: what it says, against the event it states."""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import (
    ApproximateDpEvent,
    DpEvent,
    ExPostDpEvent,
    SeededNoise,
)
from dpcore_lab.checks.coverage_text import Tested
from dpcore_lab.checks.guard import require_assertions, require_frozen
from dpcore_lab.made_tables.tables import made_of_problem
from dpcore_lab.outcomes.distinguish import excess
from dpcore_lab.outcomes.frequencies import assert_as_private_as
from dpcore_lab.outcomes.power import PROBABILITY, detectable_factor
from dpcore_lab.recount.ledger import UnknownEventError
from dpcore_lab.replay.canonical import canonical
from dpcore_lab.replay.positives import OF_YES_OR_NO, positives_that_tell, says_yes_or_no_alone
from dpcore_lab.replay.transcripts import (
    LEAST_RUNS,
    Script,
    Transcript,
    shape_of,
    telling_sets,
    transcript_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dpcore.plugin import Problem
    from dpcore.plugin.parts import InteractiveMechanism

__all__ = ["check_interactive"]

_ALARM = 1e-7
"""The chance, over the noise, that an honest mechanism fails: all its tests together."""

_MOST_QUESTIONS, _SEED = 8, 17
_FARTHEST, _FLOATS = 1 << 50, 2.0**52
"""Answers of replies that are compared, in steps, and what a float holds to the step."""
_MOST_NUMBERS = 1 << 18
"""Numbers in these replies, about."""


def check_interactive(
    make: InteractiveMechanism | Callable[[Problem], InteractiveMechanism],
    n_coordinates: int | None = None,
    n_base: int | None = None,
) -> Tested:
    """Raise AssertionError unless the replies of an interactive mechanism bear out its event.

    ``make`` : the mechanism, or what makes one from a problem of five features. ``n_coordinates`` :
    of the answer to a question; without it, those of the base where a question has the base's
    sensitivity, else one. ``n_base`` : of the answer to the base; without it, as over five
    features. The event is known beforehand and the same each time; its loss stays within its cap;
    and between neighbours that move the base, the reference, one question or all of them by what
    was declared, no set of transcripts is further apart than the event allows; of a mechanism that
    only says yes or no, neither over 16 questions of 40,000 runs. Nor does one noise serve two
    replies, up to the last of them. With a method ``narrowed`` one question moves at a time. An
    honest one fails with probability 1e-7.
    """
    require_assertions()
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    mechanism: Any = make if hasattr(make, "begin") else made_of_problem(make)
    require_frozen(mechanism)
    script = _script(mechanism, relation, n_coordinates, n_base)
    event = _event(mechanism, script)
    _check_course(mechanism, script, event)
    _check_noise_is_fresh(mechanism, script)
    try:
        power = _audit(mechanism, script, event)
    except UnknownEventError:
        power = ""
    return Tested(
        f"the course of a run, and transcripts of up to {script.n_questions} questions, "
        f"{script.n_runs} a neighbour, most of them on two of several",
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


def _check_noise_is_fresh(mechanism: Any, script: Script) -> None:
    """Play it to its end over answers from anywhere, and look for two replies with one noise: they
    tell how far their answers are apart. By chance no two are alike in all coordinates, up to their
    signs, where noise is as wide as its median."""
    bits, n = script.question.grid_bits, script.n_asked
    draw, found = np.random.default_rng(_SEED), []
    state = mechanism.begin(*script.opening(script.still(0)), SeededNoise(_SEED))
    for _ in range(min(mechanism.most_questions, _MOST_NUMBERS // n)):
        if state.halted:
            break
        exact = draw.integers(-_FARTHEST, _FARTHEST, n)
        reply = state.reply(exact.copy())
        if isinstance(reply, np.ndarray) and reply.shape == exact.shape:
            found.append(np.abs(np.ldexp(reply.astype(float), bits) - exact))
    if found and np.max(found) < _FLOATS:
        bits_of_noise = n * math.log2(max(1.0, float(np.median(found)) / 2))
        is_wide = bits_of_noise > math.log2(1000 * len(found) ** 2 / _ALARM)
        assert not is_wide or len(np.unique(found, axis=0)) == len(found), (
            "Two replies have one noise: they tell how far their exact answers are apart."
        )


def _audit(mechanism: Any, script: Script, event: DpEvent) -> str:
    """Compare transcripts on neighbours, a third of them on each and the rest on those that these
    tell apart best, and return the power of it in words."""
    level, n = _level(mechanism, script), max(LEAST_RUNS, script.n_runs // 3)
    still = script.still(level)
    here = _transcripts(mechanism, script, still, n, _SEED + 1)
    pairs: list[tuple[np.ndarray, np.ndarray]] = []
    moves = list(script.neighbours(level, single=hasattr(mechanism, "narrowed")))
    told: list[tuple[float, list[Transcript], Any]] = []
    for k, moved in enumerate(moves):
        there = _transcripts(mechanism, script, moved, n, _SEED + 2 + k)
        sets = list(telling_sets(event, here, there))
        told.append((max(excess(event, *each) for each in sets), there, moved))
        pairs += sets
    more = (len(moves) + 1) * (script.n_runs - n) // 2
    if more > n:  # They are the half that is tested, and had no part in the choice.
        _, there, moved = max(told, key=lambda each: each[0])
        here = here + _transcripts(mechanism, script, still, more, _SEED - 1)
        there = there + _transcripts(mechanism, script, moved, more, _SEED - 2)
        pairs += telling_sets(event, here, there)
    name = type(mechanism).__name__
    assert_as_private_as(event, pairs, name, _ALARM / 2)
    is_yes_or_no = says_yes_or_no_alone(here) and not hasattr(mechanism, "narrowed")
    if is_yes_or_no:
        told_together = positives_that_tell(mechanism, script, event, level, _SEED - 3)
        assert_as_private_as(event, [told_together], name, _ALARM / 2)
    multiplier = getattr(mechanism, "noise_multiplier", None)
    if hasattr(mechanism, "narrowed") or multiplier is None:
        told_of = "no value: sets learned from half of the transcripts, tested on the other half"
        return f"{told_of}; {OF_YES_OR_NO}" if is_yes_or_no else told_of

    def event_of(factor: float) -> DpEvent:
        instance: Any = mechanism
        louder = dataclasses.replace(instance, noise_multiplier=multiplier / factor)
        found: DpEvent = louder.event(script.base, script.reference)
        return found

    factor = detectable_factor(event_of, len(here) // 2, _ALARM / (16 * len(pairs)))
    if not math.isfinite(factor):
        return ""
    return f"would have detected, with probability {PROBABILITY}, {factor:.2g} times the claim"


def _transcripts(
    mechanism: Any, script: Script, answers: Any, n: int, seed: int
) -> list[Transcript]:
    noise = SeededNoise(seed)
    return [transcript_of(mechanism, script, answers, noise) for _ in range(n)]


def _level(mechanism: Any, script: Script) -> int:
    """Return the exact answer of all questions, in steps, at which the end of a run varies most:
    of powers of 4, and of those between the two where the ends become others, which lie on either
    side of a line that the mechanism compares with."""
    steps = math.ldexp(script.question.bound, script.question.grid_bits)
    levels = [0] + [sign * int(steps * 4**k) for k in range(-1, 12) for sign in (1, -1)]

    def ends_at(level: int) -> set[Any]:
        noise, answers = SeededNoise(_SEED), script.still(level)
        return {transcript_of(mechanism, script, answers, noise).course for _ in range(24)}

    ends = {level: ends_at(level) for level in sorted(levels)}
    for low, high in [*pairwise(ends)]:
        while ends[low].isdisjoint(ends[high]) and high - low > 1:
            middle = (low + high) // 2
            ends[middle] = ends_at(middle)
            low, high = (low, middle) if ends[low].isdisjoint(ends[middle]) else (middle, high)
    return max(ends, key=lambda level: len(ends[level]) + (level == 0) / 2)
