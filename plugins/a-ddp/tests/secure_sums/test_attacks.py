"""Each rule of a user's side, and the attack that it stops: with the rule, the server learns
nothing; a twin without the rule, in the same attack, gives a user's vector away.
"""

import numpy as np
import pytest
from sum_users import Group, light_primitives, reasons

from dpcore_a_ddp.secure_sums import messages, primitives, user
from dpcore_a_ddp.secure_sums.context import Identity, Members, RoundContext
from dpcore_a_ddp.secure_sums.journal import FileJournal, RoundJournal
from dpcore_a_ddp.secure_sums.masks import pair_mask
from dpcore_a_ddp.secure_sums.messages import PROPOSED, SERVER, bits_of, blob, head
from dpcore_a_ddp.secure_sums.parameters import SumParameters
from dpcore_a_ddp.secure_sums.server import SumServer
from dpcore_a_ddp.secure_sums.shamir import recovered
from dpcore_a_ddp.secure_sums.statements import (
    OF_KEY,
    OF_SEED,
    Advertisement,
    MaskStatement,
    read_shares,
)
from dpcore_a_ddp.secure_sums.user import SumUser

VICTIM = 2


@pytest.fixture(autouse=True)
def light(monkeypatch):
    light_primitives(monkeypatch)


class Attack:
    """A server that runs the first three steps as it should, and then does as it likes."""

    def __init__(self, kind=SumUser, size=8, threshold=None):
        self.group = Group(size, threshold=threshold)
        self.context = self.group.context()
        self.users = self.group.users(kinds=dict.fromkeys(range(size), kind))
        self.servers = {}

    def up_to_the_set(self, drop=()):
        """Run until users wait for a set; return the servers, one for each set to come."""
        server = SumServer(self.context)
        sent = {place: one.begin() for place, one in self.users.items()}
        for _ in range(2):
            for data in sent.values():
                server.receive(data)
            sent = {place: self.users[place].receive(d) for place, d in server.close().items()}
        self.vectors = sent
        return server

    def propose(self, places, to):
        """Return what users sign when they are shown a set."""
        bits = blob(bits_of(places, len(self.users)))
        data = head(PROPOSED, self.context, SERVER) + bits
        return {place: self.users[place].receive(data) for place in to}

    def unmask(self, signatures, places, to):
        """Return what users reveal who are shown signatures and the statements of a set."""
        known = {place: data for place, data in signatures.items() if data is not None}
        size = len(head(4, self.context, 0)) + self.statement_size
        body = messages.numbers(sorted(known))
        body += b"".join(known[place][-64:] for place in sorted(known))
        shown = [blob(self.vectors[place][: size + 64]) for place in places]
        data = head(7, self.context, SERVER) + body + len(shown).to_bytes(4, "little")
        return {place: self.users[place].receive(data + b"".join(shown)) for place in to}

    @property
    def statement_size(self):
        return MaskStatement.size(self.context)

    def secrets(self, revealed):
        """Return the secrets that so many shares give back, by their kind and user."""
        shares = {}
        for holder, data in revealed.items():
            if data is not None:
                _, reader = messages.verified(data, self.context, 8)
                for part in read_shares(reader):
                    found = shares.setdefault((part.kind, part.place), [])
                    found.append((holder + 1, part.share))
        needed = self.group.parameters.shares
        return {k: recovered(v[:needed]) for k, v in shares.items() if len(v) >= needed}


class Unchecked(SumUser):
    """A twin that reveals whatever was signed by whom."""

    def _require_signed(self, signatures):
        pass


