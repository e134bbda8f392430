"""The two apps and the post between them, with Flower's messages but without its processes."""

import time

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs the extra dpcore-a-ddp[flower]")

from flwr.app import ArrayRecord, ConfigRecord, Context, Error, Message, RecordDict  # noqa: E402
from flwr.common.constant import ErrorCode  # noqa: E402
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects  # noqa: E402
from flwr.supercore.task_identity import TaskIdentity  # noqa: E402

from dpcore_a_ddp.flower.client import LATE, respond  # noqa: E402
from dpcore_a_ddp.flower.member import FAILED  # noqa: E402
from dpcore_a_ddp.flower.post import FlowerPost, content_of, record_of  # noqa: E402
from dpcore_a_ddp.flower.wire import (  # noqa: E402
    Question,
    pack_question,
    unpack_answer,
)
from dpcore_a_ddp.users.messages import Declined, Reply  # noqa: E402


@pytest.fixture(autouse=True)
def run(monkeypatch):
    """The run that Flower's processes make messages for."""
    for name in ("_run_id", "_node_id", "_task_id"):
        monkeypatch.setattr(TaskIdentity, name, 1)


def context_of(own_file):
    config = {"user-file": str(own_file)}
    return Context(
        run_id=1, node_id=7, node_config=config, state=RecordDict(), run_config={}, series_id=1
    )


def ask(own_file, content):
    message = Message(content, dst_node_id=7, message_type="train", group_id="0")
    context = context_of(own_file)
    return respond(message, context), context


def question(rules, index=0):
    return record_of(pack_question(Question(rules, index, np.zeros(rules.n_features))))


def test_a_question_is_answered(own_files, rules):
    reply, _ = ask(own_files[1], question(rules))
    answered = unpack_answer(content_of(reply))
    assert isinstance(answered, Reply) and answered.user == "ben"


def test_flower_keeps_and_sends_the_answer_and_nothing_else(own_files, rules):
    reply, context = ask(own_files[1], question(rules))
    sent = b"".join(part.deflate() for part in get_all_nested_objects(reply).values())
    answer = content_of(reply)
    assert sent.count(answer) == 1
    rest = sent.replace(answer, b"")
    # Of ben's file, only the name goes out, inside the answer.
    for private in (b"ben", b"rows", b"ledger", b"epsilon", b"seed", str(own_files[1]).encode()):
        assert private not in rest
    # The identifiers of its parts, and metadata of the message it answers.
    assert len(rest) < 1000
    assert len(context.state) == 0


@pytest.mark.parametrize(
    "content",
    [
        RecordDict(),
        RecordDict({"dpcore": ConfigRecord({"message": "text"})}),
        RecordDict({"dpcore": ConfigRecord({"message": b"rubbish"})}),
        RecordDict({"dpcore": ArrayRecord([np.zeros(3)])}),
        RecordDict({"other": ConfigRecord({"message": b""})}),
    ],
)
def test_what_is_no_question_is_answered_with_nothing(own_files, content, capsys):
    reply, _ = ask(own_files[1], content)
    assert unpack_answer(content_of(reply)) is None
    assert not (own_files[1].parent / "ledger.jsonl").exists()
    assert "Expected a message" in capsys.readouterr().err


def test_no_error_of_a_user_reaches_the_server(own_files, rules, capsys):
    rows = own_files[1].parent / "rows.csv"
    rows.write_text("a,b,y\n.5,4711,oops\n")
    reply, _ = ask(own_files[1], question(rules))
    assert not reply.has_error()
    assert unpack_answer(content_of(reply)) == Declined("ben", 0, FAILED)
    sent = b"".join(part.deflate() for part in get_all_nested_objects(reply).values())
    assert b"oops" not in sent and b"4711" not in sent and b"rows.csv" not in sent
    assert "BadRowError" in capsys.readouterr().err


def test_nobody_pays_for_a_round_that_is_over(own_files, rules, monkeypatch):
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 10**6)
    with monkeypatch.context() as sending:
        sending.setattr(time, "time", lambda: now)
        content = question(rules)
        message = Message(content, dst_node_id=7, message_type="train", group_id="0", ttl=60.0)
    reply = respond(message, context_of(own_files[1]))
    assert unpack_answer(content_of(reply)) == Declined("ben", 0, LATE)
    assert not (own_files[1].parent / "ledger.jsonl").exists()


def test_a_user_without_settings_says_nothing(own_files, rules, capsys):
    reply, _ = ask(own_files[1].parent / "none.toml", question(rules))
    assert content_of(reply) == b""
    assert "DataError" in capsys.readouterr().err


class Grid:
    """Flower's grid, as far as the post uses it: nodes come and go, and answers take time."""

    def __init__(self, nodes, answers):
        self.nodes, self.answers = list(nodes), answers
        self.sent, self.looks = {}, 0

    def get_node_ids(self):
        self.looks += 1
        return [node for node, first in self.nodes if first <= self.looks]

    def push_messages(self, messages):
        ids = [f"message-{len(self.sent) + i}" for i, _ in enumerate(messages)]
        self.sent.update(zip(ids, messages, strict=True))
        return ids

    def pull_messages(self, ids):
        ready = [i for i in ids if self.answers.get(self.sent[i].metadata.dst_node_id, 0)]
        return [self._reply(i) for i in ready if self.answers[self.sent[i].metadata.dst_node_id]]

    def _reply(self, i):
        message = self.sent[i]
        made = self.answers[message.metadata.dst_node_id]
        reply = Message(made if isinstance(made, Error) else record_of(made), reply_to=message)
        reply.metadata.__dict__["_reply_to_message_id"] = i
        return reply


def test_the_post_brings_every_answer_once():
    grid = Grid([(1, 0), (2, 0)], {1: b"one", 2: b"two"})
    assert sorted(FlowerPost(grid, 5.0, 0.01).ask(4, b"question")) == [b"one", b"two"]
    assert [content_of(message) for message in grid.sent.values()] == [b"question"] * 2
    assert {message.metadata.group_id for message in grid.sent.values()} == {"4"}


def test_the_post_goes_on_without_the_silent():
    grid = Grid([(1, 0), (2, 0)], {1: b"one"})
    assert list(FlowerPost(grid, 0.1, 0.01).ask(0, b"question")) == [b"one"]


def test_a_node_that_comes_back_is_asked_in_the_same_round():
    grid = Grid([(1, 0), (2, 3)], {2: b"two"})
    assert list(FlowerPost(grid, 0.3, 0.01).ask(0, b"question")) == [b"two"]
    assert len(grid.sent) == 2


def test_an_error_is_no_answer():
    failed = Error(code=ErrorCode.CLIENT_APP_RAISED_EXCEPTION, reason="text")
    assert list(FlowerPost(Grid([(1, 0)], {1: failed}), 5.0, 0.01).ask(0, b"question")) == [None]


def test_a_node_that_flower_gives_up_is_silent():
    gone = Error(code=ErrorCode.NODE_UNAVAILABLE, reason="text")
    assert list(FlowerPost(Grid([(1, 0)], {1: gone}), 5.0, 0.01).ask(0, b"question")) == []


def test_the_post_waits_for_nodes_as_long_as_it_is_told():
    post = FlowerPost(Grid([(1, 0), (2, 4)], {}), 1.0, 0.01)
    assert post.wait_for(2, 5.0) == 2
    assert FlowerPost(Grid([(1, 0)], {}), 1.0, 0.01).wait_for(2, 0.05) == 1
