"""One user's session: what it agrees to, what it sends, and that it never overspends."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pool_users import (
    SEED,
    USERS,
    in_process,
    make_data,
    make_filter,
    make_rules,
    open_user,
    rows_of,
)

from dpcore import Schema
from dpcore.errors import InvalidInputError
from dpcore.losses.squared import Squared
from dpcore.plugin.parts import Logistic, dataset_from_arrays
from dpcore_a_ddp.pools.round_ledger import RoundLedger
from dpcore_a_ddp.pools.user_session import UserSession
from dpcore_a_ddp.users.messages import Declined, Reply, User


def answers_of(user, rounds, w):
    return [user.answer(index, w) for index in range(rounds)]


def test_it_joins_while_one_round_more_fits_and_then_declines():
    data = make_data()
    user = open_user(data, make_rules(data))
    answers = answers_of(user, 8, np.zeros(data.n_features))
    kinds = [type(answer) for answer in answers]
    assert kinds == [Reply] * 3 + [Declined] * 5
    assert answers[3].reason == "One round more would exceed the user's budget."
    assert user.rounds_joined == 3


def test_what_it_declines_by_does_not_depend_on_the_rows():
    data, other = make_data(seed=1), make_data(seed=2)
    rules = make_rules(data)
    joined = [
        [type(a) for a in answers_of(open_user(d, rules), 6, np.ones(data.n_features))]
        for d in (data, other)
    ]
    assert joined[0] == joined[1]


def test_a_round_that_comes_again_gets_the_stored_reply():
    data = make_data()
    user = open_user(data, make_rules(data), seed=None)
    w = np.zeros(data.n_features)
    first, again, other = user.answer(0, w), user.answer(0, w), user.answer(0, w + 1)
    assert first.values.tolist() == again.values.tolist()
    # A server that was started again would take it for the gradient at w + 1.
    assert isinstance(other, Declined) and "other parameters" in other.reason
    assert user.rounds_joined == 1
    first.values[:] = 0
    assert user.answer(0, w).values.any()


def test_a_round_that_was_passed_over_is_over():
    data = make_data()
    user = open_user(data, make_rules(data))
    w = np.zeros(data.n_features)
    assert isinstance(user.answer(3, w), Reply)
    late = user.answer(1, w)
    assert isinstance(late, Declined) and "The round is over" in late.reason
    assert user.rounds_joined == 1


@pytest.mark.parametrize("w", [np.zeros(3), np.full(7, np.nan), np.full(7, np.inf)])
def test_bad_parameters_are_refused_before_anything_is_spent(w):
    data = make_data()
    user = open_user(data, make_rules(data))
    with pytest.raises(InvalidInputError, match="parameters w"):
        user.answer(0, w)
    assert user.rounds_joined == 0


@pytest.mark.parametrize("index", [-1, 1.0, True, "0", None])
def test_a_round_has_a_whole_number(index):
    data = make_data()
    user = open_user(data, make_rules(data))
    with pytest.raises(InvalidInputError, match="Expected round"):
        user.answer(index, np.zeros(data.n_features))
    assert user.rounds_joined == 0


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"noise_multiplier": 0.0}, "not private"),
        ({"as_published": True}, "not private"),
        ({"loss": "ridge"}, "Expected loss='logistic'"),
        ({"row_norm": 1.0}, "other bounds"),
        ({"n_features": 3}, "another width"),
    ],
)
def test_rules_that_do_not_fit_are_refused(changes, match):
    data = make_data()
    with pytest.raises(InvalidInputError, match=match):
        open_user(data, make_rules(data, **changes))


def test_a_user_without_rows_or_with_a_filter_of_another_budget_is_refused():
    data = make_data()
    rules = make_rules(data)
    with pytest.raises(InvalidInputError, match="its 20 rows"):
        UserSession(USERS[0], rows_of(data, USERS, 2), Logistic(), rules, make_filter(2.0, 1e-6))
    nobody = User("d", 0, 2.0, 1e-6)
    empty = data.take(np.zeros(53, dtype=bool))
    with pytest.raises(InvalidInputError, match="its 0 rows"):
        UserSession(nobody, empty, Logistic(), rules, make_filter(2.0, 1e-6))
    with pytest.raises(InvalidInputError, match="another budget"):
        UserSession(USERS[0], rows_of(data, USERS, 0), Logistic(), rules, make_filter(3.0, 1e-6))
    with pytest.raises(InvalidInputError, match="Expected loss='ridge'"):
        UserSession(USERS[0], rows_of(data, USERS, 0), Squared(), rules, make_filter(2.0, 1e-6))
    dropped = replace(rows_of(data, USERS, 0), rows_dropped=True)
    with pytest.raises(InvalidInputError, match="no row may be dropped"):
        UserSession(USERS[0], dropped, Logistic(), rules, make_filter(2.0, 1e-6))


def test_rows_of_units_are_refused_by_sessions_and_pools():
    # A unit's rows move the gradients' sum several times as far as a user's filter is charged for.
    keys = {"unit": "id", "rows_per_unit": 3, "columns": {}}
    keys["columns"]["x"] = {"kind": "numeric", "lower": 0, "upper": 1}
    keys["columns"]["y"] = {"kind": "label", "classes": [0, 1]}
    frame = pa.table({"id": np.arange(53) // 3, "x": np.full(53, 0.5), "y": np.arange(53) % 2})
    data = dataset_from_arrays(frame, schema=Schema.from_dict(keys))
    with pytest.raises(InvalidInputError, match="charged for one row"):
        open_user(data, make_rules(data))
    with pytest.raises(InvalidInputError, match="charged for one row"):
        in_process(data)


def test_a_user_of_one_row_draws_it_every_round():
    data = make_data()
    users = (User("one", 1, 50.0, 1e-6),)
    user = open_user(data.take(np.arange(53) == 4), make_rules(data), users)
    assert isinstance(user.answer(0, np.zeros(data.n_features)), Reply)


def test_it_can_be_neither_copied_nor_pickled():
    data = make_data()
    user = open_user(data, make_rules(data))
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            attempt(user)


def test_a_debit_that_fails_means_that_nothing_is_drawn_or_sent():
    class Full(RoundLedger):
        def charge(self, entry):
            raise OSError("no space")

    data = make_data()
    user = open_user(data, make_rules(data), ledger=Full())
    with pytest.raises(OSError, match="no space"):
        user.answer(0, np.zeros(data.n_features))
    untouched = open_user(data, make_rules(data), seed=SEED)
    # The stream of noise stands where it stood: the first reply is a fresh user's first.
    user._ledger = user._accounts[0].ledger = RoundLedger()
    w = np.zeros(data.n_features)
    assert user.answer(0, w).values.tolist() == untouched.answer(0, w).values.tolist()


@settings(max_examples=15, deadline=None)
@given(
    epsilon=st.floats(0.05, 20),
    multiplier=st.floats(0.5, 30),
    heard=st.lists(st.booleans(), min_size=1, max_size=12),
)
def test_spent_never_exceeds_the_budget_whoever_hears_what(epsilon, multiplier, heard):
    data = make_data()
    users = (User("a", 53, epsilon, 1e-6),)
    user = open_user(data, make_rules(data, noise_multiplier=multiplier), users)
    w = np.zeros(data.n_features)
    joined = sum(
        isinstance(user.answer(i, w), Reply) for i, is_heard in enumerate(heard) if is_heard
    )
    assert joined == user.rounds_joined
    # mu^2 of so many Gaussian releases, by the formula (Dong, Roth & Su 2022, Corollary 3.3).
    assert joined / multiplier**2 <= make_filter(epsilon, 1e-6).budget * (1 + 1e-12)


def test_two_sessions_on_one_ledger_do_not_spend_the_budget_twice():
    # Each has a filter of its own, which knows of the other's rounds only from the start.
    data, ledger = make_data(), RoundLedger()
    first, second = (open_user(data, make_rules(data), ledger=ledger, seed=None) for _ in range(2))
    w = np.zeros(data.n_features)
    assert isinstance(first.answer(0, w), Reply)
    with pytest.raises(InvalidInputError, match="Another session spent from this ledger"):
        second.answer(1, w)
    assert second.answer(0, w).values.tolist() == first.answer(0, w).values.tolist()
    third = open_user(data, make_rules(data), ledger=ledger, seed=None)
    assert [type(third.answer(i, w)) for i in range(1, 5)] == [Reply] * 2 + [Declined] * 2
    assert ledger.entries == (0, 1, 2)
