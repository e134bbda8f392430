"""The app that Flower runs at a user's: one process for each question."""

from __future__ import annotations

import sys
import time

from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from dpcore.errors import DpcoreError
from dpcore.plugin.parts import visible
from dpcore_a_ddp.flower.member import FAILED, Member, answer
from dpcore_a_ddp.flower.post import content_of, record_of
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
        index = unpack_question(content_of(message)).round
        if time.time() > message.metadata.created_at + message.metadata.ttl:
            return pack_answer(Declined(member.user, index, LATE))
    except DpcoreError as error:
        _tell(error)
        return b""
    try:
        return answer(member, content_of(message) or b"")
    except Exception as error:
        _tell(error)
        return pack_answer(Declined(member.user, index, FAILED))


def _tell(error: Exception) -> None:
    said = visible(f"dpcore-a-ddp: {type(error).__name__}: {error}")
    print(said, file=sys.stderr, flush=True)
