"""Checks of an optimizer that asks users: what it may know, and what its rules let users spend."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import DpcoreError
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import (
    dataset_from_arrays,
    load_registry,
    optimizer_facts,
)
from dpcore_a_ddp.recount import recount
from dpcore_a_ddp.users.pools import load_pool
from dpcore_lab.checks import (
    Tested,
    check_declarations,
    loss_of,
    make_rows,
    not_isolated,
    require_assertions,
    run_apart,
)

if TYPE_CHECKING:
    from dpcore.plugin import Solution
    from dpcore.plugin.parts import Dataset, Optimizer
    from dpcore_a_ddp.pools.round_rules import GradientRounds
    from dpcore_a_ddp.users.messages import Answers
    from dpcore_a_ddp.users.user_pool import LocalPool

__all__ = [
    "POOL_CHECKS",
    "ReplayedPool",
    "check_pool_bad_parameters_refused",
    "check_pool_messages_are_noisy",
    "check_pool_never_overspends",
    "check_pool_outputs_released",
    "check_pool_repeatable_when_seeded",
    "check_pool_tiny_budget_refused",
]

_USERS, _SIZE = 12, 20
_END = 10**7
_EPSILON, _DELTA, _L2, _ROW_NORM = 4.0, 1e-6, 0.01, 1.5


_MOST_ROUNDS = 1000
"""Of a recorded run, so that it takes no longer than others where users may join for long."""
_LATER = f"rounds of a run after the first {_MOST_ROUNDS:,}"


class RecordingPool:
    """A pool in one process that writes down what was asked and what came of it, in so many rounds
    as ``_MOST_ROUNDS`` at most."""

    def __init__(self, pool: LocalPool) -> None:
        self.pool = pool
        self.asked: list[tuple[int, bytes]] = []
        self.answers: list[Answers] = []
        self.rules: GradientRounds | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.pool, name)

    def begin(self, rules: GradientRounds, most: int) -> np.ndarray:
        self.rules = rules
        return self.pool.begin(rules, min(most, _MOST_ROUNDS))

    def round(self, index: int, w: np.ndarray) -> Answers:
        self.asked.append((index, np.asarray(w, np.float64).tobytes()))
        self.answers.append(self.pool.round(index, w))
        return self.answers[-1]


class ReplayedPool(RecordingPool):
    """Other users of the same public facts, whose answers are those of a recorded run.

    ``recorded`` : the questions of that run, and the answers to them.
    """

    def __init__(self, pool: LocalPool, recorded: list[tuple[tuple[int, bytes], Answers]]) -> None:
        super().__init__(pool)
        self._recorded = recorded

    def round(self, index: int, w: np.ndarray) -> Answers:
        at = len(self.asked)
        assert at < len(self._recorded), "The replayed run asked for a round more."
        super().round(index, w)
        question, answers = self._recorded[at]
        assert self.asked[at] == question, (
            f"Question {at} depends on something besides the answers and public facts."
        )
        return answers


def check_pool_outputs_released(optimizer: Optimizer) -> Tested:
    """Answers that are replayed over users with other rows give bit-equal results: recorded in one
    process, replayed in another. Neither writes a file."""
    rounds = 0
    for relation in optimizer.relations:
        told = run_apart(partial(_told, optimizer, relation))
        run_apart(partial(_replay, optimizer, relation, *told))
        rounds += len(told[0])
    return Tested(
        f"{rounds} rounds whose answers were replayed over users with other rows, equal to the bit",
        not_tested=(_LATER, *not_isolated()),
    )


def _told(
    optimizer: Optimizer, relation: str
) -> tuple[list[tuple[tuple[int, bytes], Answers]], bytes]:
    """Return the questions and answers of a run, and its coefficients."""
    recorded, solution = _record(optimizer, relation, _data(1))
    return list(zip(recorded.asked, recorded.answers, strict=True)), solution.w.tobytes()


def _replay(
    optimizer: Optimizer,
    relation: str,
    recorded: list[tuple[tuple[int, bytes], Answers]],
    coefficients: bytes,
) -> None:
    replayed = ReplayedPool(_pool(optimizer, _data(2)), recorded)
    again = _minimize(optimizer, relation, _data(2), replayed)
    assert len(replayed.asked) == len(recorded), "The replayed run ended early."
    assert again.w.tobytes() == coefficients, (
        "The result depends on something besides the answers and public facts."
    )


def check_pool_messages_are_noisy(optimizer: Optimizer) -> Tested:
    """Rows that change nothing but the gradients change no message by more than the rules say, and
    noise of the rules' size is in each: of an optimizer that declares ``without_noise``, none."""
    for relation in optimizer.relations:
        recorded, _ = _record(optimizer, relation, _data(3))
        rules = recorded.rules
        assert rules is not None and rules.relation == relation, "It agreed to other rules."
        if optimizer_facts(optimizer).without_noise:
            assert rules.noise_multiplier == 0, "It declares that it adds no noise, and adds some."
            continue
        assert rules.noise_multiplier > 0, "Its rules have no noise."
        assert not rules.as_published, "Its rules are not private."
        for answers in recorded.answers:
            # A clipped gradient and no noise would be shorter than this.
            assert (
                answers.messages is None
                or (np.abs(answers.messages).max(axis=1, initial=0) > 0).all()
            ), "A message of zeros: noise is missing."
    return Tested(
        "the rules of a run, and its messages, none of which is zero",
        not_tested=("the distribution of the users' noise: the pool's own tests have it",),
    )


