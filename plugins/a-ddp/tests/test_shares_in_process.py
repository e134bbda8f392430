"""Users of a share in one process: each is clipped, and drawn, by rules of its own."""

import numpy as np
import pytest
from pool_users import make_rules

from dpcore.plugin.parts import Logistic, dataset_from_arrays, load_registry
from dpcore_a_ddp.pools.in_process import InProcessPool
from dpcore_a_ddp.users.messages import User

SHARE, ROWS = 0.125, 400
ALONE = {"sampling": "pass", "groups": ((1e7, SHARE), (1e9, 1.0))}
DRAWN = {"sampling": "poisson", "rate": 1.0, "shares_of": "rate", "groups": ALONE["groups"]}
SECURE = {"trust": "secure-aggregation", "threshold": 2}


class OfTheRun(InProcessPool):
    """The broken twin: everybody is clipped, and drawn, by the rules of the run."""

    def _coefficients(self, own, w, rows):
        return super()._coefficients(self._rules or own, w, rows)

    def _draw(self, rules, joined, visits, noise):
        return super()._draw(self._rules, joined, visits, noise)


@pytest.mark.parametrize(("kind", "holds"), [(InProcessPool, True), (OfTheRun, False)])
@pytest.mark.parametrize(("seed", "secure"), [(None, {}), (None, SECURE), (1, {})])
@pytest.mark.parametrize(("changes", "draws"), [(ALONE, 1), (DRAWN, ROWS)])
def test_a_user_of_a_share_sends_its_share(changes, draws, seed, secure, kind, holds):
    """All rows are one and at the clip, and budgets hold noise that is next to none: what users
    send says how much of the clip, or how many of the rows, they took."""
    users = tuple(User(name, ROWS, epsilon, 1e-6) for name, epsilon in (("a", 1e7), ("b", 1e9)))
    X = np.tile([1.0, 0.0], (2 * ROWS, 1))
    data = dataset_from_arrays(X, np.ones(2 * ROWS), intercept=False)
    rules = make_rules(data, clip=0.25, noise_multiplier=1e-3, amplified=False, **changes, **secure)
    make_filter = load_registry().load("accountant", "rdp").from_budget
    pool = kind(users, data, Logistic(), make_filter, seed, trust=rules.trust)
    assert pool.begin(rules, 1).tolist() == [1, 1]
    answers = pool.round(0, np.zeros(data.n_features))
    sent = np.abs(np.ldexp(answers.total.astype(float), -rules.grid_bits)).max()
    # Binomial(400, 1/8) exceeds 100 with a probability below 1e-10.
    assert (sent < (1 + 2 * SHARE) * draws * 0.25) == holds
