"""Users whose messages are masked by the protocol itself: the simulation's sums, to the bit."""

import dataclasses

import numpy as np
import pytest
from pool_users import SEED, Logistic, in_process, make_data, rows_of
from pool_users import make_rules as make_any_rules
from sum_users import light_primitives

from dpcore.errors import BudgetExceededError, InvalidInputError
from dpcore.plugin import NeighboringRelation, Problem
from dpcore.plugin.parts import SeededNoise
from dpcore_a_ddp.a_ddp import ADdp
from dpcore_a_ddp.pools.masked_pool import MaskedPool
from dpcore_a_ddp.pools.round_ledger import FileLedger
from dpcore_a_ddp.pools.sum_rules import delta_of_rounds, rounds_before_failure, sums_of
from dpcore_a_ddp.pools.user_budgets import rounds_of_users
from dpcore_a_ddp.pools.user_session import UserSession, user_seed
from dpcore_a_ddp.secure_sums import primitives
from dpcore_a_ddp.secure_sums.context import Identity, Members, RoundContext
from dpcore_a_ddp.secure_sums.driver import carried, run_round
from dpcore_a_ddp.secure_sums.journal import FileJournal, RoundJournal
from dpcore_a_ddp.secure_sums.server import SumServer
from dpcore_a_ddp.secure_sums.user import SumUser
from dpcore_a_ddp.skellam_noise.composition import SkellamCompositionAccountant
from dpcore_a_ddp.users.messages import User

SECURE = "secure-aggregation"
USERS = tuple(User(f"u{i}", 10, 4.0, 1e-6) for i in range(12))
make_filter = SkellamCompositionAccountant.from_budget


def make_rules(data, **changes):
    values = {"trust": SECURE, "threshold": 8, "colluding": 3, "amplified": True}
    return make_any_rules(data, **(values | changes))


@pytest.fixture(autouse=True)
def light(request, monkeypatch):
    if "themselves" not in request.node.name:
        light_primitives(monkeypatch)


def masked_pool(data, users=USERS, carry=carried, ledgers=None):
    def open_user(rules, place, mask):
        user = users[place]
        return UserSession(
            user,
            rows_of(data, users, place),
            Logistic(),
            rules,
            make_filter(user.epsilon, delta_of_rounds(rules, user.delta)),
            SeededNoise(user_seed(SEED, user.name)),
            None if ledgers is None else ledgers[place],
            mask=mask,
        )

    return MaskedPool(users, open_user, make_filter, carry)


def simulated(data, users=USERS, **options):
    return in_process(data, users, make_filter, trust=SECURE, **options)


def lost(*gone):
    """Return what carries all but the messages from each step and user on, in every round."""
    return lambda step, place, data: (
        None if any(place == user and step >= at for at, user in gone) else data
    )


@pytest.mark.parametrize(("least", "groups"), [(4.0, ()), (2.0, ((2.0, 0.5), (4.0, 1.0)))])
def test_sums_are_those_of_the_simulation_to_the_bit(least, groups):
    data = make_data(120)
    users = tuple(User(f"u{i}", 10, 4.0 if i % 3 else least, 1e-6) for i in range(12))
    rules = make_rules(data, groups=groups)
    masked, simple = masked_pool(data, users), simulated(data, users)
    assert masked.begin(rules, 3).tolist() == simple.begin(rules, 3).tolist()
    for index in range(3):
        w = np.full(7, 0.1 * index)
        ours, theirs = masked.round(index, w), simple.round(index, w)
        assert ours.total.tolist() == theirs.total.tolist()
        assert ours.joined.tolist() == theirs.joined.tolist()
        assert ours.messages is None and not ours.rejected
    assert masked.rounds_joined.tolist() == [3] * 12


@pytest.mark.parametrize("step", [0, 1, 2, 3])
def test_users_who_are_lost_before_they_draw_are_those_who_are_absent(step):
    data, rules = make_data(120), make_rules(make_data(120))
    masked = masked_pool(data, carry=lost((step, 3), (step, 7)))
    simple = simulated(data, absent=lambda index: np.isin(np.arange(12), (3, 7)))
    masked.begin(rules, 3)
    simple.begin(rules, 3)
    ours, theirs = masked.round(0, np.zeros(7)), simple.round(0, np.zeros(7))
    assert ours.joined.tolist() == theirs.joined.tolist()
    assert ours.total.tolist() == theirs.total.tolist()
    assert masked.rounds_joined.tolist() == simple.rounds_joined.tolist()


