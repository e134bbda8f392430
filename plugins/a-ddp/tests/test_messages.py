"""What the server takes: each well-formed reply of a known user once, and nothing else."""

import numpy as np
import pytest
from pool_users import USERS, both_pools, make_data, make_rules

from dpcore_a_ddp.users.messages import Declined, Inbox, Reply

TERMS = make_rules(make_data())
HONEST = np.arange(7)


def collect(messages, rules=TERMS):
    return Inbox(rules, USERS).collect(4, messages)


def reply(user="a", index=4, values=HONEST):
    return Reply(user, index, values)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (None, "no message"),
        (b"\x00" * 56, "no message"),
        ({"user": "a"}, "no message"),
        (reply("nobody"), "no such user"),
        (reply(None), "no such user"),
        (reply(index=3), "another round"),
        (reply(index=True), "another round"),
        (reply(index="4"), "another round"),
        (reply(values=HONEST[:6]), "has not 7 values"),
        (reply(values=HONEST.reshape(1, 7)), "has not 7 values"),
        (reply(values=HONEST.astype(float)), "not whole numbers"),
        (reply(values=np.full(7, np.nan)), "not whole numbers"),
        (reply(values=HONEST.tolist()), "not whole numbers"),
        (reply(values=HONEST.astype(np.uint64)), "not whole numbers"),
        (reply(values=np.full(7, 2**62)), "larger than"),
        (reply(values=np.full(7, -(2**63))), "larger than"),
        (Declined("nobody", 4, ""), "no such user"),
    ],
)
def test_what_is_malformed_is_dropped_reported_and_never_averaged(bad, reason):
    answers = collect([bad, reply("c")])
    assert answers.joined.tolist() == [2]
    assert answers.total.tolist() == HONEST.tolist()
    assert len(answers.rejected) == 1 and reason in answers.rejected[0].reason


def test_no_sum_of_fewer_users_than_the_threshold_is_seen():
    rules = make_rules(make_data(), trust="secure-aggregation", threshold=2, colluding=0)
    enough, few = ([reply(user) for user in users] for users in ("ac", "a"))
    answers = collect(enough, rules)
    assert answers.messages is None and answers.joined.tolist() == [0, 2]
    assert answers.total.tolist() == (2 * HONEST).tolist()
    answers = collect([*few, Declined("c", 4, "enough")], rules)
    assert not answers.joined.size and not answers.total.any()


def test_a_message_that_is_replayed_counts_once():
    answers = collect([reply(), reply(), reply(values=HONEST + 1), Declined("a", 4, "")])
    assert answers.joined.tolist() == [0]
    assert answers.total.tolist() == HONEST.tolist()
    assert [r.reason for r in answers.rejected] == [
        "it is the user's second message of the round"
    ] * 3


def test_a_reply_of_an_earlier_round_is_not_taken_for_this_one():
    inbox = Inbox(TERMS, USERS)
    inbox.collect(0, [reply(index=0)])
    answers = inbox.collect(1, [reply(index=0)])
    assert not answers.joined.size and not answers.total.any()
    assert "another round" in answers.rejected[0].reason


def test_declines_are_normal_answers():
    answers = collect([Declined("a", 4, "enough"), reply("c")])
    assert (answers.declined.tolist(), answers.joined.tolist()) == ([0], [2])
    assert not answers.rejected


def test_every_honest_message_is_within_the_limit():
    # 45 standard deviations: no honest message is ever dropped.
    sigma_steps = np.ldexp(TERMS.sigma, TERMS.grid_bits)
    answers = collect([reply(values=np.full(7, int(40 * sigma_steps)))])
    assert answers.joined.tolist() == [0]


def test_a_rejection_names_no_value():
    answers = collect([reply(values=np.full(7, 2**62))])
    assert not any(character.isdigit() for character in answers.rejected[0].reason)


def test_a_pool_goes_on_past_messages_that_are_lost_forged_or_doubled():
    data = make_data()

    def deliver(messages):
        arrived = [message for message in messages if message.user != "c"]
        forged = Reply("c", 99, np.zeros(7, dtype=np.int64))
        return [*arrived, *arrived, forged, None]

    _, plain = both_pools(data, deliver=deliver)
    plain.begin(make_rules(data), 5)
    answers = plain.round(0, np.zeros(7))
    assert answers.joined.tolist() == [0]
    assert len(answers.rejected) == 4
    # The reply that was lost is paid for all the same.
    assert plain.rounds_joined.tolist() == [1, 0, 1]
