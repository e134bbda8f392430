"""Noise in bulk: what is drawn has the exact distribution, whoever draws it and in whatever
chunks."""

from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from dpcore.noise import bulk
from dpcore.noise.bulk import LazyUniform, draw_bulk
from dpcore.noise.entropy import SeededEntropy, SystemEntropy
from dpcore.noise.normal import NormalDistribution, WideNormalDistribution
from dpcore.noise.scale import GridScale
from dpcore.noise.source import SeededNoise, SystemNoise


@pytest.mark.parametrize("scale", [GridScale(1), GridScale(3), GridScale(7, 1), GridScale(40)])
def test_samples_follow_the_exact_masses(reference, scale):
    drawn = draw_bulk(SeededEntropy(29), NormalDistribution(scale), 100_000, 1)
    assert reference.p_value(drawn, reference.gaussian, scale.steps) > reference.FALSE_ALARM
    # Positive control: a distribution of a scale 3 % larger.
    assert (
        reference.p_value(drawn, reference.gaussian, scale.steps * Fraction(103, 100))
        < reference.FALSE_ALARM
    )


@pytest.mark.parametrize(
    "kind, scale, shift",
    [
        (NormalDistribution, GridScale(1 << 20), 18),
        (NormalDistribution, GridScale((1 << 53) - 1, 32), 18),
        (WideNormalDistribution, GridScale(1 << 22), 20),
        (WideNormalDistribution, GridScale((1 << 53) - 1, 11), 39),
    ],
)
def test_wide_noise_has_the_exact_distribution_too(reference, kind, scale, shift):
    # Flooring a floor: floor(floor(s X) / 2^18) is floor(X s / 2^18).
    drawn = draw_bulk(SeededEntropy(30), kind(scale), 100_000, 1)
    assert (
        reference.p_value(drawn >> shift, reference.gaussian, scale.steps / 2**shift)
        > reference.FALSE_ALARM
    )
    low = np.bincount(drawn % 256, minlength=256)
    assert reference.p_value_of_counts(low, np.full(256, 1 / 256)) > reference.FALSE_ALARM


@pytest.mark.parametrize("bits", [21, 38])
@pytest.mark.parametrize("hidden", [0, 1])
def test_every_low_bit_pattern_is_reached_whatever_is_hidden(hidden, bits):
    # The precision attack looks for values that 0 + noise takes and 1 + noise never does. Of 1,024
    # patterns and 60,000 draws one is missed with probability 4e-23.
    drawn = SeededNoise(8).gaussian(GridScale(1 << bits), 60_000) + hidden
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
    (value,) = draw_bulk(entropy, NormalDistribution(scale), 1, 1)
    assert low < value / float(scale.steps) < high


@pytest.mark.parametrize("sign", [0, 1])
def test_a_wide_distribution_decides_a_tail_by_further_words(sign):
    # The first word is 3 of 2^64, behind the sign; the second is not part of any row of digits.
    entropy = Fixed([sign << 63 | 3, 99, 1 << 63])
    (value,) = draw_bulk(entropy, WideNormalDistribution(GridScale(1 << 30)), 1, 1)
    size = float(~value if sign else value) / 2**30
    assert size == pytest.approx(-NormalDist().inv_cdf(3.5 * 2.0**-64), rel=1e-9)
    assert (value < 0) == bool(sign)


def test_each_undecided_deviate_has_further_words_of_its_own():
    class Undecided:
        bits = 16
        seen = []

        def first(self, words, out):
            out[:] = 0
            return np.arange(out.size)

        def second(self, digits, words, out):
            return np.arange(out.size)

        def exact(self, digits, bits, more):
            self.seen.append((digits, more()))
            return 0

    draw_bulk(SeededEntropy(3), Undecided(), 100, 1)
    for words in zip(*Undecided.seen, strict=True):
        assert len({*words}) == 100


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
    normal = NormalDistribution(GridScale(1000))
    one, two = (draw_bulk(SeededEntropy(6), normal, size, threads) for threads in (1, 2))
    assert np.array_equal(one, two) and one.size == size


def test_threads_draw_different_noise(reference, small_chunks):
    drawn = draw_bulk(SystemEntropy(), NormalDistribution(GridScale(5)), 5 * CHUNK + 7, 2)
    parts = [drawn[i * CHUNK :][:CHUNK] for i in range(5)]
    # |correlation| of two parts exceeds 6/sqrt(n) with probability 2e-9.
    apart = np.corrcoef(parts) - np.eye(5)
    assert np.abs(apart).max() < 6 / np.sqrt(CHUNK)
    # System noise: one false alarm in 10^6 runs.
    assert reference.p_value(drawn, reference.gaussian, 5) > reference.FALSE_ALARM


def test_used_words_are_zeroed():
    entropy = Fixed([])
    draw_bulk(entropy, NormalDistribution(GridScale(1 << 10)), 3000, 1)
    assert len(entropy.handed) >= 2 and not any(words.any() for words in entropy.handed)


def test_the_source_draws_much_noise_in_bulk(monkeypatch):
    from dpcore.noise import source

    drawn = SeededNoise(2).gaussian(GridScale(100), (2, 5000), threads=2)
    normal = NormalDistribution(GridScale(100))
    assert np.array_equal(drawn.ravel(), draw_bulk(SeededEntropy(2), normal, 10_000, 1))
    assert drawn.shape == (2, 5000) and drawn.dtype == np.int64
    wide = draw_bulk(SeededEntropy(2), WideNormalDistribution(GridScale(1 << 22)), 5000, 1)
    assert np.array_equal(SeededNoise(2).gaussian(GridScale(1 << 22), 5000), wide)

    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(source, "draw_bulk", refuse)
    for scale, size in [
        (GridScale(100), 1000),
        (GridScale(1 << 42), 5000),
        (GridScale(1, 1), 5000),
    ]:
        assert SystemNoise().gaussian(scale, size).size == size