def check_pool_never_overspends(optimizer: Optimizer) -> Tested:
    """Count the rounds that the users' filters let happen again, by other formulas: they are within
    the budget."""
    if optimizer_facts(optimizer).without_noise:
        return Tested("nothing: its users add no noise")
    for relation in optimizer.relations:
        for epsilon in (0.5, _EPSILON, 16.0):
            recorded, _ = _record(optimizer, relation, _data(4), epsilon)
            joined = int(recorded.pool.rounds_joined.max())
            rules = recorded.rules
            assert rules is not None
            assert sum(answers.joined.size for answers in recorded.answers) == int(
                recorded.pool.rounds_joined.sum()
            ), "A message was answered that was not charged."
            unasked = _pool(optimizer, _data(4), epsilon)
            for rounds in (joined, int(unasked.begin(rules, _END).max())):
                recount(optimizer, rules, rounds, _SIZE, (epsilon, _DELTA))
    return Tested(
        "the rounds that users joined, and all that they might have joined, at epsilon .5, 4 and "
        "16, counted again in floats",
        not_tested=(_LATER,),
    )


def check_pool_tiny_budget_refused(optimizer: Optimizer) -> Tested:
    """A budget too small for one round is refused by a DpcoreError, with nobody charged."""
    if optimizer_facts(optimizer).without_noise:
        return Tested("nothing: its users add no noise")
    for relation in optimizer.relations:
        data = _data(5)
        pool = RecordingPool(_pool(optimizer, data, 1e-250, 1e-250))
        try:
            _minimize(optimizer, relation, data, pool)
        except DpcoreError:
            pass
        else:
            raise AssertionError("A budget of epsilon=1e-250, delta=1e-250 was not refused.")
        assert not pool.asked and not pool.pool.rounds_joined.any(), (
            "Users were asked before a hopeless budget was refused."
        )
    return Tested("a budget of epsilon and delta 1e-250, refused with nobody asked")


def check_pool_repeatable_when_seeded(optimizer: Optimizer) -> Tested:
    """The same seed gives the same bits: nothing random is drawn but by the users."""
    relation, data = optimizer.relations[0], _data(6)
    first, second = (_record(optimizer, relation, data)[1] for _ in range(2))
    assert first.w.tobytes() == second.w.tobytes(), "Two runs with one seed differ."
    return Tested("two runs with one seed, equal to the bit")


def check_pool_bad_parameters_refused(optimizer: Optimizer) -> Tested:
    """A frozen dataclass, whose parameters are refused, before any round, if not finite."""
    parameters: Any = getattr(type(optimizer), "__dataclass_params__", None)
    assert parameters is not None and parameters.frozen, "An optimizer is a frozen dataclass."
    instance: Any = optimizer
    for field in dataclasses.fields(instance):
        if not isinstance(getattr(instance, field.name), float):
            continue
        for value in (math.nan, math.inf, -math.inf):
            data = _data(7)
            pool = RecordingPool(_pool(optimizer, data))
            try:
                broken = dataclasses.replace(instance, **{field.name: value})
                _minimize(broken, optimizer.relations[0], data, pool)
            except (DpcoreError, ValueError):
                assert not pool.asked, f"{field.name}={value} was refused only after a round."
            else:
                raise AssertionError(f"{field.name}={value} was accepted.")
    return Tested("NaN and infinities in place of every number")


POOL_CHECKS = (
    check_pool_outputs_released,
    check_pool_messages_are_noisy,
    check_pool_never_overspends,
    check_pool_tiny_budget_refused,
    check_pool_repeatable_when_seeded,
    check_pool_bad_parameters_refused,
    check_declarations,
)


def _data(seed: int) -> Dataset:
    rows = make_rows(_USERS * _SIZE, seed=seed)
    return dataset_from_arrays(rows.X, rows.y, row_norm=_ROW_NORM)


def _pool(
    optimizer: Optimizer, data: Dataset, epsilon: float = _EPSILON, delta: float = _DELTA
) -> LocalPool:
    require_assertions()
    name = optimizer_facts(optimizer).accountant
    registry = load_registry()
    empty = registry.load("accountant", name).from_budget(epsilon, delta)
    pool: LocalPool = load_pool()[0].open(
        None,
        data,
        loss_of(optimizer),
        empty,
        rows_per_user=_SIZE,
        reference=None,
        trust=None,
        threads=None,
        seed=11,
    )
    return pool


def _record(
    optimizer: Optimizer, relation: str, data: Dataset, epsilon: float = _EPSILON
) -> tuple[RecordingPool, Solution]:
    pool = RecordingPool(_pool(optimizer, data, epsilon))
    return pool, _minimize(optimizer, relation, data, pool)


def _minimize(optimizer: Optimizer, relation: str, data: Dataset, pool: Any) -> Solution:
    problem = Problem(
        loss=loss_of(optimizer),
        l2=_L2,
        n_features=data.n_features,
        row_norm=data.row_norm,
        raw_norm_bound=data.raw_norm_bound,
        relation=NeighboringRelation(relation),
        n=int(data.X.shape[0]),
    )
    return optimizer.minimize(problem, pool)
