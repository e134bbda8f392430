"""A round of a secure sum: what is opened, who may be missing, and what is dropped and named."""

import re

import numpy as np
import pytest
from sum_users import WIDTH, Group, light_primitives, reasons

from dpcore_a_ddp.secure_sums import opening
from dpcore_a_ddp.secure_sums.context import RoundContext
from dpcore_a_ddp.secure_sums.driver import run_round
from dpcore_a_ddp.secure_sums.messages import SERVER, head
from dpcore_a_ddp.secure_sums.parameters import SumParameters
from dpcore_a_ddp.secure_sums.server import SumServer

# Of 12 users each draws 8: enough for tests, with probabilities of failure that are no secret.
SPARSE = SumParameters(
    users=12, colluding=0, threshold=8, neighbours=8, shares=4, present=4, failure_bits=1
)


def lost(*gone):
    """Return what carries all but the messages (step, place) and whatever would come later."""

    def carry(step, place, data):
        return None if any(place == user and step >= at for at, user in gone) else data

    return carry


@pytest.fixture(params=["complete", "sparse"])
def group(request):
    return Group() if request.param == "complete" else Group(12, parameters=SPARSE)


def test_the_sum_of_all_users_is_opened_modulo_2_64(group):
    opened, server, users = group.run()
    assert opened.places == tuple(range(len(users)))
    assert opened.total.tolist() == group.total(opened.places).tolist()
    assert opened.total.dtype == np.int64
    assert not server.dropped and not any(user.dropped for user in users.values())


@pytest.mark.some_fast
@pytest.mark.parametrize("step", range(9))
def test_users_may_be_lost_at_any_step(group, step):
    opened, server, _ = group.run(lost((step, 2), (step, 5)))
    # Vectors that arrived, in step 4, are in the sum whoever is lost afterwards.
    inside = set(range(len(group.members))) - ({2, 5} if step <= 4 else set())
    assert set(opened.places) == inside
    assert opened.total.tolist() == group.total(opened.places).tolist()


def test_users_may_be_lost_at_different_steps():
    group = Group(12, parameters=SPARSE)
    opened, _, _ = group.run(lost((0, 1), (2, 4), (4, 7), (6, 9)))
    assert set(opened.places) == set(range(12)) - {1, 4, 7}
    assert opened.total.tolist() == group.total(opened.places).tolist()


@pytest.mark.parametrize("step", range(0, 9, 2))
def test_with_too_few_users_no_sum_is_opened(step):
    group = Group(size=8, threshold=6)
    opened, server, _ = group.run(lost((step, 1), (step, 3), (step, 5)))
    assert opened is None
    assert "users were left of 6" in server.failed


def test_a_vector_that_leaves_a_user_is_uniform():
    # 8 users of zeros: 24 numbers of 64 bits, each within 2^40 of zero with probability 2^-23.
    group, sent = Group(), {}
    group.vectors[:] = 0

    def carry(step, place, data):
        if step == 4:
            sent[place] = np.frombuffer(data[-8 * WIDTH :], "<i8")
        return data

    group.run(carry)
    assert len(sent) == 8
    assert all(np.abs(values.astype(float)).min() > 2.0**40 for values in sent.values())


def test_two_rounds_of_the_same_vectors_have_no_byte_of_keys_or_masks_in_common():
    group, sent = Group(), []

    def carry(step, place, data):
        if step in (0, 4) and place == 3:
            sent.append(data)
        return data

    for index in (0, 1):
        group.run(carry, context=group.context(index))
    first, second = sent[::2], sent[1::2]
    for one, other in zip(first, second, strict=True):
        assert not set(np.frombuffer(one[-24:], "<u8")) & set(np.frombuffer(other[-24:], "<u8"))


