"""Users of smaller budgets: shares of the clip or the rate, and what each of them is charged."""

import dataclasses

import numpy as np
import pytest
from pool_users import make_data, make_filter, make_rules, open_user, problem_of

from dpcore.errors import InvalidInputError
from dpcore.plugin import NeighboringRelation
from dpcore.plugin.parts import Logistic, load_registry
from dpcore_a_ddp.a_ddp import ADdp
from dpcore_a_ddp.pools.budget_groups import budget_groups
from dpcore_a_ddp.pools.in_process import InProcessPool
from dpcore_a_ddp.pools.user_budgets import Filters, rounds_within
from dpcore_a_ddp.users.messages import User

GROUPS = ((0.4, 0.25), (2.0, 0.5), (4.0, 1.0))
SECURE = {"trust": "secure-aggregation", "threshold": 3, "colluding": 0}


@pytest.mark.parametrize("changes", [{}, SECURE, {"relation": "replace-special", "clip": 0.3}])
@pytest.mark.parametrize(("epsilon", "share"), [(0.1, 0.25), (0.5, 0.25), (3.9, 0.5), (4.0, 1.0)])
def test_a_share_of_the_clip_leaves_the_noise_and_raises_the_multiplier(epsilon, share, changes):
    rules = make_rules(make_data(), groups=GROUPS, noise_multiplier=3.7, **changes)
    own = rules.of_budget(epsilon)
    assert own.clip == share * rules.clip and own.noise_multiplier == 3.7 / share
    assert own.sigma == rules.sigma and own.grid_bits == rules.grid_bits
    scales = [each.mechanism.scale(each.sensitivity).steps for each in (own, rules)]
    assert scales[0] == scales[1]
    assert own.sensitivity.bound == share * rules.sensitivity.bound
    charged, whole = own.event(20), rules.event(20)
    if rules.is_secure:
        assert charged.variance == whole.variance
        assert charged.l2_bound == pytest.approx(share * whole.l2_bound, rel=1e-15)
    else:
        assert charged.noise_multiplier == whole.noise_multiplier / share


class OfTheRun(type(make_rules(make_data()))):
    """The broken twin: a user of a share is charged for it, and clips at the clip of the run."""

    def gradient(self, loss, w, n_rows):
        return dataclasses.replace(super().gradient(loss, w, n_rows), clip=self.clip / self.share)


def moved(own, data):
    """Return the norm by which a row's replacement moves what is asked of a user's rows."""
    w = np.zeros(data.n_features)
    ends = []
    for sign in (1.0, -1.0):
        one = data.take(np.arange(data.y.size) == 0)
        one = dataclasses.replace(one, y=np.array([sign]))
        query = own.gradient(Logistic(), w, 1)
        ends.append(sum(query.answer_block(block) for block in one.table().blocks))
    return float(np.linalg.norm(np.ldexp((ends[0] - ends[1]).astype(float), -own.grid_bits)))


@pytest.mark.parametrize(("kind", "holds"), [(None, True), (OfTheRun, False)])
def test_a_record_moves_a_message_by_the_share_of_the_clip(kind, holds):
    data = make_data()
    own = make_rules(data, clip=0.25, groups=((0.4, 0.25),)).of_budget(0.5)
    if kind is not None:
        own = kind(**{field.name: getattr(own, field.name) for field in dataclasses.fields(own)})
    assert (moved(own, data) <= own.sensitivity.bound) == holds


def three_users(n_rows=100, tenth=0.4):
    return (
        User("least", n_rows, tenth, 1e-6),
        User("middle", n_rows, 4.0, 1e-6),
        User("most", n_rows, 12.0, 1e-6),
    )


def fit_users(users, **options):
    data = make_data(sum(user.n_rows for user in users))
    filters = Filters(
        load_registry().load("accountant", "sampling-composition").from_budget(4.0, 1e-6)
    )
    pool = InProcessPool(users, data, Logistic(), filters, seed=1)
    problem = problem_of(data, NeighboringRelation.REPLACE_SPECIAL)
    optimizer = ADdp(rounds=20, most_rounds=20, **options)
    return optimizer.minimize(problem, pool), pool


