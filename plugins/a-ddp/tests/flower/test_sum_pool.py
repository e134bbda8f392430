"""Secure sums over messages: each step of each user in a process of its own, as it were."""

import json
import shutil
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from dpcore import Schema
from dpcore.errors import BudgetExceededError, DataError, InvalidInputError
from dpcore.plugin.parts import Dataset, load_registry
from dpcore_a_ddp.flower.member import Member, answer
from dpcore_a_ddp.flower.split import list_identities, share_out
from dpcore_a_ddp.flower.sum_member import answer_step, read_identity
from dpcore_a_ddp.flower.sum_pool import FlowerSumPool
from dpcore_a_ddp.flower.wire import (
    Question,
    SumStep,
    pack_answer,
    pack_question,
    unpack_answer,
    unpack_question,
)
from dpcore_a_ddp.pools.in_process import InProcessPool
from dpcore_a_ddp.secure_sums.context import Members
from dpcore_a_ddp.skellam_noise.composition import SkellamCompositionAccountant
from dpcore_a_ddp.users.messages import Declined, User

pytest.importorskip("cryptography", reason="needs the extra dpcore-a-ddp[secure]")

SEED = 5
SECURE = "secure-aggregation"
FIVE = tuple(User(f"user {i}", 3, 8.0, 1e-6) for i in range(5))
make_filter = SkellamCompositionAccountant.from_budget


@pytest.fixture
def sum_rules(rules):
    return replace(rules, trust=SECURE, threshold=4, colluding=1, listed=5, noise_multiplier=4.0)


@pytest.fixture
def five(table):
    """Files of five users, who have identities."""
    rows = (table / "rows.csv").read_text().splitlines()[:16]
    (table / "rows.csv").write_text("\n".join(rows) + "\n")
    lines = [f"{user.name},{user.epsilon},{user.delta},{user.n_rows}\n" for user in FIVE]
    (table / "users.csv").write_text("user,epsilon,delta,rows\n" + "".join(lines))
    given = (table / "rows.csv", table / "schema.toml", FIVE, table / "users")
    own = share_out(*given, "replace-one", "skellam-composition", SEED, colluding=1)
    list_identities(table / "users.csv", table / "users")
    return own


class Nodes:
    """A process for each step of each user; ``carry`` says what arrives of an answer, given the
    step, the place and the bytes."""

    def __init__(self, own_files, carry=lambda step, place, data: data):
        self.own_files, self.carry = own_files, carry
        self.memory = [b"" for _ in own_files]
        self.step = 0

    def ask_nodes(self, index, question):
        self.step = 0
        return self._answers(dict.fromkeys(range(len(self.own_files)), question))

    def send(self, index, messages):
        self.step += 1
        return self._answers(messages)

    def _answers(self, messages):
        for place, data in messages.items():
            member = Member.read(self.own_files[place])
            sent, self.memory[place] = answer_step(
                member, unpack_question(data), self.memory[place]
            )
            arrived = self.carry(self.step, place, sent)
            if arrived is not None:
                yield place, arrived


def pool_of(own_files, post=None, users=FIVE):
    members = Members.read(own_files[0].parent.parent / "members.csv")
    return FlowerSumPool(users, members, post or Nodes(own_files), make_filter)


def ledger_of(own_file):
    path = own_file.parent / "ledger.jsonl"
    lines = path.read_text().splitlines()[1:] if path.exists() else []
    return [json.loads(line).get("debit") for line in lines if "debit" in line]


def begin(own_file, rules, index=0):
    question = Question(rules, index, np.zeros(rules.n_features), b"")
    sent, memory = answer_step(Member.read(own_file), question, b"")
    return unpack_answer(sent), memory


def test_sums_are_those_of_one_process_to_the_bit(table, five, sum_rules):
    data = Dataset.from_file(table / "rows.csv", Schema.read(table / "schema.toml"))
    loss = load_registry().load("loss", "logistic")()
    one = InProcessPool(FIVE, data, loss, make_filter, trust=SECURE, seed=SEED)
    apart = pool_of(five)
    assert one.begin(sum_rules, 3).tolist() == apart.begin(sum_rules, 3).tolist()
    for index in range(3):
        w = np.full(sum_rules.n_features, 0.1 * index)
        ours, theirs = apart.round(index, w), one.round(index, w)
        assert ours.joined.tolist() == theirs.joined.tolist() == [0, 1, 2, 3, 4]
        assert ours.total.tolist() == theirs.total.tolist() and ours.total.any()
        assert ours.messages is None and not ours.rejected
    assert apart.rounds_joined.tolist() == [3] * 5
    assert "process of its own" in apart.rules.server_sees