FAULTS = {
    "cut short": (lambda data: data[:-30], "signature is not the sender's|cut short|signed one"),
    "longer": (lambda data: data + b"x", "signature is not the sender's|signed one|cut short"),
    "of no protocol": (lambda data: b"what", "no message of this protocol"),
    "altered": (lambda data: data[:60] + bytes([data[60] ^ 1]) + data[61:], "signature is not"),
    "of an unlisted user": (lambda data: data[:37] + b"\xff\0\0\0" + data[41:], "not listed"),
    "the server's": (lambda data: data[:37] + b"\xff" * 4 + data[41:], "no known kind"),
    "another user's": (lambda data: data[:37] + b"\x04\0\0\0" + data[41:], "signature is not"),
    "no bytes": (lambda data: "text", "no message of this protocol"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("step", [0, 2, 4, 6, 8])
def test_a_user_s_bad_message_is_dropped_and_named_and_the_round_goes_on(step, fault, monkeypatch):
    light_primitives(monkeypatch)
    change, reason = FAULTS[fault]
    group = Group()

    def carry(at, place, data):
        return change(data) if (at, place) == (step, 2) else data

    opened, server, _ = group.run(carry)
    assert opened.total.tolist() == group.total(opened.places).tolist()
    assert (2 in opened.places) == (step > 4)
    (dropped, *_) = server.dropped
    assert re.search(reason, dropped.reason) and dropped.sender == "u2", dropped


@pytest.mark.parametrize("step", range(9))
def test_messages_of_the_round_before_are_dropped_and_named_at_each_step(step, monkeypatch):
    light_primitives(monkeypatch)
    group, old = Group(), {}
    group.run(lambda at, place, data: old.setdefault((at, place), data))
    context = group.context(1)
    users, server = group.users(context), SumServer(context)

    def carry(at, place, data):
        if (at, place) == (step, 2) and step % 2:
            assert users[2].receive(old[at, place]) is None
        elif (at, place) == (step, 2):
            server.receive(old[at, place], place)
        return data

    opened = run_round(users, server, carry)
    assert opened.total.tolist() == group.total(range(8)).tolist()
    (dropped,) = users[2].dropped if step % 2 else server.dropped
    assert dropped.sender == ("the server" if step % 2 else "u2")
    assert "another round" in dropped.reason


@pytest.mark.parametrize("step", [1, 3, 5, 7])
@pytest.mark.parametrize("fault", ["cut short", "longer", "of no protocol", "no bytes"])
def test_a_server_s_bad_message_is_dropped_and_the_right_one_still_taken(step, fault, monkeypatch):
    light_primitives(monkeypatch)
    change, _ = FAULTS[fault]
    group = Group()
    users = group.users()

    def carry(at, place, data):
        if (at, place) == (step, 2):
            assert users[2].receive(change(data)) is None
        return data

    opened, _, _ = group.run(carry, users)
    assert len(opened.places) == 8
    assert users[2].dropped[0].sender == "the server"


@pytest.mark.parametrize("step", [0, 2, 4, 6, 8])
def test_doubled_and_late_messages_are_dropped_and_named(step, monkeypatch):
    light_primitives(monkeypatch)
    group = Group()
    server, kept = SumServer(group.context()), []

    def carry(at, place, data):
        if (at, place) == (step, 2):
            kept.append(data)
            server.receive(data)
        if (at, place) == (step + 2, 3):
            server.receive(kept[0])
        return data

    opened = run_round(group.users(), server, carry)
    assert opened.total.tolist() == group.total(range(8)).tolist()
    found = reasons(server)
    assert any("second message of the step" in reason for reason in found)
    assert step == 8 or any(reason.endswith("late") for reason in found)
    assert {dropped.sender for dropped in server.dropped} == {"u2"}


def test_a_user_takes_each_step_once_and_in_order(monkeypatch):
    light_primitives(monkeypatch)
    group = Group()
    users, kept = group.users(), {}

    def carry(at, place, data):
        if place == 2 and at % 2:
            kept[at] = data
        return data

    group.run(carry, users)
    for at in kept:
        assert users[2].receive(kept[at]) is None
    assert len(users[2].dropped) == 4
    assert all("late, or for a second time" in reason for reason in reasons(users[2]))
    early = group.user(3)
    early.begin()
    assert early.receive(kept[7]) is None
    assert "too early" in reasons(early)[0]
    assert early.receive(head(0, group.context(), 4)) is None
    assert "another user's" in reasons(early)[1]


def test_counts_that_the_message_does_not_have_are_refused(monkeypatch):
    light_primitives(monkeypatch)
    group = Group()
    user = group.user(2)
    user.begin()
    for body in (b"\xff" * 4, b"\1\0\0\0" + b"\xff" * 4, b""):
        assert user.receive(head(1, group.context(), SERVER) + body) is None
    assert len(reasons(user)) == 3 and "cut short" in reasons(user)[0]


def test_a_user_who_does_not_join_after_all_sends_no_vector():
    group = Group()
    users = group.users()
    users[1] = group.user(1)
    users[1]._contribute = lambda mask: None
    opened, _, _ = group.run(users=users)
    assert set(opened.places) == set(range(8)) - {1}


def test_wrong_shares_of_a_colluding_holder_spoil_no_sum(monkeypatch):
    # Its first share is of nothing: a sum is right or not opened.
    group = Group(size=9, threshold=6)
    add = opening.Opening.add

    def spoilt(self, holder, part):
        add(self, holder, part._replace(share=bytes(39)) if holder == 4 else part)

    monkeypatch.setattr(opening.Opening, "add", spoilt)
    opened, _, _ = group.run()
    assert opened.total.tolist() == group.total(range(9)).tolist()
    monkeypatch.setattr(
        opening.Opening,
        "add",
        lambda self, holder, part: add(self, holder, part._replace(share=bytes(39))),
    )
    opened, server, _ = group.run()
    assert opened is None and "was not revealed" in server.failed


def test_the_context_holds_all_that_is_agreed_on():
    group = Group()
    known = group.context()
    other = SumParameters.complete(8, 1, 6)
    changed = [
        group.context(1),
        group.context(rules=b"other"),
        group.context(question=b"other"),
        group.context(parameters=other),
        RoundContext(group.members, group.parameters, 0, WIDTH + 1, b"rules", b"w"),
        RoundContext(Group().members, group.parameters, 0, WIDTH, b"rules", b"w"),
    ]
    assert len({known.digest, *(context.digest for context in changed)}) == 7
    assert group.context().digest == known.digest
