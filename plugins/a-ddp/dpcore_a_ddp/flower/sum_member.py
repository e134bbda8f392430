"""A user's own side of secure sums over messages: one process for each of its five steps.

Between two steps the user's keys of the round are in the memory of its own Flower node
(``RoundMemory``), its budget in its ledger, and what it began in its journal. A node that restarts
has lost the keys, and by the journal it answers that round no more.
"""

from __future__ import annotations

import hashlib
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpcore.errors import DataError, replacing
from dpcore.plugin import InvalidInputError
from dpcore_a_ddp.flower.member import opened_session
from dpcore_a_ddp.flower.wire import SumStep, pack_answer
from dpcore_a_ddp.pools.sum_rules import sums_of
from dpcore_a_ddp.secure_sums.context import Identity, Members, RoundContext
from dpcore_a_ddp.secure_sums.journal import FileJournal
from dpcore_a_ddp.secure_sums.primitives import KEY_BYTES, require_primitives
from dpcore_a_ddp.secure_sums.user import SumUser
from dpcore_a_ddp.users.messages import Declined, Reply

if TYPE_CHECKING:
    from dpcore_a_ddp.flower.member import Member
    from dpcore_a_ddp.flower.wire import Question
    from dpcore_a_ddp.pools.round_rules import GradientRounds
    from dpcore_a_ddp.secure_sums.journal import RoundJournal

__all__ = ["answer_step", "read_identity", "round_context"]

_BEGUN = "The round was begun before, and is not answered again."


def round_context(
    members: Members, rules: GradientRounds, index: int, w: np.ndarray
) -> RoundContext:
    """Return a round as either side knows it by itself. ``w`` : float64 of shape (n_features,)."""
    parameters = sums_of(rules)
    if parameters is None:
        raise InvalidInputError("Expected the rules of a secure aggregation of listed users.")
    asked = hashlib.sha256(w.astype("<f8").tobytes()).digest()
    agreed = rules.digest.encode("ascii")
    return RoundContext(members, parameters, index, rules.n_features, agreed, asked)


def read_identity(path: str | Path) -> Identity:
    """Return the identity in a file of 64 hex digits; DataError, which does not show them, for
    another file."""
    wrong = DataError(f"{str(path)!r} holds no identity: expected 64 hex digits.")
    with replacing(OSError, ValueError, by=lambda _: wrong):
        secret = bytes.fromhex(Path(path).read_text(encoding="ascii").strip())
    if len(secret) != KEY_BYTES:
        raise wrong
    return Identity(secret)


def answer_step(member: Member, question: Question, memory: bytes) -> tuple[bytes, bytes]:
    """Return the user's message of a step of a secure sum, and what it has to know in the next:
    empty where it takes no other part in the round.

    ``memory`` : what the step before returned. Raises DpcoreError, for the owner's eyes: nothing
    was sent then.
    """
    require_primitives()
    context, place, identity = _round_of(member, question)
    with closing(FileJournal(member.journal)) as journal:
        if not question.step:
            return _begun(member, question, context, place, identity, journal)

        def contribute(mask: np.ndarray) -> np.ndarray | None:
            with opened_session(member, question, lambda index: mask) as session:
                reply = session.answer(question.round, question.w)
            return reply.values if isinstance(reply, Reply) else None

        user = SumUser(context, place, identity, contribute, journal, memory)
        sent = user.receive(question.step) or b""
        return pack_answer(SumStep(member.user, question.round, sent)), user.memory


def _begun(
    member: Member,
    question: Question,
    context: RoundContext,
    place: int,
    identity: Identity,
    journal: RoundJournal,
) -> tuple[bytes, bytes]:
    """Return the first message, or that the user does not join: by its budget, before others count
    on it."""

    def never(mask: np.ndarray) -> None:
        raise AssertionError("the first step draws nothing")

    # Of a seeded user the rounds before are drawn again, and go nowhere.
    nobody = np.zeros(question.rules.n_features, dtype=np.int64)
    with opened_session(member, question, lambda index: nobody) as session:
        declined = session.declines(question.round)
    user = SumUser(context, place, identity, never, journal)
    sent = None if declined else user.begin()
    if sent is None:
        declined = declined or Declined(member.user, question.round, _BEGUN)
        return pack_answer(declined), b""
    return pack_answer(SumStep(member.user, question.round, sent)), user.memory


def _round_of(member: Member, question: Question) -> tuple[RoundContext, int, Identity]:
    """Return the round, the user's place in it and its identity, by the user's own files."""
    if not member.identity:
        raise InvalidInputError(
            "The rules are of secure aggregation, and this user has no identity for it: its file "
            "needs members, identity, journal and colluding."
        )
    members, identity = Members.read(member.members), read_identity(member.identity)
    rules = question.rules
    if member.user not in members.names:
        raise InvalidInputError(f"{member.members}: no user {member.user!r} is listed.")
    place = members.names.index(member.user)
    if members.keys[place] != identity.public:
        raise InvalidInputError(f"{member.members} lists another identity of {member.user!r}.")
    if rules.listed != len(members):
        raise InvalidInputError(
            f"The rules are for {rules.listed} users, and {len(members)} are listed."
        )
    if rules.colluding < member.colluding:
        raise InvalidInputError(
            f"The rules are safe from {rules.colluding} colluding users, and this user reckons "
            f"with {member.colluding}."
        )
    return round_context(members, rules, question.round, question.w), place, identity
