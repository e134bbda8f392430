"""The kernels against their twins: lazy digits on the same words, and exact distributions."""

import random

import numpy as np
import pytest

from dpcore.noise import deviates, incremental_digits
from dpcore.noise.entropy import SeededEntropy
from dpcore.noise.scale import GridScale

PAIRS = {
    "normal": (deviates.normal_kernel, incremental_digits.normal, "gaussian"),
    "laplace": (deviates.laplace_kernel, incremental_digits.laplace, "laplace"),
    "exponential": (deviates.exponential_kernel, incremental_digits.exponential, "exponential"),
}
SCALES = [GridScale(1), GridScale(7, 2), GridScale(3, 80), GridScale((1 << 53) - 1, 5)]
WIDE_SCALES = [GridScale((1 << 50) + 7), GridScale((1 << 58) - 1)]


def run_kernel(kernel, words, scale, size):
    out = np.zeros(size, dtype=np.uint64)
    m, r = np.uint64(scale.significand), np.uint64(min(scale.shift, 63))
    return *kernel(words, m, r, out), out.view(np.int64)


def small_digits(seed, bits):
    rng = random.Random(seed)
    return incremental_digits.DigitStream(lambda i: rng.getrandbits(bits), bits)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("scale", SCALES + WIDE_SCALES)
def test_kernel_and_lazy_digits_are_one_function_of_the_words(pair, scale):
    kernel, exact, _ = PAIRS[pair]
    words, compared = SeededEntropy(11).words(4000), 0
    while words.size > 500:
        done, used, stopped, out = run_kernel(kernel, words, scale, 1)
        stream = incremental_digits.DigitStream(lambda i, words=words: int(words[i]))
        expected = exact(stream, scale)
        if done:
            assert (out[0], used, stopped) == (expected, stream.used, 0)
            compared += 1
        else:
            assert (used, stopped) == (0, deviates.UNDECIDED)
        words = words[stream.used :]
    assert compared > 100


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("alphabet", [[0, 1 << 63, (1 << 64) - 1], [1, 2, 1 << 62, (3 << 62) + 1]])
def test_digits_that_agree_are_left_to_the_lazy_twin(pair, alphabet):
    # Words of few values: most comparisons tie, and floors of wide scales hang on later digits.
    kernel, exact, _ = PAIRS[pair]
    rng, outcomes = random.Random(5), set()
    for _ in range(300):
        words = np.array([rng.choice(alphabet) for _ in range(200)], dtype=np.uint64)
        done, used, stopped, out = run_kernel(kernel, words, GridScale((1 << 57) + 1), 1)
        more = random.Random(6)
        stream = incremental_digits.DigitStream(
            lambda i, words=words, more=more: int(words[i]) if i < 200 else more.getrandbits(64)
        )
        expected = exact(stream, GridScale((1 << 57) + 1))
        outcomes.add(stopped)
        if done:
            assert (out[0], used) == (expected, stream.used)
    assert deviates.UNDECIDED in outcomes and 0 in outcomes


@pytest.mark.parametrize("pair", PAIRS)
def test_a_deviate_whose_words_run_out_starts_again_at_its_own_first_word(pair):
    kernel = PAIRS[pair][0]
    words = SeededEntropy(3).words(400)
    done, used, stopped, out = run_kernel(kernel, words, GridScale(1000), 20)
    assert (done, stopped) == (20, 0)
    for cut in range(used):
        part, start, stopped, begun = run_kernel(kernel, words[:cut], GridScale(1000), 20)
        assert stopped == deviates.RAN_OUT and np.array_equal(begun[:part], out[:part])
        rest = run_kernel(kernel, words[start:], GridScale(1000), 20 - part)
        assert np.array_equal(rest[3], out[part:]) and start + rest[1] == used


@pytest.mark.parametrize("pair", ["laplace", "exponential"])
@pytest.mark.parametrize("k", [40, 70])
def test_an_overflowing_result_is_left_to_python_integers(pair, k):
    # 2^58 times 32 or more leaves int64. (A normal deviate of 32 has probability exp(-512).)
    kernel, exact, _ = PAIRS[pair]
    failed_trial = [5 << 60, 1 << 60, 15 << 60]  # a run of odd length: k grows by one
    words = np.array(failed_trial * k + [1 << 60, 2 << 60] + [0] * 8, dtype=np.uint64)
    scale = GridScale((1 << 58) - 1)
    assert run_kernel(kernel, words, scale, 1)[:3] == (0, 0, deviates.UNDECIDED)
    value = exact(incremental_digits.DigitStream(lambda i: int(words[i])), scale)
    assert value == scale.significand * (k * 16 + 1) // 16
    assert value > 2**63


@pytest.mark.some_fast
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("scale", [GridScale(1, 1), GridScale(5, 1), GridScale(4)])
@pytest.mark.parametrize("bits", [2, 5])
def test_lazy_digits_of_a_few_bits_have_the_exact_distribution(reference, pair, scale, bits):
    # Digits so short that ties and undecided floors are the rule.
    _, exact, kind = PAIRS[pair]
    stream = small_digits(17, bits)
    samples = [exact(stream, scale) for _ in range(4000)]
    assert reference.p_value(samples, getattr(reference, kind), scale.steps) > reference.FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gaussian", "laplace", "exponential"])
@pytest.mark.parametrize("scale", [GridScale(1, 1), GridScale(5, 1)])
def test_the_naive_twin_has_the_exact_distribution(reference, naive, kind, scale):
    rng = random.Random(2)
    draw = {
        "gaussian": lambda: naive.normal(rng, scale.steps),
        "laplace": lambda: naive.exponential(rng, scale.steps, signed=True),
        "exponential": lambda: naive.exponential(rng, scale.steps),
    }[kind]
    samples = [draw() for _ in range(800)]
    assert reference.p_value(samples, getattr(reference, kind), scale.steps) > reference.FALSE_ALARM
