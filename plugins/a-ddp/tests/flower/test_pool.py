"""The server's side without Flower: what it makes of the bytes of honest and of other users."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dpcore import Schema, fit
from dpcore.errors import BudgetExceededError, InvalidInputError
from dpcore.plugin import Settings
from dpcore.plugin.commands import make_plan
from dpcore.plugin.parts import Dataset, GdpAccountant, Logistic
from dpcore_a_ddp.flower.member import Member, answer
from dpcore_a_ddp.flower.pool import FlowerPool
from dpcore_a_ddp.flower.wire import pack_answer
from dpcore_a_ddp.pools.in_process import InProcessPool
from dpcore_a_ddp.users.messages import Declined, Reply, User
from dpcore_a_ddp.users.user_fits import fit_pool


class Bytes:
    """Users in this process; ``twist`` changes the bytes that arrive."""

    def __init__(self, own_files, twist=None):
        self.members = [Member.read(file) for file in own_files]
        self.twist = twist or (lambda index, sent: sent)
        self.asked = 0

    def ask(self, index, question):
        self.asked += 1
        yield from self.twist(index, [answer(member, question) for member in self.members])


def make_filter(epsilon, delta):
    return GdpAccountant.from_budget(epsilon, delta)


def run(pool, rules, rounds):
    """Every round's answers; the parameters depend on what was sent."""
    pool.begin(rules, rounds)
    w, made = np.zeros(rules.n_features), []
    for index in range(rounds):
        made.append(pool.round(index, w))
        w = np.round(made[-1].total * 2.0**-rules.grid_bits, 3)
    return made


def test_with_a_seed_it_is_the_pool_of_one_process(table, own_files, rules, users):
    data = Dataset.from_file(table / "rows.csv", Schema.read(table / "schema.toml"))
    whole = run(InProcessPool(users, data, Logistic(), make_filter, seed=5), rules, 5)
    apart = run(FlowerPool(users, Bytes(own_files), make_filter), rules, 5)
    for one, other in zip(whole, apart, strict=True):
        assert np.array_equal(one.total, other.total)
        assert np.array_equal(one.joined, other.joined)
        assert np.array_equal(one.declined, other.declined)
    assert {answers.joined.size for answers in apart} == {2, 3}


def test_it_counts_what_it_took(own_files, rules, users):
    pool = FlowerPool(users, Bytes(own_files), make_filter)
    made = run(pool, rules, 3)
    assert pool.rounds_joined.tolist() == [
        sum(place in answers.joined for answers in made) for place in range(3)
    ]
    assert (pool.rounds_allowed >= pool.rounds_joined).all()


HUGE = np.full(3, 2**62)
NAN = np.full(3, np.nan).view(np.int64)


@pytest.mark.parametrize(
    ("forged", "reason"),
    [
        (b"rubbish", "no message of a user"),
        (None, "no message of a user"),
        (pack_answer(Reply("mallory", 1, np.ones(3, np.int64))), "no such user"),
        (pack_answer(Reply("anna", 0, np.ones(3, np.int64))), "another round"),
        (pack_answer(Reply("anna", 1, np.ones(2, np.int64))), "has not 3 values"),
        (pack_answer(Reply("anna", 1, np.ones(0, np.int64))), "has not 3 values"),
        (pack_answer(Reply("anna", 1, HUGE)), "larger than"),
        (pack_answer(Reply("anna", 1, NAN)), "larger than"),
        (pack_answer(Reply("anna", 1, np.full(3, -(2**63)))), "larger than"),
    ],
)
def test_what_is_false_is_dropped_reported_and_in_no_sum(own_files, rules, users, forged, reason):
    def twist(index, sent):
        return [forged, *sent[1:]] if index == 1 else sent

    told = []
    pool = FlowerPool(
        users, Bytes(own_files, twist), make_filter, on_round=lambda *round: told.append(round)
    )
    first, second = run(pool, rules, 2)
    assert first.joined.size == 3 and first.rejected == ()
    assert second.joined.tolist() == [1, 2]
    assert np.array_equal(second.total, second.messages.sum(axis=0))
    assert [reason in dropped.reason for dropped in second.rejected] == [True]
    assert [index for index, _, _ in told] == [0, 1]
    assert pool.rounds_joined.tolist() == [1, 2, 2]


def test_a_message_that_comes_twice_counts_once(own_files, rules, users):
    def twist(index, sent):
        return [sent[0], sent[0], *sent[1:]]

    made = run(FlowerPool(users, Bytes(own_files, twist), make_filter), rules, 1)[0]
    assert made.joined.tolist() == [0, 1, 2]
    assert ["second message" in dropped.reason for dropped in made.rejected] == [True]
    assert np.array_equal(made.total, made.messages.sum(axis=0))


