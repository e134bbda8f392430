"""Noise in bulk: all stages are one function of the digits, and the law is exact."""

import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpcore.noise import bulk
from dpcore.noise.bulk import LazyUniform, NormalLaw, draw_bulk
from dpcore.noise.entropy import SeededEntropy, SystemEntropy
from dpcore.noise.scale import GridScale
from dpcore.noise.source import SeededNoise, SystemNoise

SCALES = [GridScale(1), GridScale(3), GridScale(12345, 3), GridScale(1 << 16)]
SCALES += [GridScale((1 << 22) - 1), GridScale((1 << 53) - 1, 32)]


def packed(digits, bits):
    """Return words that hold the digits in turn, and one word more."""
    row = sum(int(d) << (bits * i) for i, d in enumerate(digits))
    count = -(-len(digits) * bits // 64) + 1
    return np.array([row >> (64 * i) & (2**64 - 1) for i in range(count)], dtype=np.uint64)


def edges(law, bits, steps, rng, n):
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


def first_stage_errors(law, digits):
    """Return how many digits were decided otherwise than with all digits, and how many were."""
    out = np.zeros(len(digits), dtype=np.int64)
    pending = set(law.first(packed(digits, law.bits), out).tolist())
    assert all(out[i] == digits[i] for i in pending)
    decided = [i for i in range(len(digits)) if i not in pending]
    wrong = [i for i in decided if out[i] != law.exact(digits[i], law.bits, more_of(i))]
    return len(wrong), len(decided)


def second_stage_errors(law, rows):
    digits = np.array([row >> 64 for row in rows], dtype=np.int64)
    words = np.array([row & (2**64 - 1) for row in rows], dtype=np.uint64)
    out = np.zeros(len(rows), dtype=np.int64)
    left = set(law.second(digits, words, out).tolist())
    decided = [i for i in range(len(rows)) if i not in left]
    wrong = [i for i in decided if out[i] != law.exact(rows[i], law.bits + 64, more_of(i))]
    return len(wrong), len(decided)


@pytest.mark.parametrize("scale", SCALES)
def test_what_the_first_digits_decide_all_digits_confirm(scale):
    law, rng = NormalLaw(scale), random.Random(3)
    plain = [rng.getrandbits(law.bits) for _ in range(300)]
    tails = [rng.getrandbits(law.bits) >> rng.randrange(1, law.bits) for _ in range(100)]
    assert first_stage_errors(law, plain)[0] == 0
    assert first_stage_errors(law, plain)[1] > 280
    assert first_stage_errors(law, tails + [0, 1, 1 << (law.bits - 1)])[0] == 0
    assert first_stage_errors(law, edges(law, law.bits, scale.steps, rng, 300))[0] == 0


@pytest.mark.parametrize("scale", SCALES)
def test_what_the_second_digits_decide_all_digits_confirm(scale):
    law, rng = NormalLaw(scale), random.Random(4)
    plain = [rng.getrandbits(law.bits + 64) for _ in range(200)]
    tails = [row >> rng.randrange(1, law.bits + 64) for row in plain]
    beside = edges(law, law.bits + 64, scale.steps, rng, 100)
    # About as far from an edge as the float64 sum errs.
    beside += [row ^ rng.getrandbits(law.bits + 64 - 40) for row in beside]
    assert second_stage_errors(law, plain) == (0, 200)
    assert second_stage_errors(law, tails)[0] == second_stage_errors(law, beside)[0] == 0


def test_floors_without_a_certificate_are_found_wrong():
    # Positive control: the float64 quantile, floored, as if it were exact.
    scale = GridScale((1 << 22) - 1)
    law, rng = NormalLaw(scale), random.Random(5)
    law._first, law._second = (np.zeros_like(law._first) for _ in range(2))
    assert first_stage_errors(law, edges(law, law.bits, scale.steps, rng, 200))[0] > 50
    beside = edges(law, law.bits + 64, scale.steps, rng, 100)
    beside = [row ^ rng.getrandbits(law.bits + 64 - 52) for row in beside]
    assert second_stage_errors(law, beside)[0] > 5


def test_every_integer_has_its_exact_probability():
    # All 65,536 rows of digits once: the decided ones are at most the exact share of each value,
    # and with the undecided ones they are at least that. No chance is involved.
    law, scale = NormalLaw(GridScale(3)), 3
    out = np.zeros(1 << law.bits, dtype=np.int64)
    pending = law.first(packed(range(1 << law.bits), law.bits), out)
    decided = np.delete(out, pending)
    assert law.bits == 16 and pending.size < 400
    for z in range(-16, 16):
        upper = [mpmath.erfc(mpmath.mpf(k) / scale / mpmath.sqrt(2)) / 2 for k in (z, z + 1)]
        least, exact = int(np.sum(decided == z)), (upper[0] - upper[1]) * 2**law.bits
        assert least <= exact <= least + pending.size
        with mpmath.workdps(40):
            at = (mpmath.ldexp(upper[0], law.bits), mpmath.ldexp(upper[1], law.bits))
        both = [k for k in pending if at[1] - 1 <= _position(int(k), law.bits) <= at[0]]
        assert exact <= least + len(both)


def _position(digits, bits):
    """Return the place of a row of digits on the upper tail's own scale, 0 to 2^bits."""
    v = digits & ((1 << (bits - 1)) - 1)
    return (1 << bits) - 1 - v if digits >> (bits - 1) else v


@pytest.mark.parametrize("scale", [GridScale(1), GridScale(3), GridScale(7, 1), GridScale(40)])
def test_samples_follow_the_exact_masses(laws, scale):
    drawn = draw_bulk(SeededEntropy(29), NormalLaw(scale), 100_000, 1)
    assert laws.p_value(drawn, laws.gaussian, scale.steps) > laws.FALSE_ALARM
    # Positive control: a law of a scale 3 % larger.
    assert laws.p_value(drawn, laws.gaussian, scale.steps * Fraction(103, 100)) < laws.FALSE_ALARM


@pytest.mark.parametrize("scale", [GridScale(1 << 20), GridScale((1 << 53) - 1, 32)])
def test_wide_noise_has_the_exact_law_too(laws, scale):
    # Flooring a floor: floor(floor(s X) / 2^18) is floor(X s / 2^18).
    drawn = draw_bulk(SeededEntropy(30), NormalLaw(scale), 100_000, 1)
    assert laws.p_value(drawn >> 18, laws.gaussian, scale.steps / 2**18) > laws.FALSE_ALARM
    low = np.bincount(drawn % 256, minlength=256)
    assert laws.p_value_of_counts(low, np.full(256, 1 / 256)) > laws.FALSE_ALARM


@pytest.mark.parametrize("hidden", [0, 1])
def test_every_low_bit_pattern_is_reached_whatever_is_hidden(hidden):
    # The precision attack looks for values that 0 + noise takes and 1 + noise never does. Of 1,024
    # patterns and 60,000 draws one is missed with probability 4e-23.
    drawn = SeededNoise(8).gaussian(GridScale(1 << 21), 60_000) + hidden
    assert np.unique(drawn % 1024).size == 1024


class Fixed:
    """Words that are given, then those of a seed; remembers what it handed out."""

    seeded = True

    def __init__(self, given):
        self.given, self.handed, self.rest = list(given), [], SeededEntropy(1)

    def words(self, n):
        row = [self.given.pop(0) if self.given else int(self.rest.words(1)[0]) for _ in range(n)]
        self.handed.append(np.array(row, dtype=np.uint64))
        return self.handed[-1]


@pytest.mark.parametrize("zeros, low, high", [(2, 6.2, 6.3), (3, 10.9, 11.5)])
def test_the_tail_has_no_end(zeros, low, high):
    # A row of digits that begins with zeros: a table cut at 6 sigma has no value for it.
    scale = GridScale(1 << 21)
    entropy = Fixed([0] * zeros + [(1 << 63) + 12345])
    (value,) = draw_bulk(entropy, NormalLaw(scale), 1, 1)
    assert low < value / float(scale.steps) < high


def test_more_digits_are_drawn_where_a_row_ends_at_an_edge():
    scale = GridScale(1 << 10)
    law = NormalLaw(scale)
    bits = law.bits + 64
    with mpmath.workdps(80):
        v = mpmath.erfc(mpmath.mpf(700) / 1024 / mpmath.sqrt(2)) / 2
        row = int(mpmath.floor(mpmath.ldexp(v, bits)))
        following = int(mpmath.floor(mpmath.ldexp(v, bits + 64))) % 2**64
    for word, value in ((following + 2, 699), (following - 2, 700)):
        drawn = []
        assert law.exact(row, bits, lambda w=word, d=drawn: d.append(w) or w) == value
        assert len(drawn) == 1
        minus = row | 1 << (bits - 1)
        assert law.exact(minus, bits, lambda w=word: w) == ~value


def test_a_lazy_uniform_draws_nothing_that_does_not_matter():
    def refuse():
        raise AssertionError

    half = LazyUniform(1, 1, refuse)
    assert half.exceeds(lambda b: ((1 << b) // 3, (1 << b) // 3 + 1))
    assert not LazyUniform(0, 1, refuse).exceeds(lambda b: ((2 << b) // 3, (2 << b) // 3 + 1))


CHUNK = 1 << 12


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(bulk, "_CHUNK", CHUNK)


@pytest.mark.parametrize("size", [1, 63, 64, CHUNK + 1, 3 * CHUNK])
def test_a_seed_gives_one_stream_whatever_the_threads(small_chunks, size):
    law = NormalLaw(GridScale(1000))
    one, two = (draw_bulk(SeededEntropy(6), law, size, threads) for threads in (1, 2))
    assert np.array_equal(one, two) and one.size == size


def test_threads_draw_different_noise(laws, small_chunks):
    drawn = draw_bulk(SystemEntropy(), NormalLaw(GridScale(5)), 5 * CHUNK + 7, 2)
    parts = [drawn[i * CHUNK :][:CHUNK] for i in range(5)]
    # |correlation| of two parts exceeds 6/sqrt(n) with probability 2e-9.
    apart = np.corrcoef(parts) - np.eye(5)
    assert np.abs(apart).max() < 6 / np.sqrt(CHUNK)
    # System noise: one false alarm in 10^6 runs.
    assert laws.p_value(drawn, laws.gaussian, 5) > laws.FALSE_ALARM


def test_used_words_are_zeroed():
    entropy = Fixed([])
    draw_bulk(entropy, NormalLaw(GridScale(1 << 10)), 3000, 1)
    assert len(entropy.handed) >= 2 and not any(words.any() for words in entropy.handed)


def test_the_source_draws_much_noise_of_a_small_scale_in_bulk(monkeypatch):
    from dpcore.noise import source

    drawn = SeededNoise(2).gaussian(GridScale(100), (2, 5000), threads=2)
    law = NormalLaw(GridScale(100))
    assert np.array_equal(drawn.ravel(), draw_bulk(SeededEntropy(2), law, 10_000, 1))
    assert drawn.shape == (2, 5000) and drawn.dtype == np.int64

    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(source, "draw_bulk", refuse)
    for scale, size in [
        (GridScale(100), 1000),
        (GridScale(1 << 22), 5000),
        (GridScale(1, 1), 5000),
    ]:
        assert SystemNoise().gaussian(scale, size).size == size
