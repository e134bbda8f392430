"""Rules, users and filters that an optimizer alters after the pool has begun, or before."""

import dataclasses

import numpy as np
import pytest
from pool_users import USERS, both_pools, make_data, make_rules, open_user

from dpcore.errors import InvalidInputError

DATA = make_data()


class Quiet(float):
    """A number that becomes another one when it is scaled."""

    def __rmul__(self, other):
        return 1e-9


def altered(rules):
    object.__setattr__(rules, "noise_multiplier", 1e-9)


@pytest.mark.parametrize("place", [0, 1])
def test_rules_altered_after_the_agreement_change_nothing(place):
    honest, pool = both_pools(DATA)[place], both_pools(DATA)[place]
    rules = make_rules(DATA)
    honest.begin(make_rules(DATA), 5)
    pool.begin(rules, 5)
    altered(rules)
    altered(pool.rules)
    assert pool.rules == make_rules(DATA)
    w = np.zeros(DATA.n_features)
    assert pool.round(0, w).total.tobytes() == honest.round(0, w).total.tobytes()


def test_a_user_keeps_the_rules_that_it_agreed_to():
    rules, w = make_rules(DATA), np.zeros(DATA.n_features)
    session, honest = open_user(DATA, rules), open_user(DATA, make_rules(DATA))
    altered(rules)
    assert session.answer(0, w).values.tobytes() == honest.answer(0, w).values.tobytes()


@pytest.mark.parametrize("place", [0, 1])
def test_rules_are_agreed_on_once(place):
    pool = both_pools(DATA)[place]
    pool.begin(make_rules(DATA), 5)
    with pytest.raises(InvalidInputError, match="once"):
        pool.begin(make_rules(DATA), 5)


@pytest.mark.parametrize(
    "changes",
    [{"noise_multiplier": Quiet(4.0)}, {"clip": Quiet(1.0)}, {"amplified": 0}, {"clip": True}],
)
def test_rules_hold_plain_values_alone(changes):
    with pytest.raises(InvalidInputError, match=f"Expected {next(iter(changes))} to be"):
        make_rules(DATA, **changes)


WHOLE = [field.name for field in dataclasses.fields(make_rules(DATA)) if field.type == "int"]


@pytest.mark.parametrize("value", [10**400, -(10**400)])
@pytest.mark.parametrize("name", WHOLE)
def test_a_number_of_hundreds_of_digits_is_refused_by_its_name(name, value):
    # neighbours of a hostile server ended in an OverflowError, in a user's log.
    secure = {"trust": "secure-aggregation", "threshold": 267, "colluding": 40, "listed": 400}
    with pytest.raises(InvalidInputError, match=f"Expected {name} to be a number of 64 bits"):
        make_rules(DATA, **{**secure, "neighbours": 100, name: value})


@pytest.mark.parametrize("place", [0, 1])
def test_values_that_are_not_plain_are_refused_at_the_agreement(place):
    rules = make_rules(DATA)
    object.__setattr__(rules, "noise_multiplier", Quiet(4.0))
    with pytest.raises(InvalidInputError, match="noise_multiplier"):
        both_pools(DATA)[place].begin(rules, 5)


def test_numbers_of_numpy_are_taken_as_plain_ones():
    rules = make_rules(DATA, clip=np.float64(1.0), noise_multiplier=4)
    assert [type(rules.clip), type(rules.noise_multiplier)] == [float, float]
    assert rules.digest == make_rules(DATA).digest


@pytest.mark.parametrize("place", [0, 1])
def test_public_facts_of_a_pool_cannot_be_altered(place):
    pool = both_pools(DATA)[place]
    for name, value in (("epsilon", 1e6), ("n_rows", 10**6)):
        with pytest.raises((AttributeError, dataclasses.FrozenInstanceError)):
            object.__setattr__(pool.users[0], name, value)
    for name in ("users", "reference", "trust", "rules"):
        with pytest.raises(AttributeError):
            setattr(pool, name, None)
    object.__setattr__(pool.filter_of(2.0, 1e-6), "epsilon", 1e6)
    assert pool.filter_of(2.0, 1e-6).epsilon == 2.0
    allowed = pool.begin(make_rules(DATA), 5)
    pool.rounds_allowed[:] = 1000
    assert pool.rounds_allowed.tolist() == allowed.tolist()
    assert pool.users == USERS
