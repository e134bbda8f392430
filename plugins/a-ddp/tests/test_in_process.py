"""The vectorised pool against a session for each user, and what it lets out."""

import contextlib
import threading
import time

import numpy as np
import pytest
from pool_users import SEED, USERS, both_pools, in_process, make_data, make_rules

from dpcore.errors import BudgetExceededError, InvalidInputError
from dpcore.plugin.parts import SeededNoise
from dpcore_a_ddp.pools.user_session import user_seed
from dpcore_a_ddp.users.messages import User

SAMPLINGS = [
    {},
    {"sampling": "poisson", "rate": 0.1},
    {"sampling": "poisson", "rate": 2.0**-40},
    {"sampling": "pass"},
    {"relation": "replace-special", "clip": 0.3},
]


@pytest.mark.parametrize("changes", SAMPLINGS)
def test_messages_are_those_of_the_users_own_sessions_to_the_bit(changes):
    data = make_data()
    rules = make_rules(data, **changes)
    fast, plain = both_pools(data)
    assert fast.begin(rules, 30).tolist() == plain.begin(rules, 30).tolist()
    w = np.zeros(data.n_features)
    for index in range(30):
        ours, theirs = fast.round(index, w), plain.round(index, w)
        assert ours.joined.tolist() == theirs.joined.tolist()
        assert ours.declined.tolist() == theirs.declined.tolist()
        assert ours.messages.tobytes() == theirs.messages.tobytes()
        assert ours.total.tobytes() == theirs.total.tobytes()
        assert not theirs.rejected
        w = w - 0.1 * np.ldexp(ours.total.astype(float), -rules.grid_bits)
    assert fast.rounds_joined.tolist() == plain.rounds_joined.tolist()
    assert fast.rounds_joined.max() > 0


def exact_gradients(data, w, clip):
    """Each row's clipped gradient from the formula, float64 of (n_rows, n_features)."""
    norms = np.linalg.norm(data.X, axis=1)
    X = data.X * np.minimum(1.0, data.row_norm / norms)[:, None]
    slope = -data.y / (1 + np.exp(data.y * (X @ w)))
    gradients = slope[:, None] * X
    lengths = np.linalg.norm(gradients, axis=1, keepdims=True)
    return gradients * np.minimum(1.0, clip / lengths)


@pytest.mark.parametrize("seed", [None, SEED])
def test_nothing_without_noise_crosses_the_boundary(seed):
    # Against every gradient that a message may hold, and none: what is left is noise, each time of
    # size sigma. That a normal vector of 7 has a norm below sigma / 100 has probability 1e-17.
    data = make_data()
    rules = make_rules(data)
    pool = in_process(data, seed=seed)
    pool.begin(rules, 10)
    starts = np.cumsum([0, *(user.n_rows for user in USERS)])
    w = np.full(data.n_features, 0.25)
    gradients = exact_gradients(data, w, rules.clip)
    for index in range(10):
        answers = pool.round(index, w)
        assert set(vars(answers)) == {"joined", "declined", "total", "messages", "rejected"}
        assert answers.total.tolist() == answers.messages.sum(axis=0).tolist()
        for place, message in zip(answers.joined, answers.messages, strict=True):
            sent = np.ldexp(message.astype(float), -rules.grid_bits)
            own = gradients[starts[place] : starts[place + 1]]
            for candidate in (*own, own.sum(axis=0), own.mean(axis=0), np.zeros_like(sent)):
                assert np.linalg.norm(sent - candidate) > rules.sigma / 100


def test_without_noise_a_message_is_the_clipped_gradient_of_one_row():
    # The control of the test above: with noise of zero the same comparison finds the row.
    data = make_data()
    rules = make_rules(data, noise_multiplier=0.0)
    pool = in_process(data)
    pool.begin(rules, 5)
    w = np.full(data.n_features, 0.25)
    gradients = exact_gradients(data, w, rules.clip)
    starts = np.cumsum([0, *(user.n_rows for user in USERS)])
    answers = pool.round(0, w)
    for place, message in zip(answers.joined, answers.messages, strict=True):
        sent = np.ldexp(message.astype(float), -rules.grid_bits)
        own = gradients[starts[place] : starts[place + 1]]
        assert np.abs(own - sent).max(axis=1).min() < 1e-4