def test_a_message_of_the_round_before_is_not_averaged_again(own_files, rules, users):
    seen = []

    def twist(index, sent):
        seen.append(sent)
        return seen[0]

    made = run(FlowerPool(users, Bytes(own_files, twist), make_filter), rules, 2)
    assert made[0].joined.size == 3 and made[1].joined.size == 0
    assert not made[1].total.any() and len(made[1].rejected) == 3


def test_users_who_are_silent_are_not_in_the_round(own_files, rules, users):
    def twist(index, sent):
        return sent[1:2] if index == 1 else sent

    made = run(FlowerPool(users, Bytes(own_files, twist), make_filter), rules, 3)
    assert [answers.joined.size for answers in made] == [3, 1, 2]
    assert made[2].declined.size == 1


def test_when_nobody_is_heard_of_for_three_rounds_the_run_ends(own_files, rules, users):
    told = []
    post = Bytes(own_files, lambda index, sent: sent[1:2] if index in (0, 3) else [])
    pool = FlowerPool(users, post, make_filter, on_round=lambda *round: told.append(round))
    made = run(pool, rules, 7)
    assert [answers.joined.size for answers in made] == [1, 0, 0, 1, 0, 0, 0]
    assert [answers.declined.size for answers in made] == [0, 0, 0, 0, 0, 0, 3]
    assert set(told[-1][2]) == {"anna", "ben", "cleo"}
    assert pool.rounds_joined.tolist() == [0, 2, 0]


def test_a_decline_is_an_answer(own_files, rules, users):
    def twist(index, sent):
        return [pack_answer(Declined("anna", index, "No.")), *sent[1:]]

    told = []
    post = Bytes(own_files, twist)
    pool = FlowerPool(users, post, make_filter, on_round=lambda *round: told.append(round))
    made = run(pool, rules, 1)[0]
    assert made.declined.tolist() == [0] and made.joined.tolist() == [1, 2]
    assert made.rejected == () and told[0][2] == {"anna": "No."}


def test_nobody_able_to_join_is_said_before_anybody_is_asked(own_files, rules):
    poor = [User(name, 5, 0.01, 1e-9) for name in ("anna", "ben", "cleo")]
    post = Bytes(own_files)
    with pytest.raises(BudgetExceededError, match="No user can join the first round"):
        FlowerPool(poor, post, make_filter).begin(rules, 5)
    assert post.asked == 0


def test_rules_that_are_not_private_are_not_even_sent(own_files, rules, users):
    pool = FlowerPool(users, Bytes(own_files), make_filter)
    for bad in (replace(rules, noise_multiplier=0.0), replace(rules, as_published=True)):
        with pytest.raises(InvalidInputError, match="not private"):
            pool.begin(bad, 5)
    with pytest.raises(InvalidInputError, match="after the rules"):
        pool.round(0, np.zeros(3))
    pool.begin(rules, 5)
    with pytest.raises(InvalidInputError, match="agreed on once"):
        pool.begin(rules, 5)


def test_the_ledgers_hold_what_was_taken(own_files, rules, users):
    pool = FlowerPool(users, Bytes(own_files), make_filter)
    run(pool, rules, 4)
    for own_file, joined in zip(own_files, pool.rounds_joined, strict=True):
        lines = (own_file.parent / "ledger.jsonl").read_text().splitlines()
        debits = [json.loads(line)["debit"] for line in lines if "debit" in line]
        assert len(debits) == len(set(debits)) == joined


def test_a_fit_over_messages_is_the_fit_of_one_process(table, own_files, users):
    schema = Schema.read(table / "schema.toml")
    asked = {"algo": "sgd-maj", "epsilon": 8.0, "delta": 1e-6, "params": {"rounds": 4}, "seed": 5}
    asked["users"] = str(table / "users.csv")
    pool = FlowerPool(users, Bytes(own_files), make_filter, reference=(8.0, 1e-6))
    apart = fit_pool(make_plan(Settings(**asked)), schema, pool)
    whole = fit(table / "rows.csv", schema=schema, **asked)
    assert np.array_equal(apart.w, whole.w) and apart.w.any()
    assert apart.details == whole.details and not apart.privacy["private"]
    assert apart.privacy["sentence"] == whole.privacy["sentence"]


def test_an_algorithm_that_asks_no_users_is_refused(table, own_files, users):
    plan, schema = make_plan(Settings(algo="a-ddp")), Schema.read(table / "schema.toml")
    plan = replace(plan, optimizer=make_plan(Settings(algo="dp-gd")).optimizer)
    with pytest.raises(InvalidInputError, match="all rows in one place"):
        fit_pool(plan, schema, FlowerPool(users, Bytes(own_files), make_filter))
