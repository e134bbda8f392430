"""Checks of a pool that holds users in this process: what it gives away, charges and refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcore.errors import DpcoreError, RegistryError
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import dataset_from_arrays, load_registry, optimizer_facts
from dpcore_a_ddp.users.messages import User
from dpcore_lab.checks.coverage_text import Tested
from dpcore_lab.checks.guard import require_assertions
from dpcore_lab.made_tables.tables import ROW_NORM, make_rows
from dpcore_lab.replay.recorded import loss_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpcore.plugin.parts import Dataset, Optimizer
    from dpcore_a_ddp.users.user_pool import LocalPool

__all__ = ["check_pool"]

_USERS, _SIZE, _ROUNDS, _EPSILON, _DELTA = 6, 10, 12, 4.0, 1e-6
_ASKED = "dpcore_a_ddp.users.user_fits:Users"
_CHANGED = 2
"""The user whose row is another one in the second pool."""


class _Told:
    """A pool as an optimizer has it, and all that it was told."""

    def __init__(self, pool: LocalPool) -> None:
        self.pool = pool
        self.answers: list[Any] = []
        self.charged: list[np.ndarray] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.pool, name)

    def begin(self, rules: Any, most: int) -> np.ndarray:
        return self.pool.begin(rules, min(most, _ROUNDS))

    def round(self, index: int, w: np.ndarray) -> Any:
        before = self.pool.rounds_joined.copy()
        answers = self.pool.round(index, w)
        self.answers.append(answers)
        self.charged.append(self.pool.rounds_joined - before)
        return answers


def check_pool(pool: type[LocalPool]) -> Tested:
    """Raise AssertionError unless the users of a pool answer for their own rows, charged and with
    noise.

    An optimizer that asks users, the first that is registered, is run over users of made rows. Each
    who answers is charged for that round, once, and no more rounds than were announced; nobody else
    is. Messages add up to the total, stay below the limit of the rules, and are noisy: zeros do not
    pass, nor do users whose noise is the same. Other rows of one user change no first message of
    another user with the same seed. Users who do not own the rows, rules that are agreed on twice,
    rounds that come again and hopeless budgets are refused, with nobody charged.
    """
    require_assertions()
    optimizer = _asking()
    told = _run(optimizer, pool, _rows(1))
    again = _run(optimizer, pool, _rows(1, changed=True))
    _check_charges(told)
    _check_messages(told, again)
    _check_refusals(optimizer, pool, told)
    return Tested(
        f"{len(told.answers)} rounds of {type(optimizer).__name__} over {_USERS} users of {_SIZE} "
        "rows, and again with one user's rows changed",
        "",
        (
            "the distribution of the users' noise",
            "messages between processes",
            "trust models but its first",
        ),
    )


def _asking() -> Optimizer:
    """Return the first registered optimizer that asks users and gives a guarantee."""
    registry = load_registry()
    for name in registry.names("optimizer"):
        kind = registry.load("optimizer", name)
        stated = optimizer_facts(kind)
        if stated.answered_by == _ASKED and stated.private and not stated.without_noise:
            optimizer: Optimizer = kind(**stated.checked_with)
            return optimizer
    raise RegistryError("No optimizer is installed that asks a pool of users: none can be checked.")


def _rows(seed: int, changed: bool = False) -> Dataset:
    rows = make_rows(_USERS * _SIZE, seed=seed)
    X, y = rows.X.copy(), rows.y.copy()
    if changed:
        own = slice(_CHANGED * _SIZE, (_CHANGED + 1) * _SIZE)
        X[own], y[own] = -X[own], -y[own]
    return dataset_from_arrays(X, y, row_norm=ROW_NORM)


def _open(
    pool: type[LocalPool],
    optimizer: Optimizer,
    data: Dataset,
    epsilon: float = _EPSILON,
    users: Any = None,
) -> LocalPool:
    name = optimizer_facts(optimizer).accountant
    empty = load_registry().load("accountant", name).from_budget(epsilon, min(_DELTA, epsilon))
    loss = loss_of(optimizer)
    public: dict[str, Any] = {"reference": None, "trust": None, "threads": 1, "seed": 11}
    return pool.open(users, data, loss, empty, rows_per_user=_SIZE, **public)


def _run(
    optimizer: Optimizer, pool: type[LocalPool], data: Dataset, epsilon: float = _EPSILON
) -> _Told:
    told = _Told(_open(pool, optimizer, data, epsilon))
    asked: Any = told
    problem = Problem(
        loss=loss_of(optimizer),
        l2=0.01,
        n_features=data.n_features,
        row_norm=data.row_norm,
        raw_norm_bound=data.raw_norm_bound,
        relation=NeighboringRelation(optimizer.relations[0]),
        n=int(data.X.shape[0]) if optimizer.relations[0] != "add-or-remove-one" else None,
    )
    try:
        optimizer.minimize(problem, asked)
    except DpcoreError:
        assert epsilon != _EPSILON, "It refuses users of an ordinary budget."
        assert not told.answers and not told.rounds_joined.any(), (
            "Users are charged before a hopeless budget is refused."
        )
    else:
        assert epsilon == _EPSILON, "A hopeless budget of users is not refused."
    return told


def _check_charges(told: _Told) -> None:
    for answers, charged in zip(told.answers, told.charged, strict=True):
        joined = np.zeros(_USERS, dtype=np.int64)
        joined[answers.joined] = 1
        assert np.array_equal(charged, joined), (
            "The users who are charged for a round are not those who answer it."
        )
    assert (told.rounds_joined <= told.rounds_allowed).all(), (
        "A user joins more rounds than were announced."
    )


def _check_messages(told: _Told, again: _Told) -> None:
    rules = told.rules
    assert told.answers and rules is not None, "No round was asked."
    for answers in told.answers:
        messages = answers.messages
        if messages is None:
            continue
        assert np.array_equal(messages.sum(axis=0), answers.total), (
            "The total is not the sum of the messages."
        )
        assert np.abs(messages).max() <= rules.largest_message(_SIZE), (
            "A message is larger than the rules let it be."
        )
        assert (np.abs(messages).max(axis=1) > 0).all(), "A message of zeros: noise is missing."
    first, second = told.answers[0].messages, again.answers[0].messages
    if first is None:
        return
    others = np.arange(len(first)) != _CHANGED
    assert np.array_equal(first[others], second[others]), (
        "A user's message depends on the rows of another user."
    )
    gaps = np.abs(first[:, None] - first[None, :]).sum(axis=2)
    assert (gaps[~np.eye(len(first), dtype=bool)] > 0).all(), "Two users draw the same noise."


def _check_refusals(optimizer: Optimizer, pool: type[LocalPool], told: _Told) -> None:
    _run(optimizer, pool, _rows(1), epsilon=1e-250)
    w = np.zeros(told.rules.n_features)
    before = told.rounds_joined.copy()
    one = [User("one", 3, _EPSILON, _DELTA)]
    refused: dict[str, Callable[[], Any]] = {
        "Users who do not own the rows are let in.": lambda: _open(
            pool, optimizer, _rows(1), users=one
        ),
        "Rules are agreed on a second time.": lambda: told.pool.begin(told.rules, 1),
        "A round that is over is asked again.": lambda: told.pool.round(0, w),
        "Parameters of another length are sent to users.": lambda: told.pool.round(
            10**6, np.zeros(w.size + 1)
        ),
    }
    for fault, call in refused.items():
        try:
            call()
        except DpcoreError:
            continue
        raise AssertionError(fault)
    assert np.array_equal(told.rounds_joined, before), "A refused question is charged."
