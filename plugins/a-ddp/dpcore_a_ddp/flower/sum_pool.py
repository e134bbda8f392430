"""A pool of users elsewhere whose messages are masked: the server opens one sum of a round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpcore.errors import BudgetExceededError
from dpcore.plugin import InvalidInputError
from dpcore_a_ddp.flower.pool import FlowerPool
from dpcore_a_ddp.flower.sum_member import round_context
from dpcore_a_ddp.flower.wire import Question, SumStep, pack_question, unpack_answer
from dpcore_a_ddp.pools.masked_pool import answers_of
from dpcore_a_ddp.secure_sums.messages import ADVERTISED, BadMessage, verified
from dpcore_a_ddp.secure_sums.primitives import require_primitives
from dpcore_a_ddp.secure_sums.server import SumServer
from dpcore_a_ddp.users.messages import Answers, Declined, Rejection

if TYPE_CHECKING:
    from dpcore_a_ddp.pools.round_rules import GradientRounds
    from dpcore_a_ddp.pools.user_budgets import MakeFilter
    from dpcore_a_ddp.secure_sums.context import Members, RoundContext
    from dpcore_a_ddp.users.messages import User

__all__ = ["FlowerSumPool", "NodePost"]


_NO_MESSAGE = "it is no message of a user in this round"


class NodePost(Protocol):
    """Carries messages to nodes, and brings each one's answer."""

    def ask_nodes(self, index: int, question: bytes) -> Iterator[tuple[int, bytes | None]]:
        """Yield node and answer for each node that is there, as they come; ``None`` for an answer
        that cannot be read."""
        ...

    def send(self, index: int, messages: Mapping[int, bytes]) -> Iterator[tuple[int, bytes | None]]:
        """Yield node and answer for each of these nodes, as they come."""
        ...


class _WholeReplies:
    """In place of what would carry whole replies."""

    def ask(self, index: int, question: bytes) -> Iterator[bytes | None]:
        raise InvalidInputError("Expected a round of secure sums.")


class FlowerSumPool(FlowerPool):
    """A ``FlowerPool`` whose users add up their messages by ``secure_sums``: five answers of each
    user a round, in the place of one.

    Users and server each make out the round by themselves, from the file of users, the rules and
    the question. What is malformed, late, doubled, replayed or forged is dropped and named, and so
    are users of whom nothing comes in time; the round goes on, and a sum is right or not opened.

    Parameters
    ----------
    members : the listed users and their identities, as in ``users``.
    others : as in ``FlowerPool``.
    """

    def __init__(
        self,
        users: Sequence[User],
        members: Members,
        post: NodePost,
        make_filter: MakeFilter,
        **others: Any,
    ) -> None:
        require_primitives()
        super().__init__(users, _WholeReplies(), make_filter, **others)
        if members.names != tuple(user.name for user in users):
            raise InvalidInputError("Expected an identity of each user, in the order of the file.")
        self.trust, self._members, self._nodes = "secure-aggregation", members, post

    def _agreed(self, rules: GradientRounds) -> GradientRounds:
        if rules.trust != self.trust:
            raise InvalidInputError("Expected rules of secure-aggregation.")
        return replace(rules, listed=len(self.users), masked=True, apart=True)

    def _limits(self, rules: GradientRounds, most: int) -> np.ndarray:
        limits = super()._limits(rules, most)
        if np.count_nonzero(limits) < rules.threshold:
            raise BudgetExceededError(
                f"Fewer than {rules.threshold} users can join the first round: no sum would be "
                "opened. Nothing was spent. Raise the budgets, or take more noise."
            )
        return limits

    def _answers(
        self, rules: GradientRounds, index: int, w: np.ndarray
    ) -> tuple[Answers, dict[str, str]]:
        question = Question(rules, index, w, b"")
        context = round_context(self._members, rules, index, w)
        held = _Round(context, SumServer(context))
        for node, content in self._nodes.ask_nodes(index, pack_question(question)):
            held.first(node, unpack_answer(content))
            if held.all_said():
                break
        while messages := held.messages():
            steps = {node: pack_question(replace(question, step=m)) for node, m in messages.items()}
            for node, content in self._nodes.send(index, steps):
                held.next(node, unpack_answer(content))
        return held.answers()


class _Round:
    """A round as the server of messages has it: which node is which user, and who declined.

    A node is the user whose signature for this round it sent first. Who declines is not asked for a
    signature: a user that does not come is not in the round either way.
    """

    def __init__(self, context: RoundContext, server: SumServer) -> None:
        self._context, self._server = context, server
        self._places = {name: place for place, name in enumerate(context.members.names)}
        self._at: dict[int, int] = {}
        self._declined: dict[int, str] = {}
        self._awaited: set[int] = set()
        self._dropped: list[Rejection] = []

    def all_said(self) -> bool:
        """Whether each user sent its first message, or declined."""
        return len({*self._at.values(), *self._declined}) == len(self._places)

    def first(self, node: int, said: Any) -> None:
        """Take what came of a node that was asked to begin."""
        place = self._places.get(getattr(said, "user", ""))
        if place is None or getattr(said, "round", -1) != self._context.round:
            self._drop(getattr(said, "user", ""), _NO_MESSAGE)
        elif isinstance(said, Declined):
            self._declined.setdefault(place, said.reason)
        elif not isinstance(said, SumStep):
            self._drop(said.user, "it is a whole reply")
        elif node in self._at or place in self._at.values():
            self._drop(said.user, "it is the user's second message of the round")
        else:
            try:
                signer, _ = verified(said.data, self._context, ADVERTISED)
                if signer != place:
                    raise BadMessage("another user signed it")
            except BadMessage as fault:
                self._drop(said.user, str(fault))
            else:
                self._at[node] = place
                self._server.receive(said.data)

    def next(self, node: int, said: Any) -> None:
        """Take what came of a node that was sent a step; its user is known by a signature, whatever
        it says now."""
        name = self._name(node)
        self._awaited.discard(node)
        asked = name, self._context.round
        its_own = (getattr(said, "user", ""), getattr(said, "round", -1)) == asked
        if its_own and isinstance(said, SumStep) and said.data:
            self._server.receive(said.data, self._at[node])
        elif its_own and isinstance(said, Declined):
            self._drop(name, "it left the round")
        else:
            self._drop(name, _NO_MESSAGE)

    def messages(self) -> dict[int, bytes]:
        """End a step; return the next message to each node, none after the last step."""
        for node in sorted(self._awaited):
            self._drop(self._name(node), "nothing of it came in time")
        nodes = {place: node for node, place in self._at.items()}
        sent = {nodes[place]: data for place, data in self._server.close().items()}
        self._awaited = set(sent)
        return sent

    def answers(self) -> tuple[Answers, dict[str, str]]:
        """Return the round, and why users declined, by their names."""
        gone = {p: why for p, why in self._declined.items() if p not in self._at.values()}
        away = np.array(sorted(gone), dtype=np.int64)
        none = np.zeros(self._context.width, dtype=np.int64)
        opened = self._server.opened()
        answers = answers_of(self._context.round, opened, self._server, away, none)
        answers = replace(answers, rejected=(*self._dropped, *answers.rejected))
        return answers, {self._context.members.names[place]: why for place, why in gone.items()}

    def _name(self, node: int) -> str:
        return self._context.members.names[self._at[node]]

    def _drop(self, name: str, reason: str) -> None:
        self._dropped.append(Rejection(name, self._context.round, reason))
