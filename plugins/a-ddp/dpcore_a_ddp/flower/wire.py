"""Questions and answers as bytes: a line of JSON, then numbers of eight bytes, little-endian, and
of secure sums a message of that protocol.

All that is sent of a user's rows are the whole numbers of its reply, masked or with all the noise.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore_a_ddp.pools.round_rules import GradientRounds
from dpcore_a_ddp.users.messages import Declined, Reply

__all__ = [
    "Question",
    "SumStep",
    "pack_answer",
    "pack_question",
    "unpack_answer",
    "unpack_question",
]

_FORMAT = "dpcore a-ddp 1"
_LONGEST_HEAD = 4096
_LONGEST_TEXT = 200


@dataclass(frozen=True, eq=False)
class Question:
    """The question of the server in a round: public. ``w`` : float64 of shape (n_features,).

    ``step`` : of a secure sum, the server's message of that protocol, empty before the first one;
    ``None`` where a whole reply is asked.
    """

    rules: GradientRounds
    round: int
    w: np.ndarray
    step: bytes | None = None


class SumStep(NamedTuple):
    """A user's message of a secure sum; ``data`` is empty where it dropped the server's."""

    user: str
    round: int
    data: bytes


def pack_question(question: Question) -> bytes:
    head: dict[str, Any] = {"round": question.round, "rules": question.rules.to_dict()}
    if question.step is not None:
        head["step"] = question.w.size
    return _pack(head, question.w.astype("<f8").tobytes() + (question.step or b""))


def unpack_question(data: Any) -> Question:
    """Return the question; InvalidInputError for bytes that are none."""
    head, content = _unpack(data)
    index, rules, width = head.get("round"), head.get("rules"), head.get("step")
    if type(index) is not int or index < 0 or not isinstance(rules, dict):
        raise InvalidInputError("Expected a question: a round and its rules.")
    step = None
    if width is not None:
        if type(width) is not int or not 0 <= 8 * width <= len(content):
            raise InvalidInputError("Expected a step of a secure sum after the parameters.")
        content, step = content[: 8 * width], content[8 * width :]
    w = np.frombuffer(_numbers(content), "<f8").astype(np.float64)
    return Question(GradientRounds.from_dict(rules), index, w, step)


def pack_answer(message: Reply | Declined | SumStep) -> bytes:
    head: dict[str, Any] = {"user": message.user, "round": message.round}
    if isinstance(message, Declined):
        return _pack({**head, "declined": message.reason}, b"")
    if isinstance(message, SumStep):
        return _pack({**head, "sum": True}, message.data)
    return _pack(head, message.values.astype("<i8").tobytes())


def unpack_answer(data: Any) -> Reply | Declined | SumStep | None:
    """Return a user's message, or ``None`` for bytes that are none. What it says is not checked:
    that is the inbox's work."""
    try:
        head, content = _unpack(data)
        numbers = content if "sum" in head else _numbers(content)
    except InvalidInputError:
        return None
    user, index, reason = head.get("user"), head.get("round"), head.get("declined")
    if not isinstance(user, str) or type(index) is not int:
        return None
    if "sum" in head:
        return SumStep(user, index, content) if head["sum"] is True else None
    if reason is None:
        return Reply(user, index, np.frombuffer(numbers, "<i8").astype(np.int64))
    if not isinstance(reason, str) or numbers or not _is_plain(reason):
        return None
    return Declined(user, index, reason)


def _pack(head: dict[str, Any], content: bytes) -> bytes:
    return json.dumps({"format": _FORMAT, **head}).encode("ascii") + b"\n" + content


def _unpack(data: Any) -> tuple[dict[str, Any], bytes]:
    if not isinstance(data, bytes):
        raise InvalidInputError("Expected a message of bytes.")
    line, _, content = data.partition(b"\n")
    try:
        head = json.loads(line) if len(line) <= _LONGEST_HEAD else None
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict) or head.get("format") != _FORMAT:
        raise InvalidInputError("Expected a message of this version of dpcore-a-ddp.")
    return head, content


def _numbers(content: bytes) -> bytes:
    if len(content) % 8:
        raise InvalidInputError("Expected a message of whole numbers.")
    return content


def _is_plain(text: str) -> bool:
    """Whether a text from outside can be printed as it is."""
    return len(text) <= _LONGEST_TEXT and text.isprintable()