def test_an_empty_sample_is_answered_with_noise_alone():
    data = make_data()
    rules = make_rules(data, sampling="poisson", rate=2.0**-60)
    pool = in_process(data)
    pool.begin(rules, 5)
    answers = pool.round(0, np.zeros(data.n_features))
    assert answers.joined.tolist() == [0, 2]
    assert (answers.messages != 0).all()
    noise = SeededNoise(user_seed(SEED, "a"))
    noise.coins(20, rules.coin_weight)
    expected = noise.gaussian(rules.mechanism.scale(rules.sensitivity), rules.n_features)
    assert answers.messages[0].tolist() == expected.tolist()


def test_users_of_the_system_have_noise_of_the_stated_size():
    # 40 users x 7 features x 25 rounds: 7,000 normals. The mean of their squares deviates from 1 by
    # more than 0.12 with probability below 1e-11 (chi squared).
    data = make_data(400)
    users = [User(f"u{i}", 10, 8.0, 1e-6) for i in range(40)]
    rules = make_rules(data, clip=2.0**-10, noise_multiplier=8.0)
    pool = in_process(data, users, seed=None)
    pool.begin(rules, 25)
    sent = [pool.round(i, np.zeros(data.n_features)).messages for i in range(25)]
    scaled = np.ldexp(np.concatenate(sent).astype(float), -rules.grid_bits) / rules.sigma
    assert abs((scaled**2).mean() - 1) < 0.12


def test_who_is_away_is_neither_charged_nor_in_the_sum():
    data = make_data()
    rules = make_rules(data)
    pool = in_process(data, absent=lambda index: np.array([index == 0, False, False]))
    pool.begin(rules, 5)
    assert pool.round(0, np.zeros(data.n_features)).joined.tolist() == [2]
    assert pool.rounds_joined.tolist() == [0, 0, 1]
    assert pool.round(1, np.zeros(data.n_features)).joined.tolist() == [0, 2]


def test_no_user_able_to_join_is_said_before_anything_is_spent():
    data = make_data()
    pool = in_process(data)
    with pytest.raises(BudgetExceededError, match="No user can join the first round"):
        pool.begin(make_rules(data, noise_multiplier=0.01), 5)
    assert not pool.rounds_joined.any()


def test_users_who_do_not_own_the_rows_are_refused():
    data = make_data()
    for users in ((), USERS[:2], (*USERS, User("d", 0, 1.0, 1e-6))):
        with pytest.raises(InvalidInputError, match="together own the 53 rows"):
            in_process(data, users)


def test_rules_are_agreed_on_once_and_rounds_rise():
    data = make_data()
    pool = in_process(data)
    with pytest.raises(InvalidInputError, match="rising order, after the rules"):
        pool.round(0, np.zeros(data.n_features))
    pool.begin(make_rules(data), 5)
    with pytest.raises(InvalidInputError, match="agreed on once"):
        pool.begin(make_rules(data), 5)
    pool.round(1, np.zeros(data.n_features))
    with pytest.raises(InvalidInputError, match="rising order"):
        pool.round(1, np.zeros(data.n_features))


def test_layouts_give_the_same_messages():
    from dataclasses import replace

    from scipy.sparse import csr_matrix

    data = make_data()
    rules, sent = make_rules(data), []
    for X in (data.X, csr_matrix(data.X)):
        pool = in_process(replace(data, X=X))
        pool.begin(rules, 3)
        sent.append(pool.round(0, np.full(data.n_features, 0.5)).messages.tobytes())
    assert sent[0] == sent[1]


