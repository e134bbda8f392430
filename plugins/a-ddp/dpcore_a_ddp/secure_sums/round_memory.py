"""A user's memory of a round between two messages, as bytes that another process of it can take.

It is secret, and of one round: it belongs into memory that the user alone reads, such as that of
its own Flower node, and never onto a disk or to another. Who lost it has dropped out of the round.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Self

from dpcore.errors import replacing
from dpcore.plugin import InvalidInputError
from dpcore_a_ddp.secure_sums.context import RoundContext
from dpcore_a_ddp.secure_sums.journal import RoundJournal
from dpcore_a_ddp.secure_sums.messages import KINDS
from dpcore_a_ddp.secure_sums.statements import Advertisement

__all__ = ["OVER", "RoundMemory"]

OVER = -1
"""Awaited by a user that takes no message any more."""


@dataclass
class RoundMemory:
    """A user's keys of one round, and what it learnt of the others in it.

    Parameters
    ----------
    awaits : the kind of the message that comes next, or ``OVER``.
    own : what the user advertised; ``None`` before.
    seed, masking, sealing : its self-mask seed, and the private keys of what it advertised.
    others : keys of its neighbours, by their places.
    agreed : what it agreed on with them for envelopes.
    held : shares of their seeds and masking keys, of those who drew this user.
    masked : those with whom it masked.
    proposed : the set that it signed.
    """

    awaits: int = OVER
    own: Advertisement | None = None
    seed: bytes = b""
    masking: bytes = b""
    sealing: bytes = b""
    others: dict[int, Advertisement] = field(default_factory=dict)
    agreed: dict[int, bytes] = field(default_factory=dict)
    held: dict[int, tuple[bytes, bytes]] = field(default_factory=dict)
    masked: frozenset[int] = frozenset()
    proposed: frozenset[int] = frozenset()

    def packed(self, context: RoundContext) -> bytes:
        """Return it as bytes, for a process that goes on with the same round."""
        content = {
            "context": context.digest.hex(),
            "awaits": self.awaits,
            "own": None if self.own is None else _of_keys(self.own),
            "secrets": [key.hex() for key in (self.seed, self.masking, self.sealing)],
            "others": [_of_keys(keys) for keys in self.others.values()],
            "agreed": [[place, key.hex()] for place, key in self.agreed.items()],
            "held": [[place, *(share.hex() for share in two)] for place, two in self.held.items()],
            "masked": sorted(self.masked),
            "proposed": sorted(self.proposed),
        }
        return json.dumps(content).encode("ascii")

    @classmethod
    def unpacked(cls, data: bytes, context: RoundContext, journal: RoundJournal) -> Self:
        """Return it from what ``packed`` returned in this very round; InvalidInputError for bytes
        of another one, or from before a step that the journal has: that one is not made twice."""
        lost = InvalidInputError("What this user knew of the round is lost.")
        with replacing(ValueError, TypeError, KeyError, RecursionError, by=lambda _: lost):
            content = json.loads(data)
            is_last = journal.last == context.round
            is_last = is_last and content["awaits"] in (KINDS.index(journal.step) + 1, OVER)
            if content["context"] != context.digest.hex() or not is_last:
                raise lost
            seed, masking, sealing = (bytes.fromhex(key) for key in content["secrets"])
            others = [_keys_of(entry) for entry in content["others"]]
            return cls(
                awaits=content["awaits"],
                own=None if content["own"] is None else _keys_of(content["own"]),
                seed=seed,
                masking=masking,
                sealing=sealing,
                others={keys.place: keys for keys in others},
                agreed={place: bytes.fromhex(key) for place, key in content["agreed"]},
                held={
                    place: (bytes.fromhex(of_seed), bytes.fromhex(of_key))
                    for place, of_seed, of_key in content["held"]
                },
                masked=frozenset(content["masked"]),
                proposed=frozenset(content["proposed"]),
            )

    def forget(self) -> None:
        """Let go of the secrets of the round."""
        self.seed = self.masking = self.sealing = b""
        self.agreed, self.held = {}, {}


def _of_keys(keys: Advertisement) -> list[Any]:
    place, masking, sealing, seed, neighbours = keys
    return [place, masking.hex(), sealing.hex(), seed.hex(), list(neighbours)]


def _keys_of(entry: list[Any]) -> Advertisement:
    place, *keys, neighbours = entry
    masking, sealing, seed = (bytes.fromhex(key) for key in keys)
    return Advertisement(place, masking, sealing, seed, tuple(neighbours))