@pytest.mark.parametrize(("kind", "falls"), [(SumUser, False), (Unchecked, True)])
def test_a_split_set_opens_nothing(kind, falls):
    """Half of the users are shown a set with the victim, half one without: two sums that differ by
    its vector. Neither set has as many signers as it takes."""
    # Whoever reveals shares for one of the sets is enough, without the other half: a low number.
    low = SumParameters(users=8, colluding=0, threshold=5, neighbours=7, shares=3, present=1)
    attack = Attack(kind)
    attack.group.parameters = low
    attack.context = attack.group.context()
    attack.users = attack.group.users(kinds=dict.fromkeys(range(8), kind))
    attack.up_to_the_set()
    everyone, without = range(8), [place for place in range(8) if place != VICTIM]
    halves = (range(4), everyone), (range(4, 8), without)
    found = []
    for half, places in halves:
        signed = attack.propose(places, half)
        assert all(data is not None for data in signed.values())
        found.append(attack.secrets(attack.unmask(signed, places, half)))
    assert bool(found[0]) == bool(found[1]) == falls
    if falls:  # Both sums: the second with the victim's masking key, the first with its seed.
        assert (OF_SEED, VICTIM) in found[0] and (OF_KEY, VICTIM) in found[1]
    else:
        assert all("only 4 users signed" in reasons(one)[-1] for one in attack.users.values())


def test_signatures_of_another_set_do_not_count():
    attack = Attack(size=8, threshold=5)
    attack.up_to_the_set()
    first, second = range(8), range(7)
    signed = attack.propose(first, range(4)) | attack.propose(second, range(4, 8))
    assert not attack.secrets(attack.unmask(signed, first, range(4)))
    assert "did not sign the set" in reasons(attack.users[0])[0]


class Forgetful(RoundJournal):
    """A twin's journal, which is lost in a restart."""

    def begin(self, index):
        return True


@pytest.mark.parametrize("kind", [RoundJournal, FileJournal, Forgetful])
def test_a_replayed_round_is_not_answered_again(kind, tmp_path):
    """A user that restarts is asked the round again: two vectors of one round, for one charge."""
    group = Group()
    made = {} if kind is not FileJournal else {"path": tmp_path / "journal"}
    journal = kind(**made)
    first = group.user(VICTIM, journal=journal)
    assert first.begin() is not None
    journal.close()
    journal = journal if not made else kind(**made)
    again = group.user(VICTIM, journal=journal)
    assert (again.begin() is not None) == (kind is Forgetful)
    if kind is not Forgetful:
        assert "not answered again" in reasons(again)[0]
        assert group.user(VICTIM, group.context(1), journal).begin() is not None
        assert group.user(VICTIM, group.context(0), journal).begin() is None
    journal.close()


def test_messages_of_another_round_are_not_taken():
    """Keys of an old round, whose secrets were opened then, are shown in a new one."""
    group, old = Group(), []
    group.run(lambda step, place, data: (old.append(data), data)[1])
    user_now = group.user(VICTIM, group.context(1))
    user_now.begin()
    body = len(old[:8]).to_bytes(4, "little") + b"".join(blob(data) for data in old[:8])
    assert user_now.receive(head(1, group.context(1), SERVER) + body) is None
    assert all("another round" in reason for reason in reasons(user_now)[:8])
    assert "only 0 of the user's own neighbours" in reasons(user_now)[-1]


