"""Parameters of secure sums: what is refused, and the probabilities of unfit neighbours."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy.stats import hypergeom

from dpcore.errors import DataError, InvalidInputError
from dpcore_a_ddp.pools.users_file import read_users
from dpcore_a_ddp.secure_sums import failure
from dpcore_a_ddp.secure_sums.context import Members
from dpcore_a_ddp.secure_sums.failure import log_held, smallest_set
from dpcore_a_ddp.secure_sums.parameters import SumParameters

SMALL = {"users": 30, "colluding": 3, "threshold": 20, "neighbours": 20, "shares": 11, "present": 9}


def test_drawn_neighbours_of_hundreds_of_digits_are_refused():
    for users in (400, 10**500):
        with pytest.raises(InvalidInputError):
            SumParameters.drawn(users, 40, max(267, 9 * users // 10), 10**400)


@pytest.mark.parametrize(("n", "marked", "draws"), [(99, 10, 40), (999, 433, 100), (30, 29, 20)])
def test_tails_are_scipy_s_rounded_up(n, marked, draws):
    for least in range(draws + 2):
        expected = hypergeom.sf(least - 1, n, marked, draws)
        found = 2 ** failure._log_tail(n, marked, draws, least)
        assert found >= expected * (1 - 1e-9)
        assert found <= expected * (1 + 1e-5) + 1e-300


def naive_smallest_set(users, colluding, neighbours, present, bits):
    """By the formula, in fractions."""
    honest, spent = users - colluding, Fraction(0)
    for size in range(1, honest + 1):
        marked = size - 1 + colluding
        ways = sum(
            comb(marked, i) * comb(users - 1 - marked, neighbours - i)
            for i in range(present, neighbours + 1)
        )
        tail = Fraction(ways, comb(users - 1, neighbours))
        spent += comb(honest, size) * tail**size
        if spent > Fraction(1, 2**bits):
            return size
    return honest


@pytest.mark.parametrize("neighbours", [20, 30, 60])
@pytest.mark.parametrize("present", [0.5, 0.6, 0.7])
@pytest.mark.parametrize("colluding", [0, 8])
def test_the_smallest_set_is_that_of_the_formula(neighbours, present, colluding):
    known = 80, colluding, neighbours, int(present * neighbours)
    for bits in (2, 20, 51):
        assert smallest_set(*known, bits) == naive_smallest_set(*known, bits)


def test_draws_of_neighbours_cut_off_no_smaller_set():
    # 7 users of whom each draws 3 and needs 2: pairs are never alone, triples are, if all three
    # drew the other two: 35 triples, each with probability (4/20)^3 = 1/125.
    rng, alone = np.random.default_rng(4), 0
    for _ in range(1000):
        drawn = [
            set(rng.choice([j for j in range(7) if j != i], 3, replace=False)) for i in range(7)
        ]
        alone += any(
            all(len(drawn[i] & {a, b, c}) >= 2 for i in (a, b, c))
            for a in range(7)
            for b in range(a)
            for c in range(b)
        )
    expected = 35 * Fraction(1, 5) ** 3  # the union bound, .28
    assert 0.1 < alone / 1000 < expected
    assert smallest_set(7, 0, 3, 2, 1) == 4 and smallest_set(7, 0, 3, 2, 2) == 3


@pytest.mark.parametrize("users", [10, 100, 150])
def test_where_all_are_neighbours_nothing_is_left_to_a_draw(users):
    colluding, threshold = users // 10, -(-2 * users // 3)
    simple = SumParameters.usual(users, colluding, threshold)
    assert simple.is_complete and simple.failure == 0
    assert simple.honest == threshold - colluding
    assert log_held(users, colluding, users - 1, simple.shares) == -np.inf


@pytest.mark.parametrize(("users", "honest"), [(400, 186), (1000, 463), (10_000, 4630)])
def test_with_drawn_neighbours_alpha_of_the_users_are_honest_in_a_sum(users, honest):
    usual = SumParameters.usual(users, users // 10, -(-2 * users // 3))
    assert (usual.neighbours, usual.honest) == (100, honest)
    assert usual.failure == 2.0**-50
    assert usual.alpha == honest / users
    assert usual.honest < usual.threshold - usual.colluding


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"threshold": 16}, "a threshold of 17 or more, not 16"),
        ({"colluding": 20}, "colluding < threshold"),
        ({"colluding": -1}, "colluding < threshold"),
        ({"threshold": 31}, "threshold <= users"),
        ({"shares": 0}, "1 <= shares <= neighbours < users"),
        ({"shares": 21}, "1 <= shares <= neighbours < users"),
        ({"neighbours": 30}, "1 <= shares <= neighbours < users"),
        ({"present": 0}, "1 <= present <= neighbours"),
        ({"present": 21}, "1 <= present <= neighbours"),
        ({"failure_bits": 0}, "1 <= shares"),
        ({"shares": 3}, "may collude with a probability above 2\\^-51"),
        ({"users": 30.0}, "Expected users to be a int"),
    ],
)
def test_parameters_that_prove_nothing_are_refused(changes, text):
    SumParameters(**SMALL)
    with pytest.raises(InvalidInputError, match=text):
        SumParameters(**SMALL | changes)


def test_more_than_the_sharing_holds_is_refused():
    with pytest.raises(InvalidInputError, match="drawn neighbours in place of all others"):
        SumParameters.complete(4000, 400, 2700)
    assert SumParameters.drawn(4000, 400, 2700, 100).honest > 1


def test_two_sets_that_enough_users_signed_have_an_honest_signer_in_common():
    for users in range(2, 25):
        for colluding in range(users):
            for threshold in range(colluding + 1, users + 1):
                common = 2 * threshold - users
                if common > colluding and threshold - 1 > colluding:
                    SumParameters.complete(users, colluding, threshold)
                else:
                    with pytest.raises(InvalidInputError):
                        SumParameters.complete(users, colluding, threshold)


KEYS = [bytes([i]) * 32 for i in range(3)]


def test_members_are_read_from_the_users_file(tmp_path):
    path = tmp_path / "users.csv"
    path.write_text(
        "user,epsilon,delta,identity\n"
        + "".join(f"u{i},1,1e-6,{key.hex()}\n" for i, key in enumerate(KEYS))
    )
    assert Members.read(path) == Members(("u0", "u1", "u2"), tuple(KEYS))
    # The same file has the budgets.
    assert [user.name for user in read_users(path, 30, 10)] == ["u0", "u1", "u2"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("user,epsilon\na,1\n", "line 1: expected the columns user and identity"),
        ("user,identity\na,12\n", "line 2, column identity: expected 64 hex digits"),
        ("user,identity\na,what\n", "line 2, column identity: expected 64 hex digits"),
        ("user,identity\na\n", "line 2, column identity: expected 64 hex digits"),
        ("", "line 1: expected the columns user and identity"),
    ],
)
def test_files_without_identities_are_refused(tmp_path, text, reason):
    path = tmp_path / "users.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=reason):
        Members.read(path)
    with pytest.raises(DataError, match="Cannot read"):
        Members.read(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("names", "keys"),
    [(("a", "a"), KEYS[:2]), (("a", "b"), [KEYS[0]] * 2), (("a", "b"), KEYS), (("a",), [b"x"])],
)
def test_names_and_identities_come_once_each(names, keys):
    with pytest.raises(InvalidInputError, match="Expected"):
        Members(names, tuple(keys))
