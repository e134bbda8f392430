"""Questions and answers as bytes: a line of JSON, then numbers of eight bytes, little-endian.

All that is sent of a user's rows are the whole numbers of its reply.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcore.plugin import InvalidInputError
from dpcore_a_ddp.pools.round_rules import GradientRounds
from dpcore_a_ddp.users.messages import Declined, Reply

__all__ = ["Question", "pack_answer", "pack_question", "unpack_answer", "unpack_question"]

_FORMAT = "dpcore a-ddp 1"
_LONGEST_HEAD = 4096
_LONGEST_TEXT = 200


@dataclass(frozen=True, eq=False)
class Question:
    """The question of the server in a round: public. ``w`` : float64 of shape (n_features,)."""

    rules: GradientRounds
    round: int
    w: np.ndarray


def pack_question(question: Question) -> bytes:
    head = {"round": question.round, "rules": question.rules.to_dict()}
    return _pack(head, question.w.astype("<f8"))


def unpack_question(data: Any) -> Question:
    """Return the question; InvalidInputError for bytes that are none."""
    head, numbers = _unpack(data)
    index, rules = head.get("round"), head.get("rules")
    if type(index) is not int or index < 0 or not isinstance(rules, dict):
        raise InvalidInputError("Expected a question: a round and its rules.")
    w = np.frombuffer(numbers, "<f8").astype(np.float64)
    return Question(GradientRounds.from_dict(rules), index, w)


def pack_answer(message: Reply | Declined) -> bytes:
    head: dict[str, Any] = {"user": message.user, "round": message.round}
    if isinstance(message, Declined):
        return _pack({**head, "declined": message.reason}, np.empty(0))
    return _pack(head, message.values.astype("<i8"))


def unpack_answer(data: Any) -> Reply | Declined | None:
    """Return a user's message, or ``None`` for bytes that are none. What it says is not checked:
    that is the inbox's work."""
    try:
        head, numbers = _unpack(data)
    except InvalidInputError:
        return None
    user, index, reason = head.get("user"), head.get("round"), head.get("declined")
    if not isinstance(user, str) or type(index) is not int:
        return None
    if reason is None:
        return Reply(user, index, np.frombuffer(numbers, "<i8").astype(np.int64))
    if not isinstance(reason, str) or numbers or not _is_plain(reason):
        return None
    return Declined(user, index, reason)


def _pack(head: dict[str, Any], numbers: np.ndarray) -> bytes:
    return json.dumps({"format": _FORMAT, **head}).encode("ascii") + b"\n" + numbers.tobytes()


def _unpack(data: Any) -> tuple[dict[str, Any], bytes]:
    if not isinstance(data, bytes):
        raise InvalidInputError("Expected a message of bytes.")
    line, _, numbers = data.partition(b"\n")
    try:
        head = json.loads(line) if len(line) <= _LONGEST_HEAD else None
    except (ValueError, RecursionError):
        head = None
    if not isinstance(head, dict) or head.get("format") != _FORMAT or len(numbers) % 8:
        raise InvalidInputError("Expected a message of this version of dpcore-a-ddp.")
    return head, numbers


def _is_plain(text: str) -> bool:
    """Whether a text from outside can be printed as it is."""
    return len(text) <= _LONGEST_TEXT and text.isprintable()
