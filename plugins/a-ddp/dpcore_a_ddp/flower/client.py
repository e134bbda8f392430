"""The app that Flower runs at a user's: one process for each question."""

from __future__ import annotations

import sys
import time

from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp

from dpcore.errors import visible
from dpcore_a_ddp.flower.member import FAILED, Member, answer
from dpcore_a_ddp.flower.post import content_of, record_content, record_of
from dpcore_a_ddp.flower.sum_member import answer_step
from dpcore_a_ddp.flower.wire import pack_answer, unpack_question
from dpcore_a_ddp.users.messages import Declined

__all__ = ["LATE", "app", "respond"]

LATE = "The server no longer waits for an answer to this question."
"""So that nobody pays for a round that is over."""

app = ClientApp()


@app.train()
def respond(message: Message, context: Context) -> Message:
    """Return the user's answer. Flower would send the text of any exception to the server, so none
    leaves here: its owner reads it in the node's log."""
    return Message(record_of(_content(message, context)), reply_to=message)


def _content(message: Message, context: Context) -> bytes:
    try:
        member = Member.read(str(context.node_config["user-file"]))
    except Exception as error:
        _tell(error)
        return b""
    try:
        question = unpack_question(content_of(message))
        index = question.round
        if time.time() > message.metadata.created_at + message.metadata.ttl:
            return pack_answer(Declined(member.user, index, LATE))
    except Exception as error:
        _tell(error)
        return b""
    try:
        if question.step is None:
            return answer(member, content_of(message) or b"")
        sent, memory = answer_step(member, question, _remembered(context))
        context.state = record_of(memory) if memory else RecordDict()
        return sent
    except Exception as error:
        _tell(error)
        return pack_answer(Declined(member.user, index, FAILED))


def _remembered(context: Context) -> bytes:
    """Return what the user knew after its last step, which its own node keeps in memory: Flower
    sends a context to nobody."""
    return record_content(context.state) or b""


def _tell(error: Exception) -> None:
    said = visible(f"dpcore-a-ddp: {type(error).__name__}: {error}")
    print(said, file=sys.stderr, flush=True)
