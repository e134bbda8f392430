"""The server's side of one round: it carries messages, proposes a set, and opens one sum.

Nothing here guards a user: what a server could do instead, the users' side has to stop. It drops
what honest users would not send, and names it, so that the round goes on without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dpcore_a_ddp.secure_sums.context import RoundContext
from dpcore_a_ddp.secure_sums.messages import (
    ADVERTISED,
    AGREED,
    ENVELOPES,
    KINDS,
    MASKED,
    NEIGHBOURS,
    PROPOSED,
    REVEALED,
    SERVER,
    SHARED,
    UNMASKING,
    BadMessage,
    Dropped,
    Reader,
    bits_of,
    blob,
    blobs,
    head,
    numbers,
    placed_blobs,
    read_head,
    verified,
)
from dpcore_a_ddp.secure_sums.opening import MaskedVector, Opening
from dpcore_a_ddp.secure_sums.primitives import SIGNATURE_BYTES, digest
from dpcore_a_ddp.secure_sums.statements import Advertisement, MaskStatement, read_shares

__all__ = ["OpenedSum", "SumServer"]


class OpenedSum(NamedTuple):
    """A sum modulo 2^64. ``places`` : of the users in it, rising. ``total`` : int64 (width,)."""

    places: tuple[int, ...]
    total: np.ndarray


class SumServer:
    """A server in one round.

    ``receive`` takes users' messages of the step that it awaits, in any order; ``close`` ends the
    step, and returns what to send to whom. ``dropped`` : the messages that it dropped, and why.
    ``failed`` : why no sum will be opened, empty while one may be.
    """

    def __init__(self, context: RoundContext) -> None:
        self._context = context
        self._awaits = ADVERTISED
        self.dropped: list[Dropped] = []
        self.failed = ""
        self._came: set[int] = set()
        self._keys: dict[int, tuple[Advertisement, bytes]] = {}
        self._drawn_by: dict[int, set[int]] = {}
        self._sealed: dict[int, list[tuple[int, bytes]]] = {}
        self._sharing: set[int] = set()
        self._masked: dict[int, MaskedVector] = {}
        self._set: tuple[int, ...] = ()
        self._bits = b""
        self._signatures: dict[int, bytes] = {}
        self._opening = Opening(context)

    def receive(self, data: bytes, brought_by: int | None = None) -> None:
        """Take a message, or drop it and say why.

        ``brought_by`` : the place of the user whose connection it came over, where that is known:
        it is named then, and else whom the message names.
        """
        names = self._context.members.names
        sender = "" if brought_by is None else names[brought_by]
        takes: dict[int, Callable[[bytes], int]] = {
            ADVERTISED: self._take_keys,
            SHARED: self._take_shares,
            MASKED: self._take_vector,
            AGREED: self._take_signature,
            REVEALED: self._take_revealed,
        }
        try:
            kind, place, _ = read_head(data, self._context)
            if place == SERVER:
                raise BadMessage("it is the server's own")
            sender = sender or names[place]
            if kind != self._awaits:
                when = "late" if kind < self._awaits else "too early"
                raise BadMessage(f"it is of the kind {KINDS[kind]}, {when}")
            if place in self._came:
                raise BadMessage("it is the user's second message of the step")
            self._came.add(takes[kind](data))
        except BadMessage as fault:
            self.dropped.append(Dropped(sender, str(fault)))

    def close(self) -> dict[int, bytes]:
        """End a step; return the next message to each user that is still there, by its place. None
        after the last step, or where too few users are left (``failed``)."""
        threshold = self._context.parameters.threshold
        if not self.failed and len(self._came) < threshold:
            self.failed = f"{len(self._came)} users were left of {threshold} that it takes"
        sends: dict[int, Callable[[], dict[int, bytes]]] = {
            ADVERTISED: self._send_keys,
            SHARED: self._send_shares,
            MASKED: self._send_set,
            AGREED: self._send_signatures,
        }
        send = None if self.failed else sends.get(self._awaits)
        sent = {} if send is None else send()
        self._awaits, self._came = self._awaits + 2, set()
        return {} if self.failed else sent

    def opened(self) -> OpenedSum | None:
        """Return the sum after the last step; ``None``, and why in ``failed``, if too few shares
        came to open it."""
        if self.failed:
            return None
        keys = {place: keys for place, (keys, _) in self._keys.items()}
        total, self.failed = self._opening.total(self._set, self._masked, keys)
        return None if total is None else OpenedSum(self._set, total)

    def _message(self, kind: int, body: bytes) -> bytes:
        return head(kind, self._context, SERVER) + body

    def _take_keys(self, data: bytes) -> int:
        keys = Advertisement.read(data, self._context)
        self._keys[keys.place] = keys, data
        for other in keys.neighbours:
            self._drawn_by.setdefault(other, set()).add(keys.place)
        return keys.place

    def _neighbours(self, place: int) -> list[int]:
        drawn = self._drawn_by.get(place, set()).union(self._keys[place][0].neighbours)
        return sorted(drawn & self._keys.keys())

    def _send_keys(self) -> dict[int, bytes]:
        sent = {}
        for place in self._keys:
            others = [self._keys[other][1] for other in self._neighbours(place)]
            sent[place] = self._message(NEIGHBOURS, blobs(others))
        return sent

    def _take_shares(self, data: bytes) -> int:
        place, reader = verified(data, self._context, SHARED)
        found = reader.placed_blobs()
        reader.end()
        if place not in self._keys:
            raise BadMessage("its keys did not come")
        for other, sealed in found:
            self._sealed.setdefault(other, []).append((place, sealed))
        self._sharing.add(place)
        return place

    def _send_shares(self) -> dict[int, bytes]:
        return {
            place: self._message(ENVELOPES, placed_blobs(self._sealed.get(place, ())))
            for place in self._sharing
        }

    def _take_vector(self, data: bytes) -> int:
        size = len(head(MASKED, self._context, 0)) + MaskStatement.size(self._context)
        statement, rest = data[: size + SIGNATURE_BYTES], data[size + SIGNATURE_BYTES :]
        found = MaskStatement.read(statement, self._context)
        if digest(rest) != found.rest:
            raise BadMessage("its vector is not the signed one")
        if found.place not in self._sharing:
            raise BadMessage("its shares did not come")
        reader = Reader(rest)
        of_others = reader.numbers()
        values = np.frombuffer(reader.take(8 * self._context.width), "<u8").astype(np.uint64)
        reader.end()
        drawn = self._keys[found.place][0].neighbours
        masked = frozenset([*of_others, *(drawn[at] for at in found.among)])
        if not masked <= self._sharing:
            raise BadMessage("it masked with users who did not share")
        self._masked[found.place] = MaskedVector(values, masked, statement)
        return found.place

    def _send_set(self) -> dict[int, bytes]:
        found = self._fitting(set(self._masked))
        threshold = self._context.parameters.threshold
        if len(found) < threshold:
            self.failed = f"{len(found)} vectors fit together of {threshold} that it takes"
        self._set = tuple(sorted(found))
        self._bits = bits_of(self._set, self._context.parameters.users)
        return dict.fromkeys(self._masked, self._message(PROPOSED, blob(self._bits)))

    def _fitting(self, found: set[int]) -> set[int]:
        """Return the users whose masks cancel within the set and whose own neighbours are in it in
        sufficient number: the others are treated as those who dropped out, and named. Of two whose
        masks do not fit nobody can tell who is wrong; who does not fit with most goes first."""
        present = self._context.parameters.present
        while found:
            unmatched = {
                place: sum(
                    (other in self._masked[place].masked) != (place in self._masked[other].masked)
                    for other in found.intersection(self._neighbours(place))
                )
                for place in found
            }
            worst = max(unmatched, key=lambda place: (unmatched[place], place))
            if unmatched[worst]:
                gone, reason = {worst}, "its masks are not those of its neighbours"
            else:
                gone = {place for place in found if self._own_neighbours(place, found) < present}
                reason = "too few of its own neighbours are in the set"
            if not gone:
                break
            found = found - gone
            names = self._context.members.names
            self.dropped.extend(Dropped(names[place], reason) for place in sorted(gone))
        return found

    def _own_neighbours(self, place: int, found: set[int]) -> int:
        masked = self._masked[place].masked
        return len(masked.intersection(self._keys[place][0].neighbours, found))

    def _take_signature(self, data: bytes) -> int:
        place, reader = verified(data, self._context, AGREED)
        signed = reader.take(len(self._bits))
        reader.end()
        if signed != self._bits:
            raise BadMessage("it signed another set")
        self._signatures[place] = data[-SIGNATURE_BYTES:]
        return place

    def _send_signatures(self) -> dict[int, bytes]:
        # No user looks at more signatures than it takes.
        signers = sorted(self._signatures)[: self._context.parameters.threshold]
        signed_by = numbers(signers) + b"".join(self._signatures[place] for place in signers)
        sent = {}
        for place in self._signatures:
            shown = self._drawn_by.get(place, set()).intersection(self._set)
            statements = [self._masked[other].statement for other in sorted(shown)]
            sent[place] = self._message(UNMASKING, signed_by + blobs(statements))
        return sent

    def _take_revealed(self, data: bytes) -> int:
        place, reader = verified(data, self._context, REVEALED)
        for part in read_shares(reader):
            if part.place in self._keys and place in self._keys[part.place][0].neighbours:
                self._opening.add(place, part)
        return place
