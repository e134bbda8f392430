"""The check of a pool passes the pool in one process, and catches pools that leak or miscount."""

import dataclasses

import numpy as np
import pytest

from dpcore_a_ddp.pools.in_process import InProcessPool
from dpcore_a_ddp.users.pool_check import check_pool


class NoNoise(InProcessPool):
    def _noise(self, rules, noise, shape):
        return np.zeros(shape, dtype=np.int64)

    def _draw(self, rules, joined, visits, noise):
        none = np.empty(0, dtype=np.int64)
        return none, none  # an empty sample, and so zeros


class OneNoise(InProcessPool):
    """All users draw from the first one's stream, from its start."""

    def _answer_each(self, rules, query, joined, visits):
        messages = super()._answer_each(rules, query, joined, visits)
        return np.tile(messages[:1], (len(messages), 1))


class Free(InProcessPool):
    """Charges nobody."""

    @property
    def rounds_joined(self):
        return np.zeros(len(self.users), dtype=np.int64)


class Mixes(InProcessPool):
    """Adds a share of all rows to each message."""

    def _answer_each(self, rules, query, joined, visits):
        own = super()._answer_each(rules, query, joined, visits)
        return own + int(self._rows._y[:25].sum())


class HidesOne(InProcessPool):
    """Its total leaves a message out."""

    def round(self, index, w):
        answers = super().round(index, w)
        return dataclasses.replace(answers, total=answers.total - answers.messages[0])


class AgreesTwice(InProcessPool):
    def _require_no_rules(self):
        pass


@pytest.mark.slow
def test_the_pool_in_one_process_passes():
    assert "12 rounds" in check_pool(InProcessPool).what


@pytest.mark.parametrize(
    ("pool", "reason"),
    [
        (NoNoise, "noise is missing"),
        (OneNoise, "draw the same noise"),
        (Free, "are not those who answer"),
        (Mixes, "depends on the rows of another user"),
        (HidesOne, "not the sum of the messages"),
        (AgreesTwice, "agreed on a second time"),
    ],
)
def test_a_pool_that_leaks_or_miscounts_is_caught(pool, reason):
    with pytest.raises(AssertionError, match=reason):
        check_pool(pool)