def test_a_round_that_opens_no_sum_is_charged_once_and_the_next_one_is_right():
    data, rules = make_data(120), make_rules(make_data(120))
    rounds = []

    def carry(step, place, data):
        rounds.append((step, place) == (0, 0))
        return None if sum(rounds) == 1 and step == 6 and place < 6 else data

    masked = masked_pool(data, carry=carry)
    masked.begin(rules, 3)
    first, second = masked.round(0, np.zeros(7)), masked.round(1, np.zeros(7))
    assert not first.joined.size and not first.total.any()
    assert "no sum was opened: 6 users were left of 8" in first.rejected[-1].reason
    assert second.joined.size == 12 and second.total.any()
    assert masked.rounds_joined.tolist() == [2] * 12


def test_a_user_that_restarts_after_it_drew_is_charged_once_a_round(tmp_path):
    """Ledger and journal in files, and a process that ends between its vector and the set. The same
    question is asked again in another round, of which a new charge and fresh noise are the price.
    """
    data, rules = make_data(120), make_rules(make_data(120), listed=12)
    user, empty = USERS[3], make_filter(4.0, 1e-6)
    others, sent = {place: Identity(bytes([place]) * 32) for place in range(12)}, []
    keys = tuple(one.public for one in others.values())
    members = Members(tuple(u.name for u in USERS), keys)
    noisy = []

    def process(index):
        """Return the user's side as a process that just started has it."""
        masks = []
        ledger = FileLedger(tmp_path / "ledger", user, rules)
        journal = FileJournal(tmp_path / "journal")
        session = UserSession(
            user,
            rows_of(data, USERS, 3),
            Logistic(),
            rules,
            empty,
            None,
            ledger,
            mask=lambda index: masks[0],
        )

        def contribute(mask):
            masks.append(mask)
            values = session.answer(index, np.zeros(7)).values
            noisy.append(tuple(values - mask))
            return values

        context = RoundContext(members, sums_of(rules), index, 7)
        return SumUser(context, 3, others[3], contribute, journal), ledger, journal, context

    for index in (0, 1):
        side, ledger, journal, context = process(index)
        users = {
            place: SumUser(context, place, others[place], lambda mask: mask, RoundJournal())
            for place in range(12)
        }
        users[3] = side
        assert len(ledger) == index
        run_round(users, SumServer(context), lost((6, 3)))
        sent.append(list(side.dropped))
        ledger.close()
        journal.close()
        again, ledger, journal, _ = process(index)
        assert again.begin() is None and "not answered again" in again.dropped[0].reason
        assert list(ledger.entries) == list(range(index + 1))
        ledger.close()
        journal.close()
    assert sent == [[], []]
    assert len(noisy) == len({*noisy}) == 2


def problem_of(data):
    return Problem(
        loss=Logistic(),
        l2=0.01,
        n_features=data.n_features,
        row_norm=data.row_norm,
        raw_norm_bound=data.raw_norm_bound,
        relation=NeighboringRelation.REPLACE_ONE,
        n=int(data.X.shape[0]),
    )


def test_the_model_is_the_simulation_s():
    data = make_data(120)
    optimizer = ADdp(rounds=6, most_rounds=6, rows_per_user=10)
    masked, simple = masked_pool(data), simulated(data)
    ours = optimizer.minimize(problem_of(data), masked)
    theirs = optimizer.minimize(problem_of(data), simple)
    assert ours.w.tobytes() == theirs.w.tobytes()
    assert masked.rules.server_sees != simple.rules.server_sees


@pytest.mark.slow
def test_the_model_is_the_simulation_s_with_the_primitives_themselves():
    test_the_model_is_the_simulation_s()


def test_rules_with_which_two_sums_can_be_opened_are_refused_before_anything_is_spent():
    data = make_data(120)
    masked = masked_pool(data)
    with pytest.raises(InvalidInputError, match="a threshold of 8 or more, not 7"):
        masked.begin(make_rules(data, threshold=7), 3)
    with pytest.raises(InvalidInputError, match="Expected rules of secure-aggregation"):
        masked.begin(make_rules(data, listed=13, colluding=2), 3)
    users = [User(u.name, 10, 4.0 if i < 7 else 1e-9, 1e-6) for i, u in enumerate(USERS)]
    with pytest.raises(BudgetExceededError, match="Fewer than 8 users can join"):
        masked_pool(data, users).begin(make_rules(data), 3)


