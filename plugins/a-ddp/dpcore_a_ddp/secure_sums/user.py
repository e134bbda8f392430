"""One user's side of one round: bytes in, bytes out, and a journal in between.

The protocol is that of Bonawitz et al. (CCS 2017) against an active server, over neighbours that
each user draws for itself (Bell et al., CCS 2020). A user

1. signs fresh keys and the neighbours that it draws from the list of users;
2. seals a share of its self-mask seed and of its masking key for each of these neighbours;
3. adds to its vector the self mask and a mask with each neighbour, and signs whom it masked with;
4. signs a set of users that the server proposes, if it is large enough: one set in a round;
5. reveals, once ``threshold`` users signed that very set, a share of the self-mask seed of each
   user in it whose own neighbours are there in sufficient number, or of the masking key of each
   user that is not in it: never both of one user.

What is proved of it, and under which assumptions, is in ``plugins/a-ddp/SECURE_SUMS.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from dpcore_a_ddp.secure_sums import primitives
from dpcore_a_ddp.secure_sums.context import Identity, RoundContext
from dpcore_a_ddp.secure_sums.envelopes import Envelopes
from dpcore_a_ddp.secure_sums.journal import RoundJournal
from dpcore_a_ddp.secure_sums.masks import pair_mask, self_mask
from dpcore_a_ddp.secure_sums.messages import (
    AGREED,
    ENVELOPES,
    KINDS,
    NEIGHBOURS,
    PROPOSED,
    REVEALED,
    SHARED,
    UNMASKING,
    BadMessage,
    Dropped,
    Reader,
    bits_of,
    head,
    numbers,
    places_of,
    read_head,
    signed,
)
from dpcore_a_ddp.secure_sums.primitives import SIGNATURE_BYTES
from dpcore_a_ddp.secure_sums.round_memory import OVER, RoundMemory
from dpcore_a_ddp.secure_sums.statements import (
    OF_KEY,
    OF_SEED,
    Advertisement,
    MaskStatement,
    Revealed,
    commitment,
    packed_shares,
)

__all__ = ["Contribute", "SumUser"]

Contribute = Callable[[np.ndarray], np.ndarray | None]
"""The mask, int64 of shape (width,), to the user's vector plus the mask modulo 2^64, or ``None``
where the user does not join after all. Called once a round, after every check that can come first:
a user charges its ledger and draws its noise in there."""


class SumUser:
    """A user in one round; the next round needs another one.

    Parameters
    ----------
    context : the round, as this user knows it.
    place : its own among the members.
    identity : its signing key.
    contribute : see ``Contribute``.
    journal : the user's own, which outlives this object.
    memory : that of the user's process before this one. InvalidInputError for another round's.

    ``dropped`` : the messages that it dropped, and why.
    """

    def __init__(
        self,
        context: RoundContext,
        place: int,
        identity: Identity,
        contribute: Contribute,
        journal: RoundJournal,
        memory: bytes | None = None,
    ) -> None:
        self._context, self._place, self._identity = context, place, identity
        self._contribute, self._journal = contribute, journal
        known = None if memory is None else RoundMemory.unpacked(memory, context, journal)
        self._at = known or RoundMemory()
        self.dropped: list[Dropped] = []

    @property
    def memory(self) -> bytes:
        """The user's knowledge of the round, for a process that goes on with it: secret."""
        return self._at.packed(self._context)

    def begin(self) -> bytes | None:
        """Return the user's keys and neighbours as its first message; ``None`` for a round that the
        journal has, or one before it: that one is not answered again."""
        if not self._journal.begin(self._context.round):
            self._drop("", "the round was begun before, and is not answered again")
            return None
        seed = primitives.random_bytes(primitives.KEY_BYTES)
        masking, public = primitives.key_pair()
        sealing, sealing_public = primitives.key_pair()
        parameters = self._context.parameters
        drawn = primitives.random_subset(parameters.users - 1, parameters.neighbours)
        neighbours = tuple(at + (at >= self._place) for at in drawn)
        own = Advertisement(self._place, public, sealing_public, commitment(seed), neighbours)
        self._at = RoundMemory(NEIGHBOURS, own, seed, masking, sealing)
        return own.signed(self._context, self._identity)

    @property
    def _own(self) -> Advertisement:
        """The user's advertisement of this round."""
        assert self._at.own is not None
        return self._at.own

    def _envelopes(self) -> Envelopes:
        return Envelopes(self._context, self._place, self._at.sealing, self._at.agreed)

    def receive(self, data: bytes) -> bytes | None:
        """Return the answer to a message of the server; ``None`` where it is dropped, after
        which the user still waits for a right one."""
        steps = {
            NEIGHBOURS: self._share,
            ENVELOPES: self._mask,
            PROPOSED: self._agree,
            UNMASKING: self._reveal,
        }
        try:
            kind, _, body = read_head(data, self._context)
            self._require_turn(kind)
            return steps[kind](Reader(body))
        except BadMessage as fault:
            self._drop("the server", str(fault))
        return None

    def _require_turn(self, kind: int) -> None:
        if kind % 2 == 0:
            raise BadMessage("it is another user's")
        if kind != self._at.awaits:
            when = "too early" if 0 <= self._at.awaits < kind else "late, or for a second time"
            raise BadMessage(f"it is of the kind {KINDS[kind]}, {when}")

    def _share(self, reader: Reader) -> bytes:
        others: dict[int, Advertisement] = {}
        for data in reader.blobs():
            try:
                other = self._read_keys(data)
                if other.place in others:
                    raise BadMessage("its keys are there twice")
                others[other.place] = other
            except BadMessage as fault:
                self._drop("keys from the server", str(fault))
        reader.end()
        self._require_present(others)
        secrets = self._at.seed + self._at.masking
        body = self._envelopes().sealed(others, self._own.neighbours, secrets)
        self._at.others = others
        return self._step(ENVELOPES, SHARED, body)

    def _read_keys(self, data: bytes) -> Advertisement:
        """Return another user's keys, signed by it for this round; BadMessage for others."""
        other = Advertisement.read(data, self._context)
        if other.place not in self._own.neighbours and self._place not in other.neighbours:
            raise BadMessage("it is of no neighbour")
        return other

    def _require_present(self, there: Iterable[int]) -> None:
        """Raise BadMessage unless enough of the neighbours that the user drew are there."""
        present = len(set(there).intersection(self._own.neighbours))
        if present < self._context.parameters.present:
            raise BadMessage(f"only {present} of the user's own neighbours are there")

    def _mask(self, reader: Reader) -> bytes | None:
        held: dict[int, tuple[bytes, bytes]] = {}
        masked: set[int] = set()
        envelopes = self._envelopes()
        for place, sealed in reader.placed_blobs():
            try:
                if place in masked:
                    raise BadMessage("its shares are there twice")
                shares = envelopes.opened(place, sealed, self._at.others)
            except BadMessage as fault:
                self._drop(self._name(place), str(fault))
                continue
            masked.add(place)
            if shares is not None:
                held[place] = shares
        reader.end()
        self._require_present(masked)
        mask = self._self_mask()
        for place in masked:
            public = self._at.others[place].masking
            mask += pair_mask(self._context, self._at.masking, self._place, place, public)
        self._at.held, self._at.masked = held, frozenset(masked)
        self._at.awaits = OVER
        self._journal.note(self._context.round, "masked")
        values = self._contribute(mask.view(np.int64))
        if values is None:
            return None
        self._at.awaits = PROPOSED
        of_others = sorted(masked.difference(self._own.neighbours))
        rest = numbers(of_others) + values.astype("<i8").tobytes()
        among = [i for i, place in enumerate(self._own.neighbours) if place in masked]
        statement = MaskStatement(self._place, tuple(among), primitives.digest(rest))
        return statement.signed(self._context, self._identity) + rest

    def _self_mask(self) -> np.ndarray:
        return self_mask(self._context, self._at.seed)

    def _agree(self, reader: Reader) -> bytes:
        bits = reader.blob()
        found = frozenset(places_of(bits, self._context.parameters.users))
        reader.end()
        self._require_size(found)
        if self._place in found:
            self._require_present(found & self._at.masked)
        self._at.proposed = found
        return self._step(UNMASKING, AGREED, bits)

    def _require_size(self, found: frozenset[int]) -> None:
        """Raise BadMessage for a set of fewer users than the rules say."""
        threshold = self._context.parameters.threshold
        if len(found) < threshold:
            raise BadMessage(f"its set has {len(found)} users, and {threshold} are agreed on")

    def _reveal(self, reader: Reader) -> bytes:
        signers = reader.numbers()
        signatures = reader.parts(len(signers), SIGNATURE_BYTES)
        statements = reader.blobs()
        reader.end()
        self._require_signed(dict(zip(signers, signatures, strict=True)))
        shown = self._well_masked(statements)
        revealed = []
        for place, (of_seed, of_key) in self._at.held.items():
            if place not in self._at.proposed:
                revealed.append(Revealed(place, OF_KEY, of_key))
            elif place in shown:
                revealed.append(Revealed(place, OF_SEED, of_seed))
            else:
                self._drop(self._name(place), "too few of its own neighbours are in the set")
        answer = self._step(OVER, REVEALED, packed_shares(revealed))
        self._forget()
        return answer

    def _forget(self) -> None:
        self._at.forget()

    def _require_signed(self, signatures: dict[int, bytes]) -> None:
        """Raise BadMessage unless ``threshold`` users signed the set that this one signed."""
        context, signed_by = self._context, 0
        threshold, keys = context.parameters.threshold, context.members.keys
        bits = bits_of(self._at.proposed, len(keys))
        for place, signature in signatures.items():
            text = head(AGREED, context, place) + bits
            if place < len(keys) and primitives.verify(keys[place], signature, text):
                signed_by += 1
            else:
                self._drop(self._name(place), "it did not sign the set that this user signed")
            if signed_by == threshold:
                return
        raise BadMessage(f"only {signed_by} users signed the set, and {threshold} have to")

    def _well_masked(self, statements: list[bytes]) -> set[int]:
        """Return the users in the set whose own neighbours are there in sufficient number, by what
        they signed when they masked."""
        shown = set()
        for data in statements:
            try:
                statement = MaskStatement.read(data, self._context)
            except BadMessage as fault:
                self._drop("a statement from the server", str(fault))
                continue
            if statement.place in self._at.held:
                neighbours = self._at.others[statement.place].neighbours
                present = sum(neighbours[at] in self._at.proposed for at in statement.among)
                if present >= self._context.parameters.present:
                    shown.add(statement.place)
        return shown

    def _step(self, awaits: int, kind: int, body: bytes) -> bytes:
        """Write the step down, and return its message."""
        self._journal.note(self._context.round, KINDS[kind])
        self._at.awaits = awaits
        return signed(kind, self._context, self._place, self._identity, body)

    def _name(self, place: int) -> str:
        members = self._context.members
        return members.names[place] if place < len(members) else ""

    def _drop(self, sender: str, reason: str) -> None:
        self.dropped.append(Dropped(sender, reason))