@pytest.mark.parametrize(
    ("unequal", "rate", "least"), [("rounds", None, 0), ("clip", None, 20), ("rate", 0.3, 20)]
)
def test_a_user_of_a_tenth_of_the_middle_budget_joins_every_round(unequal, rate, least):
    solution, pool = fit_users(three_users(), unequal=unequal, rate=rate)
    assert pool.rounds_joined.tolist() == [least, 20, 20]
    groups = solution.details.get(f"groups_by_{unequal}", [])
    if unequal != "rounds":
        assert groups[0]["epsilon_from"] == 0.4 and groups[0]["share"] < 0.5
        assert groups[-1]["share"] == 1.0
    if unequal == "rate":  # of the rows, in the mean
        rates = [pool.rules.of_budget(user.epsilon).rate for user in pool.users]
        assert 0.285 <= np.mean(rates) < 0.35
    for user, rounds in zip(pool.users, pool.rounds_joined, strict=True):
        event = pool.rules.of_budget(user.epsilon).event(user.n_rows)
        held = pool.filter_of(user.epsilon, user.delta)
        assert rounds_within(held, event, 20) >= rounds


def test_the_share_is_the_largest_step_with_which_the_rounds_fit():
    data = make_data(300)
    pool = InProcessPool(three_users(), data, Logistic(), make_filter, seed=1)
    rules = make_rules(data, noise_multiplier=6.0, amplified=False)
    (epsilon, share), whole = budget_groups(rules, pool, 20)
    assert (epsilon, whole) == (0.4, (4.0, 1.0)) and share < 0.5
    held = make_filter(0.4, 1e-6)
    for times, fits in ((1, True), (2, False)):
        event = rules.with_share(times * share).event(100)
        assert held.holds({event: 20}) == fits


def test_budgets_that_all_hold_the_rounds_make_no_groups():
    data = make_data(300)
    pool = InProcessPool(three_users(tenth=3.9), data, Logistic(), make_filter, seed=1)
    assert budget_groups(make_rules(data, noise_multiplier=60.0), pool, 20) == ()


def test_hundreds_of_budgets_make_few_groups():
    users = tuple(User(f"u{i}", 1, 0.001 * 1.03**i, 1e-6) for i in range(400))
    data = make_data(400)
    pool = InProcessPool(users, data, Logistic(), make_filter, seed=1)
    groups = budget_groups(make_rules(data, noise_multiplier=6.0), pool, 5)
    assert 1 < len(groups) <= 16 and groups[-1][1] == 1.0


@pytest.mark.parametrize(
    "changes",
    [
        {"groups": ((1.0, 0.3),)},  # no power of two, so that noise would be rounded
        {"groups": ((2.0, 0.5), (1.0, 1.0))},
        {"groups": ((1.0, 1.0), (2.0, 0.5))},
        {"groups": ((1.0, 2.0),)},
        {"groups": ((1.0, 0.0),)},
        {"groups": ((float("nan"), 0.5),)},
        {"groups": ((1.0, 0.5), (1.0, 1.0))},
        {"groups": ((1.0,),)},
        {"groups": tuple((float(i), 0.5) for i in range(17))},
        {"groups": "ab"},
        {"groups": ((1.0, 0.5),), "shares_of": "noise"},
        {"groups": ((1.0, 0.5),), "shares_of": "rate"},  # no Poisson samples
        {"groups": ((1.0, 0.5),), "as_published": True},
        {"share": 0.3},
        {"groups": ((1.0, 0.5),), "share": 0.5},
        {"planned": -1},
        {"planned": 10**400},
    ],
)
def test_groups_that_are_none_are_refused(changes):
    with pytest.raises(InvalidInputError):
        make_rules(make_data(), **changes)


@pytest.mark.parametrize("changes", [{}, {"groups": ((1.0, 0.5),)}])
def test_rules_of_a_user_of_a_share_are_no_rules_of_a_run(changes):
    """With groups beside a tiny share, a user's grid would be finer than the run's, on which each
    masked message by itself, noise and all, would be truncated to zeros or not."""
    rules = make_rules(make_data(), trust="secure-aggregation", threshold=101, **changes)
    object.__setattr__(rules, "share", 2.0**-38)
    assert (rules.of_budget(2.0).grid_bits > rules.grid_bits) == bool(changes)
    with pytest.raises(InvalidInputError, match="the rules of a run"):
        open_user(make_data(), rules)


def test_groups_travel_with_the_rules_and_older_rules_keep_their_digest():
    data = make_data()
    rules = make_rules(data, groups=GROUPS)
    assert type(rules).from_dict({**rules.to_dict(), "groups": [list(g) for g in GROUPS]}) == rules
    assert "groups" not in make_rules(data).to_dict() and "share" not in rules.to_dict()
    # Of dpcore at the commit b08b9208, before there were groups: what users' ledgers say.
    assert make_rules(data).digest.startswith("310c513df9f21ab6")
    assert rules.digest != make_rules(data).digest
    assert open_user(data, rules, place=1).rounds_joined == 0


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"unequal": "rate"}, "rate with unequal"),
        ({"unequal": "clip", "as_published": True}, "noise=planned"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, match):
    with pytest.raises(InvalidInputError, match=match):
        ADdp(**options)
