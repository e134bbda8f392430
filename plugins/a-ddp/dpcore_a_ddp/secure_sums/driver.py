"""A round whose users and server are in one process: for simulations, tests and benches."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dpcore_a_ddp.secure_sums.messages import KINDS
from dpcore_a_ddp.secure_sums.server import OpenedSum, SumServer
from dpcore_a_ddp.secure_sums.user import SumUser

__all__ = ["STEPS", "Carry", "carried", "run_round"]

STEPS = len(KINDS)
"""Messages between a user and the server in a round: five of the user's, four of the server's."""

Carry = Callable[[int, int, bytes], bytes | None]
"""Step, the user's place and a message, to what arrives of it; ``None`` for nothing. Users send in
steps of even, and get in steps of odd number."""


def carried(step: int, place: int, data: bytes) -> bytes | None:
    """Return the message as it was sent."""
    return data


def run_round(
    users: Mapping[int, SumUser], server: SumServer, carry: Carry = carried
) -> OpenedSum | None:
    """Return the sum of a round over users by their places; ``None`` where none is opened, for
    which ``server.failed`` says why."""
    sent = {place: data for place, user in users.items() if (data := user.begin()) is not None}
    for step in range(0, STEPS, 2):
        for place, data in sent.items():
            arrived = carry(step, place, data)
            if arrived is not None:
                server.receive(arrived, place)
        sent = {}
        for place, data in server.close().items():
            arrived = carry(step + 1, place, data)
            answer = None if arrived is None else users[place].receive(arrived)
            if answer is not None:
                sent[place] = answer
    return server.opened()
