"""Users of secure sums, for tests: identities, vectors, and primitives that cost little."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from dpcore_a_ddp.secure_sums import primitives
from dpcore_a_ddp.secure_sums.context import Identity, Members, RoundContext
from dpcore_a_ddp.secure_sums.driver import STEPS, carried, run_round
from dpcore_a_ddp.secure_sums.journal import RoundJournal
from dpcore_a_ddp.secure_sums.parameters import SumParameters
from dpcore_a_ddp.secure_sums.primitives import KEY_BYTES, SEAL_BYTES, SIGNATURE_BYTES
from dpcore_a_ddp.secure_sums.server import SumServer
from dpcore_a_ddp.secure_sums.user import SumUser

pytest.importorskip("cryptography", reason="needs the extra dpcore-a-ddp[secure]")

WIDTH = 3


class Group:
    """So many users with identities and vectors of their own; ``journals`` by place."""

    def __init__(self, size=8, colluding=1, threshold=None, parameters=None, seed=0):
        self.identities = [Identity.fresh() for _ in range(size)]
        names = tuple(f"u{place}" for place in range(size))
        self.members = Members(names, tuple(identity.public for identity in self.identities))
        self.parameters = parameters or SumParameters.complete(
            size, colluding, threshold or (size + colluding) // 2 + 1
        )
        rng = np.random.default_rng(seed)
        self.vectors = rng.integers(-(2**63), 2**63, (size, WIDTH), dtype=np.int64)
        self.contributions = np.zeros(size, dtype=int)

    def context(self, index=0, **changes):
        known = {"rules": b"rules", "question": b"w"} | changes
        parameters = known.pop("parameters", self.parameters)
        return RoundContext(self.members, parameters, index, WIDTH, **known)

    def user(self, place, context=None, journal=None, kind=SumUser):
        def contribute(mask):
            self.contributions[place] += 1
            return self.vectors[place] + mask

        context = context or self.context()
        return kind(context, place, self.identities[place], contribute, journal or RoundJournal())

    def users(self, context=None, kinds=None):
        kinds = kinds or {}
        return {
            place: self.user(place, context, kind=kinds.get(place, SumUser))
            for place in range(len(self.members))
        }

    def total(self, places):
        return self.vectors[list(places)].sum(axis=0)

    def run(self, carry=carried, users=None, context=None):
        """Return the sum, the server and the users of a round."""
        users = users or self.users(context)
        server = SumServer(context or self.context())
        return run_round(users, server, carry), server, users


def reasons(side):
    return [dropped.reason for dropped in side.dropped]


def hashed(*parts):
    return hash(parts).to_bytes(KEY_BYTES, "little", signed=True)


def light_primitives(monkeypatch):
    """Put hashes in the place of curves and signatures: for what the messages do, not for what they
    hide."""

    @lru_cache(maxsize=4096)
    def public_key(secret):
        return hashed(b"key", secret)

    def agree(secret, public):
        return hashed(*sorted((public_key(secret), public)))

    @lru_cache(maxsize=4096)
    def public_identity(secret):
        return hashed(b"id", secret)

    def sign(secret, text):
        public = public_identity(secret)
        return hash((public, text)).to_bytes(SIGNATURE_BYTES, "little", signed=True)

    def verify(public, found, text):
        return found == hash((public, text)).to_bytes(SIGNATURE_BYTES, "little", signed=True)

    def seal(key, text, about):
        return text + hashed(key, text, about)[:SEAL_BYTES]

    def opened(key, sealed, about):
        text = sealed[:-SEAL_BYTES]
        return text if seal(key, text, about) == sealed else None

    def expand(key, width):
        return np.frombuffer(hashlib.shake_128(key).digest(8 * width), "<u8").copy()

    monkeypatch.setattr(primitives, "public_key", public_key)
    monkeypatch.setattr(primitives, "agree", agree)
    monkeypatch.setattr(primitives, "derive", hashed)
    monkeypatch.setattr(primitives, "expand", expand)
    monkeypatch.setattr(primitives, "seal", seal)
    monkeypatch.setattr(primitives, "opened", opened)
    monkeypatch.setattr(primitives, "public_identity", public_identity)
    monkeypatch.setattr(primitives, "sign", sign)
    monkeypatch.setattr(primitives, "verify", verify)


# Fewer neighbours than a deployment takes: 100 users of 8 each, for the time that it takes.
PARAMETERS = SumParameters(
    users=100, colluding=0, threshold=67, neighbours=8, shares=3, present=3, failure_bits=1
)


# Enough for a single round to be opened though thirty of a hundred are lost in it: but for a
# probability of 6e-5, each user has 4 of its 20 neighbours left.
MORE_NEIGHBOURS = replace(PARAMETERS, neighbours=20, shares=4, present=4)


def run_rounds(seed, users=100, lost=30, rounds=20, parameters=PARAMETERS):
    """Run rounds in which users are lost at random steps, of whom a half restarts after one round;
    return how many sums were opened, all of them right."""
    rng = np.random.default_rng(seed)
    group = Group(users, parameters=parameters, seed=seed)
    journals = [RoundJournal() for _ in range(users)]
    ends = np.full(users, rounds * STEPS)
    ends[rng.choice(users, lost, replace=False)] = rng.integers(0, rounds * STEPS, lost)
    back = np.where(rng.random(users) < 0.5, (ends // STEPS + 2) * STEPS, rounds * STEPS)
    opened = 0
    for index in range(rounds):

        def carry(step, place, data, index=index):
            now = index * STEPS + step
            return None if ends[place] <= now < back[place] else data

        context, before = group.context(index), group.contributions.copy()
        there = {
            place: group.user(place, context, journals[place])
            for place in range(users)
            if not ends[place] <= index * STEPS < back[place]
        }
        server = SumServer(context)
        total = run_round(there, server, carry)
        charged = group.contributions - before
        assert charged.max() <= 1  # no ledger twice, whatever happens
        if total is not None:
            opened += 1
            assert len(total.places) >= parameters.threshold
            assert total.total.tolist() == group.total(total.places).tolist()
            assert charged[list(total.places)].all()
        # Users who restart are asked the round again, and do not answer.
        for place in there:
            assert group.user(place, context, journals[place]).begin() is None
    return opened
