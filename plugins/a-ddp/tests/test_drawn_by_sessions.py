"""A user's sample and noise, and a pool's, are drawn as sessions draw theirs."""

import numpy as np
import pytest
from pool_users import in_process, make_data, make_rules, open_user

from dpcore.plugin.parts import Account, SeededNoise


def draw_then_charge(self, event, entry, draw):
    """The broken twin of ``Account.charge_then_draw``."""
    drawn = draw()
    after = self._filter.compose(event)
    self.ledger.charge(entry())
    self._filter = after
    return drawn


class WatchedEntropy:
    """Words of a seed, each asked for when the charges are as many as they should be."""

    seeded = True

    def __init__(self, inner, charged):
        self.inner, self.charged, self.asked = inner, charged, 0

    def words(self, n):
        assert self.charged(), "Words were drawn before the charge."
        self.asked += 1
        return self.inner.words(n)


def answer_watched(rules):
    """Let a user answer two rounds; every word is drawn with the round in the user's ledger."""
    data = make_data()
    user = open_user(data, make_rules(data, **rules))
    noises = {id(s._noise): s._noise for s in user._sessions}.values()
    asked = [0]
    for noise in noises:
        noise._entropy = WatchedEntropy(noise._entropy, lambda: user.rounds_joined == asked[0])
    for index in range(2):
        asked[0] = index + 1
        user.answer(index, np.zeros(data.n_features))
    assert all(noise._entropy.asked for noise in noises)


def round_watched(rules):
    """Let a pool without seeded users make a round; every word is drawn with it charged."""
    data = make_data()
    pool = in_process(data, seed=None)
    noise = SeededNoise(4)
    pool._noises = (noise,)
    pool.begin(make_rules(data, **rules), 3)
    noise._entropy = WatchedEntropy(noise._entropy, lambda: pool.rounds_joined.max() == 1)
    answers = pool.round(0, np.zeros(data.n_features))
    assert noise._entropy.asked and answers.joined.size > 1
    (entry,) = pool._account.ledger.entries
    assert (entry.round, entry.users) == (0, answers.joined.size)


SAMPLINGS = [{}, {"sampling": "poisson", "rate": 0.5}, {"sampling": "pass"}]


@pytest.mark.parametrize("rules", SAMPLINGS, ids=["one-row", "poisson", "pass"])
@pytest.mark.parametrize("run", [answer_watched, round_watched])
def test_nothing_is_drawn_before_it_is_charged(monkeypatch, run, rules):
    run({"noise_multiplier": 8.0, **rules})
    monkeypatch.setattr(Account, "charge_then_draw", draw_then_charge)
    with pytest.raises(AssertionError, match="before the charge"):
        run({"noise_multiplier": 8.0, **rules})