def test_rules_without_listed_users_have_the_digest_that_ledgers_have():
    plain = make_rules(make_data(120))
    assert not {"listed", "neighbours", "masked"} & plain.to_dict().keys()
    listed = dataclasses.replace(plain, listed=12)
    assert listed.digest != plain.digest
    assert dataclasses.replace(listed, masked=True).digest == listed.digest
    assert type(plain).from_dict(listed.to_dict()) == listed


@pytest.mark.parametrize("changes", [{"neighbours": 5}, {"trust": "local", "listed": 12}])
def test_listed_users_are_for_secure_aggregation(changes):
    if "trust" in changes:
        changes = changes | {"threshold": 8, "colluding": 3}
    with pytest.raises(InvalidInputError, match="Expected"):
        make_rules(make_data(120), **changes)


DRAWN = {"threshold": 267, "colluding": 40, "listed": 400, "neighbours": 100}


def test_noise_is_for_the_smallest_honest_set_and_failures_are_counted_in_delta():
    rules = make_rules(make_data(120), **DRAWN)
    simple = make_rules(make_data(120), **DRAWN | {"neighbours": 0})
    assert (simple.mechanism.honest, rules.mechanism.honest) == (227, 186)
    # A share is the larger the fewer there are; all that is charged is the same noise.
    shares = [r.mechanism.variance(r.sensitivity) for r in (simple, rules)]
    assert shares[1] / shares[0] == pytest.approx(227 / 186)
    assert simple.event(10) == rules.event(10)
    assert sums_of(simple).failure == 0 and sums_of(rules).failure == 2.0**-50
    assert delta_of_rounds(simple, 1e-6) == 1e-6
    held, rounds = delta_of_rounds(rules, 1e-6), rounds_before_failure(rules, 1e-6, 10**9)
    assert rounds == int(1e-6 / 128 * 2**50)
    # The union bound, by hand: what the filter holds and what may fail stay within the budget.
    assert held + rounds * 2.0**-50 <= 1e-6 < held * (1 + 2**-6)


def test_users_join_no_more_rounds_than_failures_leave_room_for():
    rules = make_rules(make_data(120), noise_multiplier=1e6, **DRAWN)
    one = [User("a", 10, 8.0, 1e-12)]
    assert rounds_of_users(one, rules, make_filter, 100).tolist() == [8]  # 1e-12 / 128 * 2^50
    simple = make_rules(make_data(120), noise_multiplier=1e6, **DRAWN | {"neighbours": 0})
    assert rounds_of_users(one, simple, make_filter, 100).tolist() == [100]


def test_a_session_holds_itself_to_the_same_number():
    data = make_data(120)
    user = User("a", 10, 8.0, 1e-12)
    rules = make_rules(data, noise_multiplier=1e6, **DRAWN)
    parts = rows_of(data, [user], 0), Logistic(), rules
    mask = {"mask": lambda index: np.zeros(7, dtype=np.int64)}
    with pytest.raises(InvalidInputError, match="has another budget"):
        UserSession(user, *parts, make_filter(8.0, 1e-12), **mask)
    session = UserSession(user, *parts, make_filter(8.0, delta_of_rounds(rules, 1e-12)), **mask)
    answers = [session.answer(index, np.zeros(7)) for index in range(9)]
    assert [hasattr(answer, "values") for answer in answers] == [True] * 8 + [False]


def test_the_statement_names_what_the_protocol_rests_on():
    data = make_data(120)
    seen = dataclasses.replace(make_rules(data, **DRAWN), masked=True).server_sees
    for part in (
        "at least 186 honest users",
        "alpha = 0.465 of the 400 listed",
        "computationally bounded parties",
        "at most 40 listed users collude",
        "no more than 133 do",
        "2^-50 in each round, which is counted in delta",
        "all users and the server are in this process",
    ):
        assert part in seen
    simple = make_rules(data, **DRAWN | {"neighbours": 0}).server_sees
    assert "one sum over them, each of at least 227 honest users" in simple
    assert "masks are simulated" in simple and "2^-" not in simple


def test_without_the_extra_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr(primitives, "find_spec", lambda name: None)
    with pytest.raises(InvalidInputError, match=r"pip install 'dpcore-a-ddp\[secure\]'"):
        masked_pool(make_data(120))