def take_unsigned(data, context):
    """A twin of ``Advertisement.read`` that looks at no signature."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(primitives, "verify", lambda *_: True)
        return READ(data, context)


READ = Advertisement.read


@pytest.mark.parametrize("falls", [False, True])
def test_swapped_keys_are_not_taken(falls, monkeypatch):
    """The server puts keys of its own in the place of all others': what the victim then sends is
    masked with the server alone, and its self-mask seed is sealed for the server."""
    if falls:
        monkeypatch.setattr(Advertisement, "read", staticmethod(take_unsigned))
    group = Group()
    context, victim = group.context(), group.user(VICTIM)
    own = READ(victim.begin(), context)
    others = [place for place in range(8) if place != VICTIM]
    secrets = {place: primitives.key_pair() for place in others}
    forged = []
    for place in others:
        neighbours = tuple(other for other in range(8) if other != place)
        public = secrets[place][1]
        keys = Advertisement(place, public, public, bytes(32), neighbours)
        forged.append(keys.signed(context, Identity.fresh()))
    body = len(forged).to_bytes(4, "little") + b"".join(map(blob, forged))
    sent = victim.receive(head(1, context, SERVER) + body)
    assert (sent is not None) == falls
    if not falls:
        assert all("signature is not" in reason for reason in reasons(victim)[:7])
        return
    _, reader = messages.verified(sent, context, 2)
    shares, answers = [], []
    for place, sealed in [(reader.number(), reader.blob()) for _ in range(reader.number())]:
        agreed = primitives.agree(secrets[place][0], own.sealing)
        about = context.pair(b"seal", VICTIM, place)
        text = primitives.opened(primitives.derive(agreed, about), sealed, about)
        shares.append((place + 1, text[:39]))
        about = context.pair(b"seal", place, VICTIM)
        answer = primitives.seal(primitives.derive(agreed, about), bytes(78), about)
        answers.append(place.to_bytes(4, "little") + blob(answer))
    body = len(answers).to_bytes(4, "little") + b"".join(answers)
    sent = victim.receive(head(3, context, SERVER) + body)
    values = np.frombuffer(sent[-8 * context.width :], "<u8").copy()
    values -= user.self_mask(context, recovered(shares[: group.parameters.shares]))
    for place, (secret, _) in secrets.items():
        values += pair_mask(context, secret, place, VICTIM, own.masking)
    assert values.view(np.int64).tolist() == group.vectors[VICTIM].tolist()


class Twice(SumUser):
    """A twin that signs a second set, and reveals a second time."""

    def _require_turn(self, kind):
        pass

    def _forget(self):
        pass


@pytest.mark.parametrize(("kind", "falls"), [(SumUser, False), (Twice, True)])
def test_both_shares_of_one_user_are_not_revealed(kind, falls):
    """The server asks for the victim's self-mask seed, then, by a set without it, for its key."""
    attack = Attack(kind)
    attack.up_to_the_set()
    found = {}
    for places in (range(8), [place for place in range(8) if place != VICTIM]):
        signed = attack.propose(places, range(8))
        found |= attack.secrets(attack.unmask(signed, places, range(8)))
    assert (OF_SEED, VICTIM) in found
    assert ((OF_KEY, VICTIM) in found) == falls
    if falls:
        assert recover_vector(attack, found) == attack.group.vectors[VICTIM].tolist()


def recover_vector(attack, found):
    """Return the victim's vector from both of its secrets and what the others published."""
    keys = {p: one._own.masking for p, one in attack.users.items()}
    values = np.frombuffer(attack.vectors[VICTIM][-8 * attack.context.width :], "<u8").copy()
    if (OF_SEED, VICTIM) in found:
        values -= user.self_mask(attack.context, found[OF_SEED, VICTIM])
    for place, public in keys.items():
        if place != VICTIM:
            secret = found[OF_KEY, VICTIM]
            values -= pair_mask(attack.context, secret, VICTIM, place, public)
    return values.view(np.int64).tolist()


class AnySize(SumUser):
    """A twin that takes the server's word for how many users are enough."""

    def _require_size(self, found):
        pass


@pytest.mark.parametrize(("kind", "falls"), [(SumUser, False), (AnySize, True)])
def test_a_lie_about_the_threshold_is_not_believed(kind, falls):
    """The server proposes the victim alone with three colluding users' vectors: its noise alone."""
    parameters = SumParameters(users=8, colluding=0, threshold=5, neighbours=7, shares=4, present=1)
    attack = Attack(kind)
    attack.group.parameters = parameters
    attack.context = attack.group.context()
    attack.users = attack.group.users(kinds=dict.fromkeys(range(8), kind))
    attack.up_to_the_set()
    few = [0, 1, VICTIM]
    signed = attack.propose(few, range(8))
    assert all((data is not None) == falls for data in signed.values())
    found = attack.secrets(attack.unmask(signed, few, range(8)))
    assert ((OF_SEED, VICTIM) in found) == falls
    if not falls:
        assert "has 3 users, and 5 are agreed on" in reasons(attack.users[0])[0]


