"""Secure sums: rounds in which users are lost, and what a round takes of a user.

    python bench/secure_aggregation.py --seeds 1000            # 100 users, 30 lost over 20 rounds
    python bench/secure_aggregation.py --sizes 100 1000 10000  # bytes and CPU ms a user and round

The first takes hashes in place of curves and signatures: it is about who is lost and what is
charged. In the second a few users of each size do all of their work, with the primitives
themselves, on messages of as many others as there would be; nobody is lost.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from dpcore_a_ddp.secure_sums import primitives
from dpcore_a_ddp.secure_sums.context import Identity, Members, RoundContext
from dpcore_a_ddp.secure_sums.journal import RoundJournal
from dpcore_a_ddp.secure_sums.messages import (
    AGREED,
    ENVELOPES,
    NEIGHBOURS,
    PROPOSED,
    SERVER,
    SIGNATURE_BYTES,
    UNMASKING,
    bits_of,
    blob,
    head,
    numbers,
    signed,
)
from dpcore_a_ddp.secure_sums.parameters import SumParameters
from dpcore_a_ddp.secure_sums.shamir import SHARE_BYTES
from dpcore_a_ddp.secure_sums.statements import Advertisement, MaskStatement
from dpcore_a_ddp.secure_sums.user import SumUser

sys.path.append(str(Path(__file__).parents[1] / "plugins" / "a-ddp" / "tests"))

_WIDTH = 124  # the features of a9a


class Crowd:
    """All users of a round as far as one of them sees them."""

    def __init__(self, users: int) -> None:
        colluding, threshold = users // 10, -(-2 * users // 3)
        self.parameters = SumParameters.usual(users, colluding, threshold)
        self._identities = [Identity.fresh() for _ in range(users)]
        keys = tuple(identity.public for identity in self._identities)
        members = Members(tuple(f"user-{place}" for place in range(users)), keys)
        self.context = RoundContext(members, self.parameters, 0, _WIDTH)
        self._sealing = [primitives.key_pair() for _ in range(users)]
        self._keys = [self._advertised(place) for place in range(users)]
        everyone = bits_of(range(users), users)
        # A user looks at the signatures of the first ``threshold`` users, and no further.
        self._signed = numbers(range(threshold)) + b"".join(
            signed(AGREED, self.context, place, self._identities[place], everyone)[
                -SIGNATURE_BYTES:
            ]
            for place in range(threshold)
        )
        self._set = self._sent(PROPOSED, blob(everyone))

    def _advertised(self, place: int) -> Advertisement:
        drawn = primitives.random_subset(self.parameters.users - 1, self.parameters.neighbours)
        neighbours = tuple(at + (at >= place) for at in drawn)
        public = primitives.key_pair()[1]
        return Advertisement(place, public, self._sealing[place][1], bytes(32), neighbours)

    def _sent(self, kind: int, body: bytes) -> bytes:
        return head(kind, self.context, SERVER) + body

    def measure(self, place: int) -> tuple[int, int, float]:
        """Return the bytes that a user sends and gets in a round, and its CPU seconds."""
        start, sent, got = time.process_time(), [], []
        identity, journal = self._identities[place], RoundJournal()
        user = SumUser(self.context, place, identity, lambda mask: mask, journal)
        sent.append(user.begin())
        spent = time.process_time() - start
        own = Advertisement.read(sent[0], self.context)
        others = [
            keys
            for keys in self._keys
            if keys.place != place and (place in keys.neighbours or keys.place in own.neighbours)
        ]
        signed_keys = [
            blob(keys.signed(self.context, self._identities[keys.place])) for keys in others
        ]
        envelopes = [self._envelope(keys.place, own) for keys in others]
        holders = [keys.place for keys in others if place in keys.neighbours]
        everyone = range(self.parameters.neighbours)
        statements = [
            blob(
                MaskStatement(holder, tuple(everyone), bytes(32)).signed(
                    self.context, self._identities[holder]
                )
            )
            for holder in holders
        ]
        for message in (
            self._sent(NEIGHBOURS, len(others).to_bytes(4, "little") + b"".join(signed_keys)),
            self._sent(ENVELOPES, len(others).to_bytes(4, "little") + b"".join(envelopes)),
            self._set,
            self._sent(
                UNMASKING,
                self._signed + len(statements).to_bytes(4, "little") + b"".join(statements),
            ),
        ):
            start = time.process_time()
            answer = user.receive(message)
            spent += time.process_time() - start
            got.append(message)
            sent.append(answer)
        if user.dropped:
            raise SystemExit(f"Dropped: {user.dropped[0]}")
        return sum(map(len, sent)), sum(map(len, got)), spent

    def _envelope(self, sender: int, own: Advertisement) -> bytes:
        about = self.context.pair(b"seal", sender, own.place)
        agreed = primitives.agree(self._sealing[sender][0], own.sealing)
        is_holder = own.place in self._keys[sender].neighbours
        text = bytes(2 * SHARE_BYTES if is_holder else 0)
        sealed = primitives.seal(primitives.derive(agreed, about), text, about)
        return sender.to_bytes(4, "little") + blob(sealed)


def run_seeds(count: int) -> None:
    import pytest
    from sum_users import light_primitives, run_rounds

    with pytest.MonkeyPatch.context() as patched:
        light_primitives(patched)
        opened, start = [], time.process_time()
        for seed in range(count):
            opened.append(run_rounds(seed))
            if (seed + 1) % 10 == 0 or seed + 1 == count:
                spent = time.process_time() - start
                print(
                    f"{seed + 1} seeds of 20 rounds: {sum(opened)} sums opened, all right; "
                    f"{20 * (seed + 1) - sum(opened)} not opened; {spent:.0f} s of CPU time",
                    flush=True,
                )


def run_sizes(sizes: list[int], sample: int) -> None:
    print("users neighbours honest alpha  sends KB  gets KB  CPU ms (least, most)")
    for size in sizes:
        crowd = Crowd(size)
        found = np.array([crowd.measure(place) for place in range(min(size, sample))])
        sent, got, spent = found.mean(axis=0)
        known = crowd.parameters
        print(
            f"{size:5d} {known.neighbours:10d} {known.honest:6d} {known.alpha:5.2f} "
            f"{sent / 1e3:9.1f} {got / 1e3:8.1f} {1e3 * spent:8.1f} "
            f"({1e3 * found[:, 2].min():.1f}, {1e3 * found[:, 2].max():.1f})",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=0)
    parser.add_argument("--sizes", type=int, nargs="*", default=[])
    parser.add_argument("--sample", type=int, default=5, help="users of each size who are timed")
    asked = parser.parse_args()
    if asked.seeds:
        run_seeds(asked.seeds)
    if asked.sizes:
        run_sizes(asked.sizes, asked.sample)


if __name__ == "__main__":
    main()
