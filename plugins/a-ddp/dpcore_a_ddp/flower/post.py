"""Questions to all of Flower's nodes, and their answers, by its message interface."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from flwr.app import ConfigRecord, Message, MessageType, RecordDict
from flwr.common.constant import ErrorCode

if TYPE_CHECKING:
    from flwr.serverapp import Grid

__all__ = ["FlowerPost", "content_of", "record_content", "record_of"]

_RECORD, _KEY = "dpcore", "message"
_GONE = (
    ErrorCode.MESSAGE_UNAVAILABLE,
    ErrorCode.REPLY_MESSAGE_UNAVAILABLE,
    ErrorCode.NODE_UNAVAILABLE,
    ErrorCode.CLIENT_APP_CRASHED,
)


def record_of(content: bytes) -> RecordDict:
    """Return the record that a message of either side consists of."""
    return RecordDict({_RECORD: ConfigRecord({_KEY: content})})


def content_of(message: Message) -> bytes | None:
    """Return what ``record_of`` was given; ``None`` for a message of another form, or an error."""
    return None if message.has_error() else record_content(message.content)


def record_content(records: RecordDict) -> bytes | None:
    """Return what ``record_of`` was given; ``None`` for a record of another form."""
    if set(records) != {_RECORD} or not isinstance(records[_RECORD], ConfigRecord):
        return None
    content = records[_RECORD].get(_KEY)
    return content if isinstance(content, bytes) and len(records[_RECORD]) == 1 else None


def _is_of_flower(message: Message) -> bool:
    """Whether Flower itself says that no answer comes, because the node or its message is gone."""
    return message.has_error() and message.error.code in _GONE


class FlowerPost:
    """Asks every node that is connected, and those that connect while a round lasts.

    A node that went away and came back is another node to Flower, and its user is asked again: it
    sends its stored reply, or answers for the first time.

    Parameters
    ----------
    grid : Flower's.
    timeout : seconds after which a round goes on without those that are still silent.
    poll : seconds between two looks for answers. Flower's own ``send_and_receive`` takes 3.
    """

    def __init__(self, grid: Grid, timeout: float = 60.0, poll: float = 0.2) -> None:
        self._grid, self._timeout, self._poll = grid, timeout, poll

    def wait_for(self, n_nodes: int, seconds: float) -> int:
        """Return how many nodes are connected, as soon as there are so many or the time is up."""
        end = time.monotonic() + seconds
        while True:
            connected = len(list(self._grid.get_node_ids()))
            if connected >= n_nodes or time.monotonic() > end:
                return connected
            time.sleep(self._poll)

    def ask(self, index: int, question: bytes) -> Iterator[bytes | None]:
        for _, content in self.ask_nodes(index, question):
            yield content

    def ask_nodes(self, index: int, question: bytes) -> Iterator[tuple[int, bytes | None]]:
        """Yield the answers to round ``index`` as they come, each with its node."""
        asked: set[int] = set()

        def unasked() -> dict[int, bytes]:
            new = [node for node in self._grid.get_node_ids() if node not in asked]
            asked.update(new)
            return dict.fromkeys(new, question)

        return self._collect(index, unasked)

    def send(self, index: int, messages: Mapping[int, bytes]) -> Iterator[tuple[int, bytes | None]]:
        """Send each node a message of its own in round ``index``; yield the answers likewise."""
        left = dict(messages)

        def unsent() -> dict[int, bytes]:
            new = dict(left)
            left.clear()
            return new

        return self._collect(index, unsent)

    def _collect(
        self, index: int, unasked: Callable[[], dict[int, bytes]]
    ) -> Iterator[tuple[int, bytes | None]]:
        """Yield the answers to all that ``unasked`` returns, which is sent as it comes."""
        end = time.monotonic() + self._timeout
        asked = False
        waiting: dict[str, int] = {}
        while True:
            new = unasked()
            asked = asked or bool(new)
            waiting |= self._send(index, new)
            for reply in list(self._grid.pull_messages(list(waiting))) if waiting else []:
                node = waiting.pop(reply.metadata.reply_to_message_id, None)
                if node is not None and not _is_of_flower(reply):
                    yield node, content_of(reply)
            if (asked and not waiting) or time.monotonic() > end:
                return
            time.sleep(self._poll)

    def _send(self, index: int, content: dict[int, bytes]) -> dict[str, int]:
        messages = [
            Message(
                record_of(sent),
                dst_node_id=node,
                message_type=MessageType.TRAIN,
                group_id=str(index),
                ttl=self._timeout,
            )
            for node, sent in content.items()
        ]
        # Flower returns None in place of a message that it could not take.
        sent = self._grid.push_messages(messages) if messages else []
        return {name: node for name, node in zip(sent, content, strict=True) if name}