def with_sybils(group):
    """Return the round as users know it whom a server gave a list with users of its own."""
    sybils = [Identity.fresh().public for _ in range(2)]
    members = Members((*group.members.names, "s0", "s1"), (*group.members.keys, *sybils))
    parameters = SumParameters.complete(10, 1, 6)
    known = group.context()
    return RoundContext(members, parameters, 0, known.width, known.rules, known.question)


@pytest.mark.parametrize("others", ["thresholds", "sybils"])
def test_users_of_other_thresholds_or_lists_take_no_message_of_each_other(others):
    group = Group(size=8, threshold=6)
    lower = SumParameters.complete(8, 1, 5)
    other = with_sybils(group) if others == "sybils" else group.context(parameters=lower)
    victim = group.user(VICTIM)
    victim.begin()
    told = [group.user(place, other).begin() for place in range(8) if place != VICTIM]
    body = len(told).to_bytes(4, "little") + b"".join(map(blob, told))
    assert victim.receive(head(1, group.context(), SERVER) + body) is None
    assert all("users, rules or parameters" in reason for reason in reasons(victim)[:7])


class NoSelfMask(SumUser):
    """A twin of the protocol without the double mask."""

    def _self_mask(self):
        return np.zeros(self._context.width, dtype=np.uint64)


@pytest.mark.parametrize(("kind", "falls"), [(SumUser, False), (NoSelfMask, True)])
def test_a_forged_drop_out_shows_nothing(kind, falls):
    """The server has the victim's vector, says that it never came, and gets its masking key."""
    attack = Attack(kind)
    attack.up_to_the_set()
    without = [place for place in range(8) if place != VICTIM]
    signed = attack.propose(without, without)
    found = attack.secrets(attack.unmask(signed, without, without))
    assert (OF_KEY, VICTIM) in found and (OF_SEED, VICTIM) not in found
    assert (recover_vector(attack, found) == attack.group.vectors[VICTIM].tolist()) == falls


class NoNeighbours(SumUser):
    """A twin that reveals the seed of a user whose neighbours are not in the set."""

    def _well_masked(self, statements):
        return set(range(len(self._context.members)))


@pytest.mark.parametrize(("kind", "falls"), [(SumUser, False), (NoNeighbours, True)])
def test_a_user_is_not_cut_off_from_all_its_neighbours(kind, falls):
    """The set is large enough, and leaves out all that the victim shares a mask with: its vector
    would be opened by itself, though the set has many users."""
    parameters = SumParameters(
        users=60, colluding=0, threshold=31, neighbours=5, shares=3, present=3, failure_bits=1
    )
    attack = Attack(kind)
    attack.group = Group(60, parameters=parameters)
    attack.context = attack.group.context()
    attack.users = attack.group.users(kinds=dict.fromkeys(range(60), kind))
    attack.up_to_the_set()
    masked = attack.users[VICTIM]._at.masked
    places = [place for place in range(60) if place not in masked]
    signed = attack.propose(places, [place for place in range(60) if place != VICTIM])
    signers = [place for place, data in signed.items() if data is not None]
    found = attack.secrets(attack.unmask(signed, places, signers))
    assert ((OF_SEED, VICTIM) in found) == falls


def test_a_user_that_is_not_listed_takes_no_part():
    """The server adds a user of its own: with enough of them, the others would be one."""
    group, sybil = Group(), Identity.fresh()
    server = SumServer(group.context())
    neighbours = tuple(place for place in range(8) if place != 7)
    keys = Advertisement(7, bytes(32), bytes(32), bytes(32), neighbours)
    server.receive(keys.signed(group.context(), sybil))
    assert "signature is not the sender's" in reasons(server)[0]
    larger = Group(9)
    assert larger.members.digest != group.members.digest
