"""Secure aggregation: shares of the noise, sums alone, and nothing opened for too few."""

import numpy as np
import pytest
from pool_users import SEED, in_process, make_data, rows_of

from dpcore.errors import BudgetExceededError, InvalidInputError
from dpcore.plugin.parts import Logistic, SeededNoise
from dpcore_a_ddp.pools.round_rules import GradientRounds
from dpcore_a_ddp.pools.session_pool import SessionPool
from dpcore_a_ddp.pools.user_session import UserSession, user_seed
from dpcore_a_ddp.skellam_noise.composition import SkellamCompositionAccountant
from dpcore_a_ddp.users.messages import User

SECURE = "secure-aggregation"
USERS = tuple(User(f"u{i}", 10, 4.0, 1e-6) for i in range(12))
make_filter = SkellamCompositionAccountant.from_budget


def make_rules(data, **changes):
    values = {
        "loss": "logistic",
        "n_features": data.n_features,
        "row_norm": data.row_norm,
        "raw_norm_bound": data.raw_norm_bound,
        "relation": "replace-one",
        "clip": 1.0,
        "noise_multiplier": 4.0,
        "trust": SECURE,
        "threshold": 8,
        "colluding": 3,
    }
    return GradientRounds(**(values | changes))


def pool_of(data, users=USERS, **options):
    return in_process(data, users, make_filter, trust=SECURE, **options)


def test_the_server_gets_the_sum_and_no_message():
    data = make_data(120)
    pool = pool_of(data)
    assert pool.begin(make_rules(data), 5).min() == 5
    answers = pool.round(0, np.zeros(data.n_features))
    assert answers.messages is None
    assert answers.joined.size == 12
    assert set(vars(answers)) == {"joined", "declined", "total", "messages", "rejected"}


@pytest.mark.parametrize("rate", [None, 0.2])
def test_masked_sessions_add_up_to_the_sum_of_the_vectorised_pool(rate):
    data = make_data(120)
    rules = make_rules(data, rate=rate, sampling="one-row" if rate is None else "poisson")
    # Masks that add up to zero, as pairwise ones do; each alone is uniform on 64 bits.
    masks = np.random.default_rng(3).integers(-(2**63), 2**63, (4, 12, 7), dtype=np.int64)
    masks[:, -1] -= masks.sum(axis=1)
    sent = []

    def open_user(rules, place):
        user = USERS[place]
        return UserSession(
            user,
            rows_of(data, USERS, place),
            Logistic(),
            rules,
            make_filter(user.epsilon, user.delta),
            SeededNoise(user_seed(SEED, user.name)),
            mask=lambda index: masks[index, place],
        )

    def deliver(messages):
        sent.extend(messages)
        return messages

    plain = SessionPool(USERS, open_user, make_filter, deliver, trust=SECURE)
    fast = pool_of(data)
    assert plain.begin(rules, 4).tolist() == fast.begin(rules, 4).tolist()
    for index in range(4):
        w = np.full(data.n_features, 0.1 * index)
        ours, theirs = fast.round(index, w), plain.round(index, w)
        assert theirs.messages is None
        assert ours.total.tolist() == theirs.total.tolist()
    # What crossed is nowhere near what it hides: of 336 uniform numbers of 64 bits, one within
    # 2^40 of zero has a probability below 1e-4; all of a message's seven, below 1e-50.
    for message in sent:
        assert np.abs(message.values.astype(float)).max() > 2.0**40


@pytest.mark.slow
def test_the_noise_of_a_sum_is_that_of_the_users_in_it():
    # 12 users of whom 5 make up sigma: the variance is 12/5 sigma^2. 7 x 200 normals nearly; the
    # mean square deviates by more than a quarter with probability below 1e-9.
    data = make_data(120)
    rules = make_rules(data, clip=2.0**-10, noise_multiplier=30.0)
    pool = pool_of(data, seed=None)
    pool.begin(rules, 200)
    totals = [pool.round(i, np.zeros(7)).total for i in range(200)]
    scaled = np.ldexp(np.array(totals).astype(float), -rules.grid_bits) / rules.sigma
    assert (scaled**2).mean() == pytest.approx(12 / 5, rel=0.25)


