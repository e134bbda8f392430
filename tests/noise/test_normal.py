"""Normal distributions in bulk: all stages are one function of the digits."""

import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpcore.noise.normal import NormalDistribution, WideNormalDistribution, normal_distribution
from dpcore.noise.normal_quantile import quantile_table
from dpcore.noise.scale import GridScale

SCALES = [GridScale(1), GridScale(3), GridScale(12345, 3), GridScale(1 << 16)]
SCALES += [GridScale((1 << 22) - 1), GridScale((1 << 53) - 1, 32)]
WIDE = [GridScale(1 << 22), GridScale((1 << 53) - 3, 20), GridScale((1 << 53) - 1, 11)]


def packed(digits, bits):
    """Return words that hold the digits in turn, and one word more."""
    row = sum(int(d) << (bits * i) for i, d in enumerate(digits))
    count = -(-len(digits) * bits // 64) + 1
    return np.array([row >> (64 * i) & (2**64 - 1) for i in range(count)], dtype=np.uint64)


def edges(normal, bits, steps, rng, n):
    """Return rows of ``bits`` bits beside those at which the value changes, of both signs."""
    sizes = [round(rng.uniform(0, 5) * float(steps)) for _ in range(n)]
    with mpmath.workdps(60):
        v = [mpmath.erfc(k / mpmath.mpf(float(steps)) / mpmath.sqrt(2)) / 2 for k in sizes]
        near = [int(mpmath.floor(mpmath.ldexp(x, bits))) + rng.randrange(-2, 3) for x in v]
    top = 1 << (bits - 1)
    return [min(max(k, 0), top - 1) | (top if rng.random() < 0.5 else 0) for k in near]


def more_of(seed):
    rng = random.Random(seed)
    return lambda: rng.getrandbits(64)


def first_stage_errors(normal, digits):
    """Return how many digits were decided otherwise than with all digits, and how many were."""
    out = np.zeros(len(digits), dtype=np.int64)
    pending = set(normal.first(packed(digits, normal.bits), out).tolist())
    assert all(int(out[i]) % 2**normal.bits == digits[i] for i in pending)
    decided = [i for i in range(len(digits)) if i not in pending]
    wrong = [i for i in decided if out[i] != normal.exact(digits[i], normal.bits, more_of(i))]
    return len(wrong), len(decided)


def second_stage_errors(normal, rows):
    digits = np.array([row >> 64 for row in rows], dtype=np.int64)
    words = np.array([row & (2**64 - 1) for row in rows], dtype=np.uint64)
    out = np.zeros(len(rows), dtype=np.int64)
    left = set(normal.second(digits, words, out).tolist())
    decided = [i for i in range(len(rows)) if i not in left]
    wrong = [i for i in decided if out[i] != normal.exact(rows[i], normal.bits + 64, more_of(i))]
    return len(wrong), len(decided)


@pytest.mark.parametrize("scale", SCALES + WIDE)
def test_what_the_first_digits_decide_all_digits_confirm(scale):
    normal, rng = normal_distribution(scale), random.Random(3)
    plain = [rng.getrandbits(normal.bits) for _ in range(300)]
    tails = [rng.getrandbits(normal.bits) >> rng.randrange(1, normal.bits) for _ in range(100)]
    assert first_stage_errors(normal, plain)[0] == 0
    assert first_stage_errors(normal, plain)[1] > 280
    assert first_stage_errors(normal, tails + [0, 1, 1 << (normal.bits - 1)])[0] == 0
    assert first_stage_errors(normal, edges(normal, normal.bits, scale.steps, rng, 300))[0] == 0


@pytest.mark.parametrize("scale", SCALES)
def test_what_the_second_digits_decide_all_digits_confirm(scale):
    normal, rng = NormalDistribution(scale), random.Random(4)
    plain = [rng.getrandbits(normal.bits + 64) for _ in range(200)]
    tails = [row >> rng.randrange(1, normal.bits + 64) for row in plain]
    beside = edges(normal, normal.bits + 64, scale.steps, rng, 100)
    # About as far from an edge as the float64 sum errs.
    beside += [row ^ rng.getrandbits(normal.bits + 64 - 40) for row in beside]
    assert second_stage_errors(normal, plain) == (0, 200)
    assert second_stage_errors(normal, tails)[0] == second_stage_errors(normal, beside)[0] == 0


def test_floors_without_a_certificate_are_found_wrong():
    # Positive control: the float64 quantile, floored, as if it were exact.
    scale = GridScale((1 << 22) - 1)
    normal, rng = NormalDistribution(scale), random.Random(5)
    normal._first, normal._second = (np.zeros_like(normal._first) for _ in range(2))
    assert first_stage_errors(normal, edges(normal, normal.bits, scale.steps, rng, 200))[0] > 50
    beside = edges(normal, normal.bits + 64, scale.steps, rng, 100)
    beside = [row ^ rng.getrandbits(normal.bits + 64 - 52) for row in beside]
    assert second_stage_errors(normal, beside)[0] > 5


@pytest.mark.parametrize("scale", WIDE)
def test_a_wide_distribution_without_a_certificate_is_found_wrong(scale):
    normal, rng = WideNormalDistribution(scale), random.Random(6)
    beside = edges(normal, normal.bits, scale.steps, rng, 300)
    assert first_stage_errors(normal, beside)[0] == 0
    normal._radius = np.zeros_like(normal._radius)
    assert first_stage_errors(normal, beside)[0] > 5


@pytest.mark.parametrize("scale", WIDE)
def test_what_is_added_in_integers_is_the_scaled_constant_term(scale):
    normal, table = WideNormalDistribution(scale), quantile_table()
    for row in range(0, table.rest.size, 7):
        exact = scale.steps * (Fraction(table.coefficients[row, 0]) + Fraction(table.rest[row]))
        given = int(normal._whole[row]) + Fraction(normal._part[row])
        assert abs(exact - given) < Fraction(1, 2**49)


def test_a_distribution_holds_at_some_scales():
    assert isinstance(normal_distribution(GridScale((1 << 22) - 1)), NormalDistribution)
    assert isinstance(normal_distribution(GridScale(1 << 22)), WideNormalDistribution)
    assert (
        normal_distribution(GridScale(1 << 42)) is None
        and normal_distribution(GridScale(1, 1)) is None
    )


@pytest.mark.slow
def test_every_integer_has_its_exact_probability():
    # All 65,536 rows of digits once: the decided ones are at most the exact share of each value,
    # and with the undecided ones they are at least that. No chance is involved.
    normal, scale = NormalDistribution(GridScale(3)), 3
    out = np.zeros(1 << normal.bits, dtype=np.int64)
    pending = normal.first(packed(range(1 << normal.bits), normal.bits), out)
    decided = np.delete(out, pending)
    assert normal.bits == 16 and pending.size < 400
    for z in range(-16, 16):
        upper = [mpmath.erfc(mpmath.mpf(k) / scale / mpmath.sqrt(2)) / 2 for k in (z, z + 1)]
        least, exact = int(np.sum(decided == z)), (upper[0] - upper[1]) * 2**normal.bits
        assert least <= exact <= least + pending.size
        with mpmath.workdps(40):
            at = (mpmath.ldexp(upper[0], normal.bits), mpmath.ldexp(upper[1], normal.bits))
        both = [k for k in pending if at[1] - 1 <= _position(int(k), normal.bits) <= at[0]]
        assert exact <= least + len(both)


def _position(digits, bits):
    """Return the place of a row of digits on the upper tail's own scale, 0 to 2^bits."""
    v = digits & ((1 << (bits - 1)) - 1)
    return (1 << bits) - 1 - v if digits >> (bits - 1) else v


def test_more_digits_are_drawn_where_a_row_ends_at_an_edge():
    scale = GridScale(1 << 10)
    normal = NormalDistribution(scale)
    bits = normal.bits + 64
    with mpmath.workdps(80):
        v = mpmath.erfc(mpmath.mpf(700) / 1024 / mpmath.sqrt(2)) / 2
        row = int(mpmath.floor(mpmath.ldexp(v, bits)))
        following = int(mpmath.floor(mpmath.ldexp(v, bits + 64))) % 2**64
    for word, value in ((following + 2, 699), (following - 2, 700)):
        drawn = []
        assert normal.exact(row, bits, lambda w=word, d=drawn: d.append(w) or w) == value
        assert len(drawn) == 1
        minus = row | 1 << (bits - 1)
        assert normal.exact(minus, bits, lambda w=word: w) == ~value