@pytest.mark.slow
@pytest.mark.parametrize("step", [0, 2, 3])
def test_a_user_is_lost_at_any_step(five, sum_rules, step):
    lost = Nodes(five, lambda at, place, data: None if (at, place) == (step, 2) else data)
    pool = pool_of(five, lost)
    pool.begin(sum_rules, 3)
    first = pool.round(0, np.zeros(sum_rules.n_features))
    # One that is lost after its vector came is in the sum.
    assert first.joined.tolist() == ([0, 1, 3, 4] if step < 3 else [0, 1, 2, 3, 4])
    second = pool.round(1, np.ones(sum_rules.n_features))
    assert (2 in second.joined) == (step > 2)
    # What it drew is charged, once.
    assert ledger_of(five[2]).count(0) == int(step > 1)


def test_too_few_users_open_no_sum(five, sum_rules):
    gone = Nodes(five, lambda step, place, data: None if step == 2 and place < 2 else data)
    pool = pool_of(five, gone)
    pool.begin(sum_rules, 3)
    answers = pool.round(0, np.zeros(sum_rules.n_features))
    assert not answers.joined.size and not answers.total.any()
    assert any("no sum was opened" in message.reason for message in answers.rejected)
    silent = [m.user for m in answers.rejected if m.reason == "nothing of it came in time"]
    assert silent == ["user 0", "user 1"]


FALSE = {
    "rubbish": lambda sent: b"rubbish",
    "another user's name": lambda sent: pack_answer(
        SumStep("user 0", unpack_answer(sent).round, unpack_answer(sent).data)
    ),
    "another round": lambda sent: pack_answer(SumStep("user 3", 9, unpack_answer(sent).data)),
    "one bit": lambda sent: sent[:-1] + bytes([sent[-1] ^ 1]),
    "cut short": lambda sent: sent[:-70],
    "empty": lambda sent: pack_answer(SumStep("user 3", unpack_answer(sent).round, b"")),
}


class Storm(Nodes):
    """In every round but the first, false messages of a user's node before and after its own."""

    false, kept = 0, ()

    def _answers(self, messages):
        for place, sent in super()._answers(messages):
            own = unpack_answer(sent)
            false = []
            if place == 3:
                self.kept = *self.kept, own.data
            if place == 3 and own.round:
                old = self.kept[self.step], *self.kept[-2:-1][: self.step]
                replayed = [pack_answer(SumStep("user 3", own.round, data)) for data in old]
                false = [change(sent) for change in FALSE.values()] + replayed
                self.false += len(false) + 1
            for data in (*false, sent, *([sent] if false else [])):
                yield place, data


def test_each_false_message_at_each_step_is_dropped_and_named_and_the_round_goes_on(
    five, sum_rules
):
    """Malformed, forged, replayed from the round before, late by a step, and doubled."""
    post = Storm(five)
    pool = pool_of(five, post)
    pool.begin(sum_rules, 3)
    pool.round(0, np.zeros(sum_rules.n_features))
    answers = pool.round(1, np.zeros(sum_rules.n_features))
    assert answers.joined.tolist() == [0, 1, 2, 3, 4] and answers.total.any()
    assert len(answers.rejected) == post.false == 5 * (6 + 1 + 1) + 4
    # Before its first signature a node is who it says.
    named = Counter(message.user for message in answers.rejected)
    assert named == {"user 3": post.false - 2, "user 0": 1, "": 1}
    reasons = Counter(message.reason.rpartition(", ")[2] for message in answers.rejected)
    assert reasons["late"] == 4 and reasons["or of other users"] == 0
    assert sum("another round" in message.reason for message in answers.rejected) == 5


@pytest.mark.parametrize(("kind", "step"), [("rubbish", 0), ("cut short", 2), ("empty", 4)])
def test_who_sends_what_is_false_alone_is_lost_at_that_step(five, sum_rules, kind, step):
    def forged(at, place, sent):
        return FALSE[kind](sent) if (at, place) == (step, 3) else sent

    pool = pool_of(five, Nodes(five, forged))
    pool.begin(sum_rules, 3)
    answers = pool.round(0, np.zeros(sum_rules.n_features))
    assert answers.joined.tolist() == ([0, 1, 2, 4] if step < 4 else [0, 1, 2, 3, 4])
    assert answers.rejected


def test_a_name_is_proved_by_a_signature(five, sum_rules):
    """A node that says first that it is another user takes nobody's place."""

    class First(Nodes):
        def ask_nodes(self, index, question):
            answers = list(super().ask_nodes(index, question))
            own = unpack_answer(answers[1][1])
            yield 77, pack_answer(SumStep("user 0", index, own.data))
            yield 78, pack_answer(Declined("user 0", index, "I am not there."))
            yield from answers

    pool = pool_of(five, First(five))
    pool.begin(sum_rules, 3)
    answers = pool.round(0, np.zeros(sum_rules.n_features))
    assert answers.joined.tolist() == [0, 1, 2, 3, 4] and not answers.declined.size


