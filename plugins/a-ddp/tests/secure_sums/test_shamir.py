"""Shamir's sharing of keys: enough shares give the key back, fewer say nothing of it."""

import itertools
import os
from math import isqrt

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore_a_ddp.secure_sums import shamir
from dpcore_a_ddp.secure_sums.shamir import PRIME, SHARE_BYTES, recovered, shares_of


def test_the_field_is_of_the_largest_prime_below_2_21():
    def is_prime(n):
        return all(n % d for d in range(2, isqrt(n) + 1))

    assert is_prime(PRIME)
    assert not any(is_prime(n) for n in range(PRIME + 1, 2**21))


@pytest.mark.parametrize(("count", "threshold"), [(1, 1), (5, 3), (99, 66), (300, 300)])
def test_any_threshold_of_shares_gives_the_key_back(count, threshold):
    key = os.urandom(32)
    points = [3 * i + 1 for i in range(count)]
    shares = list(zip(points, shares_of(key, points, threshold), strict=True))
    assert all(len(share) == SHARE_BYTES for _, share in shares)
    assert recovered(shares[:threshold]) == key
    assert recovered(shares[count - threshold :][::-1]) == key
    if threshold > 1:
        assert recovered(shares[: threshold - 1]) != key


def test_shares_of_two_keys_are_those_of_each_one_after_the_other():
    first, second, points = os.urandom(32), os.urandom(32), [2, 3, 7]
    shares = shares_of(first + second, points, 2)
    halves = [(share[:SHARE_BYTES], share[SHARE_BYTES:]) for share in shares]
    for key, half in ((first, 0), (second, 1)):
        assert recovered([(p, two[half]) for p, two in zip(points, halves, strict=True)][1:]) == key


@pytest.mark.parametrize("key", [bytes(32), b"\xff" * 32, b"\1" + bytes(31), bytes(31) + b"\1"])
def test_every_key_comes_back(key):
    shares = shares_of(key, [4, 1, 9, 2**20], 3)
    for some in itertools.combinations(zip([4, 1, 9, 2**20], shares, strict=True), 3):
        assert recovered(some) == key


def test_shares_are_those_of_polynomials_over_the_field(monkeypatch):
    """A naive twin: Python's whole numbers, one polynomial after the other."""
    monkeypatch.setattr(shamir, "_uniform", lambda count: (np.arange(count) * 7919 + 3) % PRIME)
    key, points, threshold = bytes(range(32)), [1, 2, 5, 1000, 65000], 4
    number = int.from_bytes(key, "little")
    rest = [[((13 * j + i) * 7919 + 3) % PRIME for i in range(13)] for j in range(threshold - 1)]
    for point, share in zip(points, shares_of(key, points, threshold), strict=True):
        for i in range(13):
            coefficients = [number >> 20 * i & (2**20 - 1), *(row[i] for row in rest)]
            value = sum(c * point**j for j, c in enumerate(coefficients)) % PRIME
            assert int.from_bytes(share[3 * i : 3 * i + 3], "little") == value


def test_fewer_shares_fit_every_key():
    # Over a field of 2^21 - 9 elements one share of two, of a known key, is uniform: 13 x 400
    # numbers in 4 equal cells, a chi-square of 3 degrees above 37 with probability 5e-8.
    values = []
    for _ in range(400):
        (share, _) = shares_of(bytes(32), [1, 2], 2)
        values += [int.from_bytes(share[3 * i : 3 * i + 3], "little") for i in range(13)]
    counts = np.bincount(np.array(values) * 4 // PRIME, minlength=4)
    assert ((counts - 1300) ** 2 / 1300).sum() < 37


def test_shares_of_no_key_are_told():
    assert recovered([(1, b"\x00\x00\x18" * 13)]) is None


@pytest.mark.parametrize("threshold", [0, 4, 2049])
def test_thresholds_that_no_shares_fit_are_refused(threshold):
    points = range(1, 4) if threshold < 2049 else range(1, 4000)
    with pytest.raises(InvalidInputError, match="Expected a threshold of 1 to"):
        shares_of(bytes(32), list(points), threshold)


def test_products_stay_below_what_float64_holds():
    assert 2048 * (PRIME - 1) ** 2 < 2**53