@pytest.mark.parametrize("same_number", [False, True], ids=["another", "same"])
def test_a_forked_process_cannot_spend_the_budgets_again(monkeypatch, same_number):
    data = make_data()
    pool = in_process(data)
    pool.begin(make_rules(data), 5)
    if same_number:
        pool._forked = True
    else:
        monkeypatch.setattr("os.getpid", lambda: -1)
    with pytest.raises(InvalidInputError, match="forked after the pool began"):
        pool.round(0, np.zeros(data.n_features))


@pytest.mark.parametrize(
    "changes",
    [{"n_features": 2}, {"loss": "hinge"}, {"row_norm": 0.5}, {"raw_norm_bound": 0.5}],
)
def test_rules_for_other_rows_are_refused(changes):
    data = make_data()
    pool = in_process(data)
    with pytest.raises(InvalidInputError, match="another loss, or rows of other bounds"):
        pool.begin(make_rules(data, **changes), 5)


@pytest.mark.parametrize("width", [1, 6, 8])
def test_parameters_of_another_width_are_refused_before_a_round_is_charged(width):
    data = make_data()
    pool = in_process(data)
    pool.begin(make_rules(data), 5)
    with pytest.raises(InvalidInputError, match="parameters w of 7 values"):
        pool.round(0, np.zeros(width))
    assert not pool.rounds_joined.any()


def test_rounds_are_asked_one_at_a_time():
    # Who may join is looked up, then charged: of two rounds at once both would find the last one
    # of a user's rounds unspent. ``absent`` runs within a round.
    data, inside, most = make_data(), [], []

    def absent(index):
        inside.append(index)
        most.append(len(inside))
        time.sleep(0.05)
        inside.remove(index)
        return np.zeros(len(USERS), dtype=bool)

    def ask(index):
        with contextlib.suppress(InvalidInputError):  # the other, later round may come first
            pool.round(index, np.zeros(data.n_features))

    pool = in_process(data, seed=None, absent=absent)
    pool.begin(make_rules(data), 1)
    threads = [threading.Thread(target=ask, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert pool.rounds_joined.max() == 1


def test_rules_that_draw_for_themselves_are_refused():
    from dpcore_a_ddp.pools.round_rules import GradientRounds

    class Silent(GradientRounds):
        def draw(self, noise, shape, threads=1):
            return np.zeros(shape, dtype=np.int64)

    data = make_data()
    rules = Silent(**vars(make_rules(data)))
    for pool in both_pools(data):
        with pytest.raises(InvalidInputError, match="dpcore's own GradientRounds, not Silent"):
            pool.begin(rules, 3)


def test_rules_are_agreed_on_once_by_whoever_comes_first(monkeypatch):
    # Whoever began again while the limits were found had the rounds of both.
    data = make_data()
    pool, rules = in_process(data), make_rules(data)
    dry_run = type(pool)._dry_run

    def begins_again(self, rules):
        monkeypatch.setattr(type(pool), "_dry_run", dry_run)
        pool.begin(rules, 30)
        pool.round(0, np.zeros(data.n_features))
        return dry_run(self, rules)

    monkeypatch.setattr(type(pool), "_dry_run", begins_again)
    with pytest.raises(InvalidInputError, match="agreed on once"):
        pool.begin(rules, 30)
    assert pool.rounds_joined.max() == 1


def test_an_interrupt_leaves_every_round_that_was_begun_charged(monkeypatch):
    data = make_data()
    pool = in_process(data)
    pool.begin(make_rules(data), 20)
    w = np.zeros(data.n_features)
    pool.round(0, w)
    before = pool.rounds_joined

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(pool, "_answer_each", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pool.round(1, w)
    # Debited first: the round is lost, the debit is not.
    assert (pool.rounds_joined - before).max() == 1
    assert len(pool._account.ledger) == 2
    with pytest.raises(InvalidInputError, match="rising order"):
        pool.round(1, w)