def test_what_is_charged_is_the_noise_of_the_honest_at_the_threshold():
    data = make_data(120)
    rules = make_rules(data)
    event = rules.event(10).event
    share = rules.mechanism.variance(rules.sensitivity)
    assert float(share * 5) == pytest.approx(event.variance, rel=1e-12)
    assert float(share * 5) >= event.variance
    alone = make_rules(data, threshold=1, colluding=0)
    assert alone.mechanism.variance(alone.sensitivity) == share * 5


def test_too_few_users_join_nothing_and_are_not_charged():
    data = make_data(120)
    away = np.arange(12) < 5
    pool = pool_of(data, absent=lambda index: away & (index == 0))
    pool.begin(make_rules(data), 5)
    answers = pool.round(0, np.zeros(7))
    assert not answers.joined.size and not answers.total.any()
    assert answers.declined.tolist() == [5, 6, 7, 8, 9, 10, 11]
    assert not pool.rounds_joined.any()
    assert pool.round(1, np.zeros(7)).joined.size == 12


def test_too_few_users_with_a_budget_are_told_before_anything_is_spent():
    data = make_data(120)
    users = [User(u.name, 10, 4.0 if i < 7 else 1e-9, 1e-6) for i, u in enumerate(USERS)]
    pool = pool_of(data, users)
    with pytest.raises(BudgetExceededError, match="No user can join the first round"):
        pool.begin(make_rules(data), 5)


def test_a_share_does_not_leave_a_user_unmasked():
    data = make_data(120)
    parts = rows_of(data, USERS, 0), Logistic()
    with pytest.raises(InvalidInputError, match="must not leave a user unmasked"):
        UserSession(USERS[0], *parts, make_rules(data), make_filter(4.0, 1e-6))
    local = make_rules(data, trust="local", threshold=0, colluding=0)
    with pytest.raises(InvalidInputError, match="Expected the masks"):
        UserSession(USERS[0], *parts, local, make_filter(4.0, 1e-6), mask=lambda index: 0)


@pytest.mark.parametrize(
    "changes",
    [{"threshold": 0}, {"colluding": 8}, {"colluding": -1}, {"trust": "local"}, {"trust": "none"}],
)
def test_rules_without_an_honest_user_are_refused(changes):
    with pytest.raises(InvalidInputError, match="Expected"):
        make_rules(make_data(), **changes)


@pytest.mark.slow
def test_the_sum_of_all_shares_is_drawn_as_one_of_their_distribution():
    # 7 x 400 values of the sum at once and share by share: mean squares, each within a fifth of
    # 12/5 sigma^2 with probability above 1 - 1e-9.
    data = make_data(120)
    rules = make_rules(data, noise_multiplier=30.0)
    noise = SeededNoise(4)
    once = np.array([rules.draw_sum(noise, 12) for _ in range(400)], dtype=float)
    shares = np.array([rules.draw(noise, (12, 7)).sum(axis=0) for _ in range(400)], dtype=float)
    expected = 12 * float(rules.mechanism.variance(rules.sensitivity))
    for drawn in (once, shares):
        assert (drawn**2).mean() == pytest.approx(expected, rel=0.2)
    # Too wide for the distribution's table: drawn share by share.
    wide = make_rules(data, threshold=1, colluding=0)
    assert wide.draw_sum(noise, 12).shape == (7,)


def test_a_sum_of_some_users_is_drawn_share_by_share():
    data = make_data(120)
    rules = make_rules(data)
    pool = pool_of(data, seed=None, absent=lambda index: np.arange(12) == index)
    pool.begin(rules, 5)
    answers = [pool.round(i, np.zeros(7)) for i in (0, 20)]
    assert [a.joined.size for a in answers] == [11, 12]
    assert all(np.abs(a.total).max() > 0 and a.messages is None for a in answers)
