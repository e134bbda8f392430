"""What is sent, byte by byte, and bytes that are no message."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcore.errors import InvalidInputError
from dpcore_a_ddp.flower.wire import (
    Question,
    pack_answer,
    pack_question,
    unpack_answer,
    unpack_question,
)
from dpcore_a_ddp.users.messages import Declined, Reply

HEAD = {"format": "dpcore a-ddp 1", "user": "anna", "round": 3}


def message(head, numbers=b""):
    return json.dumps(head).encode() + b"\n" + numbers


def test_a_question_arrives_to_the_bit(rules):
    w = np.array([0.1, -0.0, 2.0**-1074])
    asked = unpack_question(pack_question(Question(rules, 4, w)))
    assert (asked.rules, asked.round) == (rules, 4)
    assert asked.w.tobytes() == w.tobytes()


def test_an_answer_arrives_to_the_bit():
    values = np.array([0, -1, 2**63 - 1, -(2**63)])
    reply = unpack_answer(pack_answer(Reply("anna", 3, values)))
    assert isinstance(reply, Reply) and (reply.user, reply.round) == ("anna", 3)
    assert reply.values.dtype == np.int64 and np.array_equal(reply.values, values)
    declined = Declined("ben", 0, "One round more would exceed the user's budget.")
    assert unpack_answer(pack_answer(declined)) == declined


def test_an_answer_holds_nothing_but_name_round_and_values():
    values = np.array([5, -7])
    assert pack_answer(Reply("anna", 3, values)) == message(HEAD, values.astype("<i8").tobytes())


@pytest.mark.parametrize(
    "data",
    [
        None,
        "text",
        b"",
        b"\n" + bytes(8),
        b"[1]\n",
        b"{" * 5000 + b"\n",
        b'{"format": 1}\n' + bytes(8),
        message({**HEAD, "format": "dpcore a-ddp 0"}),
        message({**HEAD, "user": 7}),
        message({**HEAD, "user": "a" * 5000}),
        message({**HEAD, "round": True}),
        message({**HEAD, "round": 1.0}),
        message({"format": HEAD["format"], "round": 3}),
        message(HEAD, bytes(9)),
        message({**HEAD, "declined": 3}),
        message({**HEAD, "declined": "\x1b[31mred"}),
        message({**HEAD, "declined": "x" * 300}),
        message({**HEAD, "declined": "with values"}, bytes(8)),
    ],
)
def test_what_is_no_answer_is_told_apart(data):
    assert unpack_answer(data) is None


@given(st.binary(max_size=200))
def test_no_bytes_break_the_server(data):
    assert unpack_answer(data) is None


@given(st.data())
def test_an_answer_cut_or_changed_anywhere_never_breaks_the_server(draw):
    whole = pack_answer(Reply("anna", 3, np.arange(3)))
    place = draw.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[place] = draw.draw(st.integers(0, 255))
    for data in (whole[:place], bytes(changed)):
        assert unpack_answer(data) is None or isinstance(unpack_answer(data), Reply | Declined)


@pytest.mark.parametrize(
    "change",
    [
        {"round": -1},
        {"round": "1"},
        {"rules": {}},
        {"rules": None},
        {"rules": {"loss": "logistic", "wrong": 1}},
    ],
)
def test_what_is_no_question_is_refused(rules, change):
    head = {"format": HEAD["format"], "round": 0, "rules": rules.to_dict()}
    unpack_question(message(head, bytes(24)))
    with pytest.raises(InvalidInputError):
        unpack_question(message({**head, **change}, bytes(24)))


def test_rules_with_a_number_beyond_64_bits_are_refused(rules):
    whole = pack_question(Question(rules, 0, np.zeros(3)))
    huge = whole.replace(b'"clip": 1.0', b'"clip": 1%b' % (b"0" * 400))
    assert huge != whole
    with pytest.raises(InvalidInputError):
        unpack_question(huge)