def test_a_round_is_begun_once_whatever_is_lost(five, sum_rules):
    said, memory = begin(five[0], sum_rules)
    assert isinstance(said, SumStep) and memory
    said, memory = begin(five[0], sum_rules)
    assert isinstance(said, Declined) and "begun before" in said.reason and not memory
    said, _ = begin(five[0], sum_rules, 1)
    assert isinstance(said, SumStep)


def test_a_step_is_not_made_twice_from_an_older_memory(five, sum_rules):
    """A server that shows the same user two lists, with Flower's memory as it was before."""
    old = {}

    class Keeps(Nodes):
        def _answers(self, messages):
            for place, data in messages.items():
                old[self.step, place] = (data, self.memory[place])
            yield from super()._answers(messages)

    pool = pool_of(five, Keeps(five))
    pool.begin(sum_rules, 3)
    pool.round(0, np.zeros(sum_rules.n_features))
    member = Member.read(five[0])
    for step in range(1, 5):
        data, memory = old[step, 0]
        with pytest.raises(InvalidInputError, match="is lost"):
            answer_step(member, unpack_question(data), memory)


def test_a_user_without_budget_declines_before_others_count_on_it(five, sum_rules):
    text = five[1].read_text()
    five[1].write_text(text.replace("epsilon = 8.0", "epsilon = 0.01"))
    said, memory = begin(five[1], sum_rules)
    assert isinstance(said, Declined) and "budget" in said.reason and not memory
    assert not (five[1].parent / "journal.jsonl").read_text().count("advertised")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"colluding": 0}, "reckons with 1"),
        ({"listed": 6, "threshold": 5}, "6 users, and 5 are listed"),
        ({"relation": "replace-special"}, "replace-special"),
    ],
)
def test_rules_that_a_user_did_not_agree_to_are_refused(five, sum_rules, changed, said):
    with pytest.raises(InvalidInputError, match=said):
        begin(five[0], replace(sum_rules, **changed))
    assert ledger_of(five[0]) == []


def test_a_user_is_who_the_list_says(five, sum_rules):
    shutil.copy(five[1].parent / "identity.key", five[0].parent / "identity.key")
    with pytest.raises(InvalidInputError, match="another identity"):
        begin(five[0], sum_rules)
    (five[0].parent / "identity.key").write_text("0123")
    with pytest.raises(DataError, match="64 hex digits") as caught:
        begin(five[0], sum_rules)
    assert "0123" not in str(caught.value)


def test_a_user_without_an_identity_says_so(own_files, sum_rules):
    with pytest.raises(InvalidInputError, match="needs members, identity"):
        begin(own_files[0], replace(sum_rules, listed=3, threshold=3, colluding=0))


def test_settings_of_sums_come_whole(five):
    text = five[0].read_text()
    five[0].write_text(text.replace('journal = "journal.jsonl"\n', ""))
    with pytest.raises(DataError, match="colluding, identity, journal, members"):
        Member.read(five[0])


def test_identities_are_secret_and_stay(table, five):
    path = five[0].parent / "identity.key"
    assert path.stat().st_mode & 0o777 == 0o600
    before = read_identity(path)
    given = (table / "rows.csv", table / "schema.toml", FIVE, table / "users")
    share_out(*given, "replace-one", "skellam-composition", SEED, colluding=1)
    list_identities(table / "users.csv", table / "users")
    assert read_identity(path) == before
    with pytest.raises(InvalidInputError, match="identities of their own"):
        list_identities(table / "users" / "members.csv", table / "users")


def test_local_rules_are_answered_whole_and_sums_in_steps(five, sum_rules, rules):
    question = pack_question(Question(sum_rules, 0, np.zeros(sum_rules.n_features), b""))
    with pytest.raises(InvalidInputError, match="whole reply"):
        answer(Member.read(five[0]), question)
    pool = pool_of(five)
    with pytest.raises(InvalidInputError, match="secure-aggregation"):
        pool.begin(rules, 3)


def test_fewer_users_than_the_threshold_begin_nothing(five, sum_rules):
    poor = [user._replace(epsilon=0.01) for user in FIVE[:2]]
    pool = pool_of(five, users=(*poor, *FIVE[2:]))
    with pytest.raises(BudgetExceededError, match="Fewer than 4"):
        pool.begin(sum_rules, 3)


def test_users_may_draw_their_neighbours(five, sum_rules):
    for own in five:
        own.write_text(own.read_text().replace("colluding = 1", "colluding = 0"))
    drawn = replace(sum_rules, colluding=0, neighbours=3)
    pool = pool_of(five)
    pool.begin(drawn, 1)
    assert pool.round(0, np.zeros(drawn.n_features)).joined.tolist() == [0, 1, 2, 3, 4]
    assert "alpha = 0.6 of the 5 listed" in pool.rules.server_sees
