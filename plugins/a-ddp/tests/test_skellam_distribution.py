"""Skellam noise: the table against Bessel functions, every stage against all digits, the
distribution."""

import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.noise.bulk import draw_bulk
from dpcore.noise.entropy import SeededEntropy
from dpcore.plugin.parts import SeededNoise
from dpcore_a_ddp.skellam_noise.distribution import SkellamDistribution, draw_skellam, tail_sums

VARIANCES = [Fraction(1, 50), Fraction(2), Fraction(9), Fraction(12345, 7), Fraction(1 << 16)]


def mass(k, variance):
    mu = mpmath.mpf(variance.numerator) / variance.denominator
    return mpmath.exp(-mu) * mpmath.besseli(abs(k), mu)


def distribution(z, scale):
    return mass(z, Fraction(scale))


def packed(digits, bits):
    row = sum(int(d) << (bits * i) for i, d in enumerate(digits))
    count = -(-len(digits) * bits // 64) + 1
    return np.array([row >> (64 * i) & (2**64 - 1) for i in range(count)], dtype=np.uint64)


def more_of(seed):
    rng = random.Random(seed)
    return lambda: rng.getrandbits(64)


@pytest.mark.parametrize("variance", [*VARIANCES[:3], Fraction(700, 3)])
@pytest.mark.parametrize("bits", [20, 64, 200])
def test_the_tails_lie_between_the_bounds(variance, bits):
    low, high = tail_sums(variance, bits)
    with mpmath.workdps(90):
        tail = mpmath.mpf(1) / 2 + mass(0, variance) / 2
        for k in range(len(low)):
            exact = mpmath.ldexp(tail, bits)
            assert low[k] <= exact <= high[k] <= low[k] + 2
            tail -= mass(k, variance)
    assert high[-1] <= 2


def test_the_tail_of_a_large_variance_is_tight_too():
    low, high = tail_sums(Fraction(1 << 24), 64)
    assert all(a <= b <= a + 2 for a, b in zip(low, high, strict=True))
    # A normal tail at one deviation, up to a relative correction of the order 1 / mu.
    with mpmath.workdps(30):
        normal = mpmath.erfc((4096 - mpmath.mpf(1) / 2) / 4096 / mpmath.sqrt(2)) / 2
        assert abs(mpmath.ldexp(low[4096], -64) / normal - 1) < mpmath.mpf(1) / 2**23


@pytest.mark.parametrize("variance", VARIANCES)
def test_what_the_first_digits_decide_all_digits_confirm(variance):
    noise, rng = SkellamDistribution(variance), random.Random(3)
    sign, shift = 1 << (noise.bits - 1), 64 - noise.bits
    # Plain ones, those at a threshold, and the ends.
    digits = [rng.getrandbits(noise.bits) for _ in range(200)]
    for _ in range(200):
        k = rng.randrange(1, noise._table.low.size)
        near = (int(noise._table.low[k]) >> shift) + rng.randrange(-1, 3)
        digits.append(min(max(near, 0), sign - 1) | rng.randrange(2) * sign)
    digits += [0, sign, sign - 1, 2 * sign - 1]
    out = np.zeros(len(digits), dtype=np.int64)
    pending = set(noise.first(packed(digits, noise.bits), out).tolist())
    assert all(out[i] == digits[i] for i in pending) and len(pending) >= 2
    for i in set(range(len(digits))) - pending:
        assert out[i] == noise.exact(digits[i], noise.bits, more_of(i))


@pytest.mark.parametrize("variance", VARIANCES)
def test_what_the_second_digits_decide_all_digits_confirm(variance):
    noise, rng = SkellamDistribution(variance), random.Random(4)
    bits = noise.bits + 64
    rows = [rng.getrandbits(bits) >> rng.choice([0, 0, rng.randrange(bits)]) for _ in range(60)]
    for _ in range(60):
        k = rng.randrange(1, noise._table.low.size)
        near = (int(noise._table.low[k]) << noise.bits) + rng.randrange(-2, 3)
        rows.append(max(near, 0))
    digits = np.array([row >> 64 for row in rows], dtype=np.int64)
    words = np.array([row & (2**64 - 1) for row in rows], dtype=np.uint64)
    out = np.zeros(len(rows), dtype=np.int64)
    left = set(noise.second(digits, words, out).tolist())
    assert len(left) < 80
    for i in set(range(len(rows))) - left:
        assert out[i] == noise.exact(rows[i], bits, more_of(i))


@pytest.mark.slow
def test_every_integer_has_its_exact_probability():
    # All 65,536 rows of digits once; no chance is involved.
    variance = Fraction(9)
    noise = SkellamDistribution(variance)
    out = np.zeros(1 << noise.bits, dtype=np.int64)
    pending = noise.first(packed(range(1 << noise.bits), noise.bits), out)
    decided = np.delete(out, pending)
    assert noise.bits == 16 and pending.size < 80
    for z in range(-25, 26):
        least = int(np.sum(decided == z))
        # A threshold of each sign on either side leaves at most one row open.
        assert least <= mass(z, variance) * 2**16 <= least + 4


@pytest.mark.parametrize("variance", VARIANCES[1:3])
def test_samples_follow_the_exact_masses(reference, variance):
    drawn = draw_skellam(SeededNoise(29), variance, 100_000)
    assert reference.p_value(drawn, distribution, variance) > reference.FALSE_ALARM
    # Positive controls: normal noise of the same variance, rounded; a variance 5 % larger.
    rng = np.random.default_rng(1)
    rounded = np.rint(rng.normal(0, float(variance - Fraction(1, 12)) ** 0.5, 100_000))
    assert reference.p_value(rounded.astype(int), distribution, Fraction(2)) < reference.FALSE_ALARM
    assert (
        reference.p_value(drawn, distribution, variance * Fraction(105, 100))
        < reference.FALSE_ALARM
    )


def test_shares_add_up_to_the_noise_of_the_sum(reference):
    noise, users = SeededNoise(7), 7
    shares = draw_skellam(noise, Fraction(9, users), (users, 15_000))
    assert reference.p_value(shares.sum(axis=0), distribution, Fraction(9)) > reference.FALSE_ALARM
    # Positive control: floors of normal shares are off by half a step each.
    from dpcore.plugin.parts import GridScale

    floored = noise.gaussian(GridScale(1134, 10), (users, 15_000)).sum(axis=0)
    assert reference.p_value(floored, distribution, Fraction(9)) < reference.FALSE_ALARM


def test_rows_beyond_the_table_are_decided_by_further_digits():
    noise = SkellamDistribution(Fraction(3, 2))
    end = noise._table.low.size
    assert noise.second(np.zeros(1, np.int64), np.zeros(1, np.uint64), np.zeros(1, np.int64)).size
    value = noise.exact(0, noise.bits + 64, lambda: 1 << 40)
    assert value > end - 3
    with mpmath.workdps(80):
        tails = [mpmath.fsum(mass(j, Fraction(3, 2)) for j in range(value + k, 90)) for k in (0, 1)]
        v = mpmath.ldexp((1 << 40) + mpmath.mpf(1) / 2, -(noise.bits + 128))
        assert tails[1] < v < tails[0]


def test_a_seed_gives_one_stream_whatever_the_threads():
    noise = SkellamDistribution(Fraction(1000))
    one, two = (draw_bulk(SeededEntropy(6), noise, 70_000, threads) for threads in (1, 2))
    assert np.array_equal(one, two)


def test_shapes_and_limits():
    noise = SeededNoise(1)
    assert draw_skellam(noise, Fraction(5), (2, 3)).shape == (2, 3)
    assert (
        draw_skellam(noise, Fraction(5), ()).shape == ()
        and draw_skellam(noise, Fraction(5), 0).size == 0
    )
    assert not draw_skellam(noise, Fraction(1, 10**40), 10).any()
    for variance in (Fraction(0), Fraction(-1), Fraction(1 << 30)):
        with pytest.raises(InvalidInputError, match="coarser grid"):
            draw_skellam(noise, variance, 1)
