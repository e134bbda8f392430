import math

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.noise import deviates, source
from dpcore.noise.scale import GridScale
from dpcore.noise.source import NoiseSource, SeededNoise, SystemNoise

KINDS = ["gaussian", "laplace", "geometric", "exponential"]
TEST_SCALES = [GridScale(3, 3), GridScale(1), GridScale(7, 1), GridScale(12)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", TEST_SCALES)
def test_samples_follow_the_exact_masses(reference, kind, scale):
    samples = getattr(SeededNoise(29), kind)(scale, 20_000).astype(np.int64)
    assert reference.p_value(samples, getattr(reference, kind), scale.steps) > reference.FALSE_ALARM


@pytest.mark.parametrize("kind", KINDS)
def test_the_chi_square_tells_the_distributions_apart(reference, kind):
    # Positive control: another distribution of about the same spread; a scale an eighth too large.
    samples = getattr(SeededNoise(29), kind)(GridScale(4), 20_000).astype(np.int64)
    for other in KINDS:
        if other != kind:
            assert reference.p_value(samples, getattr(reference, other), 4) < reference.FALSE_ALARM
    assert reference.p_value(samples, getattr(reference, kind), 4.5) < reference.FALSE_ALARM


@pytest.mark.parametrize("kind", ["gaussian", "laplace", "exponential"])
@pytest.mark.parametrize("scale", [GridScale((1 << 50) + 7), GridScale((1 << 52) + 1, 1)])
def test_wide_noise_has_the_exact_distribution_too(reference, kind, scale):
    # Flooring a floor: floor(floor(s X) / 2^48) is floor(X s / 2^48).
    samples = getattr(SeededNoise(30), kind)(scale, 10_000) >> 48
    narrow = scale.steps / 2**48
    assert (
        reference.p_value(samples.astype(np.int64), getattr(reference, kind), narrow)
        > reference.FALSE_ALARM
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_scale_far_below_a_grid_step_moves_by_the_floor_alone(kind):
    # A scale of 2^-27 steps: a deviate of 2^27 would be needed for another value.
    drawn = getattr(SeededNoise(1), kind)(GridScale((1 << 53) - 1, 80), 200).astype(np.int64)
    floors_of_both_signs = {"gaussian": {0, -1}, "laplace": {0, -1}}
    assert set(drawn.tolist()) == floors_of_both_signs.get(kind, {0})


def few_words(monkeypatch, words):
    """Let every pass ask for so few words that most deviates run out of them."""
    for name in ("_NORMAL", "_EXPONENTIAL", "_LAPLACE"):
        monkeypatch.setattr(source, name, getattr(source, name)._replace(words=words))


@pytest.mark.parametrize("kind", ["gaussian", "laplace", "exponential", "unwrapped_laplace"])
@pytest.mark.parametrize("scale", [GridScale(9, 2), GridScale((1 << 58) - 1)])
def test_the_noise_does_not_depend_on_how_many_words_are_asked_for(monkeypatch, kind, scale):
    plenty = getattr(SeededNoise(1), kind)(scale, 300)
    few_words(monkeypatch, 1)
    assert np.array_equal(getattr(SeededNoise(1), kind)(scale, 300), plenty)


class DiscardingSource(NoiseSource):
    """Broken: an unfinished deviate is dropped with its words, which favours the short ones."""

    def _extend(self, words, n):
        return self._entropy.words(12)


def test_dropping_an_unfinished_deviate_would_bias_the_distribution(reference, monkeypatch):
    few_words(monkeypatch, 2)
    scale = GridScale(3)
    sound = SeededNoise(4).gaussian(scale, 4000)
    broken = DiscardingSource(SeededNoise(4)._entropy).gaussian(scale, 4000)
    assert reference.p_value(sound, reference.gaussian, 3) > reference.FALSE_ALARM
    assert reference.p_value(broken, reference.gaussian, 3) < reference.FALSE_ALARM


def low_byte_p_value(reference, integers):
    counts = np.bincount(np.asarray(integers) % 256, minlength=256)
    return reference.p_value_of_counts(counts, np.full(256, 1 / 256))


def float_gaussian(scale, size):
    """Broken: a float64 deviate times sigma has gaps of several grid steps."""
    rng = np.random.default_rng(8)
    return np.floor(rng.standard_normal(size) * float(scale.steps)).astype(np.int64)


@pytest.mark.parametrize("kind", ["gaussian", "laplace", "geometric"])
@pytest.mark.parametrize("scale", [GridScale(1 << 50), GridScale((1 << 56) + 1)])
def test_every_low_bit_pattern_is_reached_whatever_is_hidden(reference, kind, scale):
    # The precision attack looks for values that 0 + noise takes and 1 + noise never does.
    drawn = getattr(SeededNoise(8), kind)(scale, 10_000)
    for hidden in (0, 1):
        assert low_byte_p_value(reference, drawn + hidden) > reference.FALSE_ALARM


def test_the_precision_attack_finds_float_noise(reference):
    scale = GridScale((1 << 56) + 1)
    drawn = float_gaussian(scale, 10_000)
    assert low_byte_p_value(reference, drawn) < reference.FALSE_ALARM
    # Of 0 + noise and 1 + noise nearly every value tells which it was by its last bit.
    assert np.mean(drawn % 2 == 0) > 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_shapes_and_types(kind):
    for size, shape in ((0, (0,)), (3, (3,)), ((), ()), ((2, 3), (2, 3))):
        drawn = getattr(SeededNoise(1), kind)(GridScale(5), size)
        assert drawn.shape == shape
        assert drawn.dtype == (np.uint64 if kind == "exponential" else np.int64)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_repeats_the_noise_and_another_does_not(kind):
    draw = [getattr(SeededNoise(seed), kind)(GridScale(1 << 40), 50) for seed in (5, 5, 6)]
    assert np.array_equal(draw[0], draw[1]) and not np.array_equal(draw[0], draw[2])
    assert SeededNoise(5).seeded and not SystemNoise().seeded


def test_noise_of_two_sources_is_uncorrelated():
    # |correlation| of 20,000 pairs exceeds 5/sqrt(n) with probability 6e-7.
    one, two = (SystemNoise().gaussian(GridScale(1 << 40), 20_000) for _ in range(2))
    once_more = SeededNoise(1).gaussian(GridScale(1 << 40), 20_000)
    for other in (two, once_more, np.roll(one, 1)):
        assert abs(np.corrcoef(one, other)[0, 1]) < 5 / math.sqrt(20_000)


def test_a_thousand_draws_are_a_thousand_noises():
    # A one-byte seed, found in a published benchmark, allows 256. Agreement by chance: 1e-9.
    noise = SystemNoise()
    assert len({int(noise.gaussian(GridScale(1 << 50), 1)[0]) for _ in range(1000)}) == 1000


def test_values_beyond_64_bits_wrap_saturate_or_stay_wide(monkeypatch):
    def undecided(words, m, r, out):
        return 0, 0, deviates.UNDECIDED

    wide = 2**64 + 5
    distribution = source._Distribution(
        undecided, lambda stream, scale: stream.digit() * 0 + wide, 2
    )
    for name in ("_EXPONENTIAL", "_LAPLACE"):
        monkeypatch.setattr(source, name, distribution)
    noise = SeededNoise(1)
    assert noise.laplace(GridScale(1), 3).tolist() == [5, 5, 5]
    assert noise.exponential(GridScale(1), 3).tolist() == [2**64 - 1] * 3
    assert noise.unwrapped_laplace(GridScale(1), 3).tolist() == [wide] * 3


@pytest.mark.parametrize("n", [1, 2, 3, 5, 256])
def test_integers_below_are_uniform(reference, n):
    drawn = SeededNoise(3).integers_below(n, 5000)
    assert drawn.dtype == np.int64 and set(drawn.tolist()) <= set(range(n))
    if n > 1:
        counts = np.bincount(drawn, minlength=n)
        assert reference.p_value_of_counts(counts, np.full(n, 1 / n)) > reference.FALSE_ALARM


def test_integers_below_at_the_limits():
    noise = SeededNoise(3)
    assert isinstance(noise.integers_below(10), int) and noise.integers_below(1) == 0
    assert 0 <= noise.integers_below(2**63) < 2**63
    for n in (0, -1, 2**63 + 1):
        with pytest.raises(InvalidInputError, match="between 1 and 2\\^63"):
            noise.integers_below(n)


def test_permutations_are_uniform(reference):
    noise = SeededNoise(10)
    codes = [int(noise.permutation(4) @ (64, 16, 4, 1)) for _ in range(3000)]
    counts = np.unique(codes, return_counts=True)[1]
    assert counts.size == 24
    assert reference.p_value_of_counts(counts, np.full(24, 1 / 24)) > reference.FALSE_ALARM
    assert noise.permutation(0).size == 0


def test_a_permutation_of_equal_words_is_drawn_again():
    class Repeating:
        seeded = True
        calls = 0

        def words(self, n):
            self.calls += 1
            return np.array([7, 7, 1] if self.calls == 1 else [3, 1, 2], dtype=np.uint64)

    entropy = Repeating()
    assert NoiseSource(entropy).permutation(3).tolist() == [1, 2, 0]
    assert entropy.calls == 2


class Bytes:
    """Entropy that hands out given bytes, then words that it counts."""

    seeded = True

    def __init__(self, first, then):
        self.parts = [np.array(first, dtype=np.uint8).view(np.uint64), np.array(then, np.uint64)]

    def words(self, n):
        part = self.parts.pop(0)
        assert part.size == n
        return part.copy()


def test_a_coin_is_decided_by_its_byte_and_a_tie_by_56_bits_more():
    weight = (7 << 56) + 5
    ties = [4 << 8, (5 << 8) - 1, 5 << 8]
    heads = NoiseSource(Bytes([6, 7, 7, 7, 8, 0, 255, 0], ties)).coins(8, weight)
    assert heads.tolist() == [True, True, True, False, False, True, False, True]


@pytest.mark.parametrize("p", [1 / 256, 0.3, 1e-3, 255.5 / 256])
def test_coins_have_their_odds(p):
    # 200,000 coins, 6 standard errors: false alarm below 2e-9.
    n = 200_000
    heads = SeededNoise(4).coins(n, int(p * 2**64))
    assert abs(heads.sum() - n * p) < 6 * math.sqrt(n * p * (1 - p)) + 1


def test_coins_at_the_ends():
    assert not SeededNoise(4).coins(1000, 0).any()
    assert SeededNoise(4).coins(1000, 1 << 64).all()
    assert SeededNoise(4).coins(0, 1 << 63).size == 0
    for weight in (-1, (1 << 64) + 1):
        with pytest.raises(InvalidInputError, match="weight"):
            SeededNoise(4).coins(3, weight)


@pytest.mark.parametrize(("n", "size"), [(5, 2), (5, 4), (7, 1)])
def test_every_subset_is_as_likely(n, size):
    # Chi-square over the C(n, size) subsets, 10,000 draws; the bound is passed once in 1e7.
    from scipy.stats import chi2

    noise, draws = SeededNoise(6), 10_000
    seen = [tuple(noise.subset(n, size).tolist()) for _ in range(draws)]
    assert all(list(s) == sorted(set(s)) and 0 <= s[0] and s[-1] < n for s in seen)
    cells = math.comb(n, size)
    counts = [seen.count(s) for s in set(seen)]
    expected = draws / cells
    statistic = sum((c - expected) ** 2 for c in counts) / expected
    assert len(counts) == cells and statistic < chi2.isf(1e-7, cells - 1)


def test_a_subset_of_no_size_is_refused():
    for size in (0, 6):
        with pytest.raises(InvalidInputError, match="size"):
            SeededNoise(4).subset(5, size)
