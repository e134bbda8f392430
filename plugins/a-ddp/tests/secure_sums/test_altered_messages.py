"""Messages of any bytes: of a server, or of a listed user who signs what it likes. None ends a
round, and none makes a user say more."""

import numpy as np
import pytest
from sum_users import Group, light_primitives

from dpcore_a_ddp.secure_sums import primitives
from dpcore_a_ddp.secure_sums.parameters import SumParameters
from dpcore_a_ddp.secure_sums.primitives import SIGNATURE_BYTES

HEAD = 41
VILLAIN = 2
SPARSE = SumParameters(
    users=9, colluding=0, threshold=6, neighbours=5, shares=2, present=2, failure_bits=1
)


def altered(data, rng):
    """Return a body that is like the given one, but for some bytes."""
    body = bytearray(data)
    kind = rng.integers(4)
    if kind == 0:
        return bytes(body[: rng.integers(len(body) + 1)])
    if kind == 1:
        return bytes(body) + rng.bytes(int(rng.integers(1, 9)))
    if kind == 2 and body:
        at = int(rng.integers(len(body)))
        body[at : at + 4] = rng.choice([b"\xff" * 4, b"\0" * 4, rng.bytes(4)])
        return bytes(body)
    for at in rng.integers(len(body), size=min(len(body), int(rng.integers(1, 4)))):
        body[at] = rng.integers(256)
    return bytes(body)


@pytest.mark.parametrize("parameters", [None, SPARSE])
@pytest.mark.parametrize("step", [0, 2, 4, 6, 8])
def test_a_listed_user_who_signs_what_it_likes_ends_no_round(step, parameters, monkeypatch):
    light_primitives(monkeypatch)
    rng = np.random.default_rng(step)
    for _ in range(5):
        group = Group(9, threshold=6, parameters=parameters)

        def carry(at, place, data, group=group):
            if (at, place) != (step, VILLAIN):
                return data
            signed_part = len(data)
            if step == 4:  # The statement is signed, the rest of it by its digest.
                signed_part = HEAD + -(-group.parameters.neighbours // 8) + 32 + SIGNATURE_BYTES
            text = data[: signed_part - SIGNATURE_BYTES]
            text = text[:HEAD] + altered(text[HEAD:], rng)
            rest = data[signed_part:] if rng.random() < 0.5 else altered(data[signed_part:], rng)
            return text + primitives.sign(group.identities[VILLAIN].secret, text) + rest

        opened, server, users = group.run(carry)
        # It may be in the sum, with a vector as it likes; the others' vectors are right.
        if opened is None:
            assert "was not revealed" in server.failed
            continue
        if VILLAIN not in opened.places:
            assert opened.total.tolist() == group.total(opened.places).tolist()
        # Of two users whose masks do not fit, nobody can tell who is wrong: one of them goes.
        assert len(opened.places) >= 8 - (step == 2)
        assert all(one.receive(b"") is None for place, one in users.items() if place != VILLAIN)


@pytest.mark.parametrize("step", [1, 3, 5, 7])
def test_a_server_that_sends_what_it_likes_hears_nothing_new(step, monkeypatch):
    light_primitives(monkeypatch)
    rng = np.random.default_rng(step)
    group = Group(9, parameters=SPARSE)
    users, tries = group.users(), 120

    def carry(at, place, data):
        if (at, place) == (step, VILLAIN):
            for _ in range(tries):
                text = data[:HEAD] + altered(data[HEAD:], rng)
                answer = users[VILLAIN].receive(text)
                if answer is not None:
                    # What was altered is of no weight: a key of another user, say. Its answer is
                    # the only one of the step.
                    assert users[VILLAIN].receive(data) is None
                    return None
        return data

    opened, _, _ = group.run(carry, users)
    assert opened is None or set(opened.places) >= set(range(9)) - {VILLAIN}
    assert group.contributions[VILLAIN] <= 1
    assert users[VILLAIN].dropped
