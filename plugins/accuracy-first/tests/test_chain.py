"""The chain of noise levels: its odds, the distribution of every level, and what a run of levels
reveals."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpcore.errors import InvalidInputError
from dpcore.plugin.parts import GridScale, SeededNoise
from dpcore_accuracy_first.noise_chain.chain import NoiseChain
from dpcore_accuracy_first.noise_chain.coupling import Coupling

SCALES = tuple(GridScale(s, 1) for s in (16, 9, 5, 3, 1))
"""8, 4.5, 2.5, 1.5 and 0.5 steps."""


def distribution(scale, z):
    """Return the two-sided geometric probability of z."""
    a = np.exp(-1 / float(scale.steps))
    return (1 - a) / (1 + a) * a ** np.abs(z)


def odds(low, high):
    """Return the probability to keep a value from scale ``high`` down to the noisier ``low``."""
    a, b = (mpmath.exp(-1 / mpmath.mpf(float(s.steps))) for s in (high, low))
    return a / b * ((1 - b) / (1 - a)) ** 2


def kernel(low, high, z):
    """Return the probability that the noisier value is ``z`` away from the more accurate one."""
    keep = float(odds(low, high))
    return (1 - keep) * distribution(low, z) + keep * (z == 0)


def walk(exact, size, seed=1):
    chain = NoiseChain(
        np.full(size, exact, dtype=np.int64), Coupling(SCALES), SCALES, SeededNoise(seed)
    )
    values = [chain.value.copy()]
    for _ in SCALES[1:]:
        before = chain.value.copy()
        changed = chain.advance()
        assert set(np.flatnonzero(before != chain.value)) <= set(changed)
        values.append(chain.value.copy())
    return np.array(values)


def test_a_noisier_level_is_the_more_accurate_one_with_noise_on_top():
    z = np.arange(-400, 401)
    for low, high in [(0, 1), (0, 4), (2, 3)]:
        step = kernel(SCALES[low], SCALES[high], z)
        made = np.convolve(distribution(SCALES[high], z), step, mode="same")
        assert made[200:601] == pytest.approx(distribution(SCALES[low], z)[200:601], rel=1e-9)


@pytest.mark.parametrize("level", [0, 2, 3])
def test_the_next_change_has_the_distribution_of_one_coin_per_level(level):
    # 200,000 draws: a chi-square test that errs once in 10^6 seeds; this one is fixed.
    table, noise = Coupling(SCALES), SeededNoise(level)
    n, top = 200_000, 4
    found = table.next_changes(np.full(n, top), noise.words(n), lambda: 0)
    kept = [float(odds(SCALES[t], SCALES[top])) for t in range(top)]
    expected = np.append(np.diff([0.0, *kept]), 1 - kept[-1])
    counts = np.bincount(found + 1, minlength=top + 1)
    assert stats.chisquare(counts, n * expected).pvalue > 1e-6


def test_the_first_digits_decide_as_all_digits_do():
    table, words = Coupling(SCALES), SeededNoise(5).words(300)
    # And right at the odds, where the first digits leave it open.
    edges = [int(odds(SCALES[t], SCALES[4]) * 2**64) + k for t in range(4) for k in (-1, 0, 1)]
    words = np.concatenate([words, np.array(edges, dtype=np.uint64)])
    fast = table.next_changes(np.full(words.size, 4), words, lambda: 2**63)
    assert list(fast) == [table.decide(4, int(w), lambda: 2**63) for w in words]


def test_a_draw_at_the_very_odds_takes_further_digits():
    table, drawn = Coupling(SCALES), []
    with mpmath.workdps(80):
        exact = odds(SCALES[2], SCALES[4])
        digits = [int(mpmath.floor(exact * 2**64)), int(mpmath.floor(exact * 2**128)) % 2**64]

        def more(last):
            def digit():
                drawn.append(last)
                return last

            return digit

        assert table.decide(4, digits[0], more(digits[1] + 2)) == 2
        assert table.decide(4, digits[0], more(digits[1] - 2)) == 1
    assert len(drawn) == 2


@pytest.mark.parametrize("level", range(5))
def test_every_level_has_its_own_exact_distribution(level):
    # 60,000 draws, cells of 20 expected draws or more; fixed seeds, one false alarm in 10^6.
    drawn = walk(7, 60_000)[level] - 7
    z = np.arange(-60, 61)
    expected = distribution(SCALES[level], z) * drawn.size
    cells = expected > 20
    counts = np.array([(drawn == k).sum() for k in z[cells]])
    rest = drawn.size - counts.sum()
    other = drawn.size - expected[cells].sum()
    test = stats.chisquare(np.append(counts, rest), np.append(expected[cells], other))
    assert test.pvalue > 1e-6


def test_neighbouring_levels_have_the_joint_distribution_of_one_step():
    values = walk(0, 60_000, seed=3)
    for low in range(4):
        apart = values[low] - values[low + 1]
        share = (apart == 0).mean()
        keep = kernel(SCALES[low], SCALES[low + 1], 0)
        assert share == pytest.approx(keep, abs=5 * np.sqrt(keep * (1 - keep) / apart.size))
        # Independent of the noise that is there already.
        noise = values[low + 1]
        assert abs(np.corrcoef(np.sign(apart), np.sign(noise))[0, 1]) < 5 / np.sqrt(apart.size)


def test_a_run_of_levels_costs_what_its_last_one_costs():
    # The joint probability of the two noisiest levels on neighbours one step apart: exactly
    # e^(1/s_2), where two independent releases would cost e^(1/s_1 + 1/s_2).
    z = np.arange(-30, 31)
    first, second = np.meshgrid(z, z, indexing="ij")
    step = kernel(SCALES[0], SCALES[1], first - second)
    here, there = (distribution(SCALES[1], second - x) * step for x in (0, 1))
    worst = np.log(here / there).max()
    assert worst == pytest.approx(1 / float(SCALES[1].steps), rel=1e-9)


def test_sums_wrap_around_as_they_would_without_a_limit():
    chains = [
        NoiseChain(np.full(50, x, dtype=np.int64), Coupling(SCALES), SCALES, SeededNoise(2))
        for x in (0, 2**63 - 1)
    ]
    for _ in SCALES[1:]:
        difference = (chains[1].value - chains[0].value).view(np.uint64)
        assert (difference == 2**63 - 1).all()
        for chain in chains:
            chain.advance()


def test_scales_of_all_sizes_are_exact():
    scales = [GridScale(2**57), GridScale(2**50 + 1), GridScale(2**50), GridScale(3, 7)]
    table = Coupling(scales)
    with mpmath.workdps(60):
        for low, high in [(0, 1), (1, 2), (2, 3)]:
            accurate, noisy = (
                mpmath.mpf(scales[k].significand) / 2 ** scales[k].shift for k in (high, low)
            )
            exact = (mpmath.sinh(0.5 / noisy) / mpmath.sinh(0.5 / accurate)) ** 2
            below, above = table._odds(high, low)(60)
            assert mpmath.mpf(below.numerator) / below.denominator <= exact
            assert exact <= mpmath.mpf(above.numerator) / above.denominator
            assert above - below < Fraction(1, 10**15) * above


@pytest.mark.parametrize("scales", [[GridScale(2), GridScale(2)], [GridScale(1), GridScale(2)]])
def test_scales_have_to_decrease(scales):
    with pytest.raises(InvalidInputError, match="decrease"):
        Coupling(scales)


def test_noise_far_below_a_step_is_refused():
    with pytest.raises(InvalidInputError, match="1/64"):
        Coupling([GridScale(1), GridScale(1, 8)])
